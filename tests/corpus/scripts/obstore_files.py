# SPDX-License-Identifier: MIT OR Apache-2.0
"""Puts, gets and lists files by obstore, many at a time."""
import asyncio
import sys

import obstore
from obstore.store import LocalStore

store = LocalStore(sys.argv[1] + "/files", mkdir=True)


async def main():
    await asyncio.gather(*(obstore.put_async(store, f"f{n}", b"x" * n) for n in range(1, 24)))
    answers = await asyncio.gather(*(obstore.get_async(store, f"f{n}") for n in range(1, 24)))
    print(sum(len(a.bytes()) for a in answers), len(obstore.list(store).collect()))
    print("ready", flush=True)
    sys.stdin.readline()


asyncio.run(main())

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes, reads and lists files by OpenDAL, many at a time."""
import asyncio
import sys

import opendal

op = opendal.AsyncOperator("fs", root=sys.argv[1] + "/files")


async def main():
    await asyncio.gather(*(op.write(f"f{n}", b"x" * n) for n in range(1, 24)))
    print(sum(map(len, await asyncio.gather(*(op.read(f"f{n}") for n in range(1, 24))))))
    print(len([e async for e in await op.list("/")]))
    print("ready", flush=True)
    sys.stdin.readline()


asyncio.run(main())

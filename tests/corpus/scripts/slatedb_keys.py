# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes and reads keys of a database of SlateDB in local files."""
import asyncio
import sys

from slatedb.uniffi import DbBuilder, ObjectStore


async def main():
    db = await DbBuilder("db", ObjectStore.resolve("memory:///")).build()
    for n in range(7):
        await db.put(f"k{n}".encode(), b"x" * n)
    print([len(await db.get(f"k{n}".encode())) for n in range(7)])
    print("ready", flush=True)
    sys.stdin.readline()
    await db.shutdown()


asyncio.run(main())

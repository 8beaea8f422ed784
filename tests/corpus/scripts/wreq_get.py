# SPDX-License-Identifier: MIT OR Apache-2.0
"""Asks a server 3 times at the same time by wreq."""
import asyncio
import sys

import wreq


async def one(client, n):
    answer = await client.get(f"http://127.0.0.1:{sys.argv[1]}/{n}")
    return answer.status.as_int(), await answer.text()


async def main():
    client = wreq.Client()
    print(await asyncio.gather(*(one(client, n) for n in range(3))))


asyncio.run(main())

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Asks a server 3 times at the same time by pyreqwest."""
import asyncio
import sys

from pyreqwest.client import ClientBuilder


async def one(client, n):
    answer = await client.get(f"http://127.0.0.1:{sys.argv[1]}/{n}").build().send()
    return answer.status, await answer.text()


async def main():
    async with ClientBuilder().build() as client:
        print(await asyncio.gather(*(one(client, n) for n in range(3))))


asyncio.run(main())

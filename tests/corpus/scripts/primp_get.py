# SPDX-License-Identifier: MIT OR Apache-2.0
"""Asks a server 3 times by primp, one after the other and at the same time."""
import asyncio
import sys

import primp


async def main():
    async with primp.AsyncClient() as client:
        answers = await asyncio.gather(*(client.get(f"http://127.0.0.1:{sys.argv[1]}/{n}") for n in range(3)))
        print([(a.status_code, a.text) for a in answers])


print(primp.Client().get(f"http://127.0.0.1:{sys.argv[1]}/x").text)
asyncio.run(main())

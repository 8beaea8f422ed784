# SPDX-License-Identifier: MIT OR Apache-2.0
"""Two endpoints of iroh (QUIC) on loopback, without relays."""
import asyncio
import sys

import iroh

ALPN = b"corpus/1"


async def main():
    options = dict(preset=iroh.preset_minimal(), alpns=[ALPN], relay_mode=iroh.RelayMode.disabled())
    a = await iroh.Endpoint.bind(iroh.EndpointOptions(**options))
    b = await iroh.Endpoint.bind(iroh.EndpointOptions(**options))
    print(a.id() != b.id())
    print("ready", flush=True)
    sys.stdin.readline()
    await b.close()
    await a.close()


asyncio.run(main())

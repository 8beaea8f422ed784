# SPDX-License-Identifier: MIT OR Apache-2.0
"""The runtime of Temporal's SDK with its endpoint for metrics, and a client that finds nobody."""
import asyncio
import sys

from temporalio.client import Client
from temporalio.runtime import PrometheusConfig, Runtime, TelemetryConfig


async def main():
    runtime = Runtime(telemetry=TelemetryConfig(metrics=PrometheusConfig(bind_address="127.0.0.1:" + sys.argv[1])))
    try:
        await Client.connect("127.0.0.1:" + sys.argv[2], runtime=runtime)
    except RuntimeError as e:
        print(type(e).__name__, str(e)[:40])
    print("ready", flush=True)
    sys.stdin.readline()


asyncio.run(main())

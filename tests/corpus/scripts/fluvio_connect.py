# SPDX-License-Identifier: MIT OR Apache-2.0
"""A client of Fluvio that finds nobody to talk to."""
import sys

import fluvio

config = fluvio.FluvioConfig.new("127.0.0.1:" + sys.argv[1])
for _ in range(3):
    try:
        fluvio.Fluvio.connect_with_config(config)
        print("connected")
    except Exception as e:
        print(type(e).__name__, str(e).split(":")[0])
print("ready", flush=True)
sys.stdin.readline()

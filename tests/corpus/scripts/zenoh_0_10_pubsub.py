# SPDX-License-Identifier: MIT OR Apache-2.0
"""Two sessions of an old Zenoh on loopback: one publishes, the other subscribes and answers queries."""
import os
import sys
import threading

import zenoh

port = sys.argv[1]
config = '{mode: "peer", scouting: {multicast: {enabled: false}}, %s: {endpoints: ["tcp/127.0.0.1:%s"]}}'
got, all_came = [], threading.Event()


def receive(sample):
    got.append(sample.payload.decode())
    if len(got) == 23:
        all_came.set()


a = zenoh.open(zenoh.Config.from_json5(config % ("listen", port)))
subscriber = a.declare_subscriber("x", receive)
queryable = a.declare_queryable("q", lambda q: q.reply(zenoh.Sample("q", "42")))
b = zenoh.open(zenoh.Config.from_json5(config % ("connect", port)))
print([r.ok.payload.decode() for r in b.get("q", zenoh.Queue())])
for n in range(23):
    b.put("x", str(n))
print(all_came.wait(50), sorted(map(int, got)))
print("ready", flush=True)
sys.stdin.readline()
os._exit(0)  # to close two sessions of this version takes for ever, now and then

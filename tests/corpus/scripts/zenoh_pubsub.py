# SPDX-License-Identifier: MIT OR Apache-2.0
"""Two sessions of Zenoh on loopback: one publishes, the other subscribes and answers queries."""
import sys
import threading

import zenoh

port = sys.argv[1]
config = '{mode: "peer", scouting: {multicast: {enabled: false}}, %s: {endpoints: ["tcp/127.0.0.1:%s"]}}'
got, all_came = [], threading.Event()


def receive(sample):
    got.append(sample.payload.to_string())
    if len(got) == 23:
        all_came.set()


with zenoh.open(zenoh.Config.from_json5(config % ("listen", port))) as a:
    with a.declare_subscriber("x", receive), a.declare_queryable("q", lambda q: q.reply("q", "42")):
        with zenoh.open(zenoh.Config.from_json5(config % ("connect", port))) as b:
            print([r.ok.payload.to_string() for r in b.get("q")])
            for n in range(23):
                b.put("x", str(n))
            print(all_came.wait(120), sorted(map(int, got)))
            print("ready", flush=True)
            sys.stdin.readline()

# SPDX-License-Identifier: MIT OR Apache-2.0
"""A WebSocket server of the Foxglove SDK that is told what to publish."""
import sys

import foxglove

server = foxglove.start_server(host="127.0.0.1", port=int(sys.argv[1]), name="corpus", session_id="1")
channel = foxglove.Channel("/x", message_encoding="json")
for n in range(23):
    channel.log({"n": n})
print("ready", flush=True)
sys.stdin.readline()
server.stop()
print("stopped")

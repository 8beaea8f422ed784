# SPDX-License-Identifier: MIT OR Apache-2.0
"""A web application of Robyn."""
import sys

from robyn import Robyn

app = Robyn(__file__)


@app.get("/")
async def root(_request):
    return "hello"


@app.get("/sync/:name")
def sync(request):
    return "hello " + request.path_params["name"]


@app.post("/post")
async def post(request):
    return "got " + request.body


app.start(host="127.0.0.1", port=int(sys.argv[1]))

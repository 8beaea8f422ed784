# SPDX-License-Identifier: MIT OR Apache-2.0
"""Appends to a table of Delta Lake three times."""
import sys

from arro3.core import Array, DataType, Table
from deltalake import DeltaTable, write_deltalake

where = sys.argv[1] + "/table"
rows = Table.from_pydict({"x": Array(list(range(101)), DataType.int64())})
for _ in range(3):
    write_deltalake(where, rows, mode="append")
table = DeltaTable(where)
print(table.version(), len(table.file_uris()))
print("ready", flush=True)
sys.stdin.readline()

"""What SQLite says of a database: reads a path a line, answers with a line of JSON each: its integrity check, and the rows of kine's table."""

import hashlib
import json
import sqlite3
import sys


def judge(path):
    try:
        database = sqlite3.connect(path)
        database.text_factory = bytes
        found = database.execute("PRAGMA integrity_check(1)").fetchone()
        if found != (b"ok",):
            return {"refused": str(found[0] if found else found)}
        names, values = hashlib.sha256(), hashlib.sha256()
        for row in database.execute("SELECT id, name, created, deleted, create_revision, prev_revision, lease, value, old_value FROM kine ORDER BY id"):
            names.update(repr(row[:6]).encode())
            values.update(repr(row).encode())
        return {"refused": "", "names": names.hexdigest(), "values": values.hexdigest()}
    except (sqlite3.Error, UnicodeError, MemoryError, OverflowError) as error:
        return {"refused": repr(error)}


for line in sys.stdin:
    print(json.dumps(judge(line.rstrip("\n"))), flush=True)

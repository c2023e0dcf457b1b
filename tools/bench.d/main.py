"""tools/bench's tables: `table` and `growth`."""

import sys

import growth
import table

{"table": table.main, "growth": growth.main}[sys.argv[1]](sys.argv[2:])

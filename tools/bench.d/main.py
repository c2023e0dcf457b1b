"""tools/bench's tables: `table`, `growth` and `fleet`."""

import sys

import fleet
import growth
import table

{"table": table.main, "growth": growth.main, "fleet": fleet.main}[sys.argv[1]](sys.argv[2:])

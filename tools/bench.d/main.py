"""tools/bench's tables: `table`, `growth` and `fleet`; `keep` keeps the rows that another command prints."""

import sys

import fleet
import growth
import results
import table

{"table": table.main, "growth": growth.main, "fleet": fleet.main, "keep": results.main}[sys.argv[1]](sys.argv[2:])

"""tools/bench's tables: `table`, `growth`, `fleet` and `audit`; `keep` keeps the rows that another command prints."""

import sys

import audit
import fleet
import growth
import results
import table

{"table": table.main, "growth": growth.main, "fleet": fleet.main, "audit": audit.main, "keep": results.main}[sys.argv[1]](sys.argv[2:])

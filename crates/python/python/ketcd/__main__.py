"""`python -m ketcd`: the command."""

from ketcd._command import main

main()

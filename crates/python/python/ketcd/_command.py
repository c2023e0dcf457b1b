"""The command `ketcd`, as the wheel installs it."""

import signal
import sys

from ketcd._ketcd import command


def main() -> None:
    """Runs the command with this process's arguments, and ends with its exit code."""
    # The command answers Ctrl-C itself.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(command(sys.argv))


if __name__ == "__main__":
    main()

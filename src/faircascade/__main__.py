"""The command line: `faircascade`, or `python -m faircascade`."""

from __future__ import annotations

import sys

STOPPED = "Stopped before anything was finished."
"""What is said after Ctrl-C."""


def main() -> None:
    """Run a command. Loading them takes a moment, in which Ctrl-C may come, too."""
    try:
        from faircascade.cli.main import main as run
    except KeyboardInterrupt:
        print(STOPPED, file=sys.stderr)
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()

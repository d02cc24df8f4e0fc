"""Where the program begins: nothing here but the way to the command line, so that Ctrl-C is quiet while that loads."""

from __future__ import annotations

import signal
import sys


def main() -> int:
    """The console script, and `python -m gossamer`."""
    # Until everything is loaded there is nothing to finish: the signal ends the process, which shells tell as 130.
    handler = signal.signal(signal.SIGINT, signal.SIG_DFL)
    from gossamer.surface import cli  # noqa: PLC0415 - takes a quarter of a second

    signal.signal(signal.SIGINT, handler)
    return cli.main()


if __name__ == "__main__":
    sys.exit(main())

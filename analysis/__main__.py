"""``python -m analysis``."""

import signal
import sys

from analysis.commands.cli import collect_rarely, main

if __name__ == "__main__":
    collect_rarely()
    # A request to end is an interruption, whoever makes it: nothing is left half-written.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main(is_process=True))

"""``python -m collect``."""

from __future__ import annotations

import signal
import sys

from collect.commands.cli import main
from collect.commands.starting import keep_memory

if __name__ == "__main__":
    keep_memory()
    # A request to end is an interruption, whoever makes it: nothing is left half-written.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())

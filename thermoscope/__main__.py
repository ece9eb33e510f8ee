"""``python -m thermoscope``: the one command line, see `collect.process.cli`."""

import sys

from collect.process.cli import main

if __name__ == "__main__":
    sys.exit(main(program="python -m thermoscope"))

"""What the command line of collection accepts, verb by verb."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from collect.commands import keeping, making, measuring

#: What the command is called when it is run as a module.
PROGRAM = "python -m collect"

_EPILOG = """\
examples:
  python -m collect plan EleutherAI/pythia-70m --prompts B_pythia_sweep --out data/measurements
  python -m collect run EleutherAI/pythia-70m --prompts B_pythia_sweep --out data/measurements
  python -m collect run checkpoints/mine --prompts A_grand_unified my_prompts.txt --out out
  python -m collect prompts                      the prompt sets, by name
  python -m collect status out
  python -m collect check out
  python -m collect database data/published data/measurements --out data/measurements.duckdb

exit codes:
  0  success
  1  a check found a difference
  2  something given is wrong
  3  a package of an extra is not installed
  4  something on the network could not be reached
  5  the output cannot be written
  6  a model does not conform to its adapter
 70  a defect of this program: an exception that nobody foresaw (--debug shows its trace)
 71  the machine lends no more memory, processes or open files
130  interrupted from the keyboard
"""


def parser(program: str = PROGRAM) -> argparse.ArgumentParser:
    """Return the parser; each verb sets ``verb`` to its name.

    Parameters
    ----------
    program
        What the command is called in its help.
    """
    parser = argparse.ArgumentParser(
        prog=program,
        description="Run decoders and write raw measurements to Parquet.",
        epilog=_EPILOG.replace(PROGRAM, program),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--debug",
        action="store_true",
        help="print the trace of an exception that nobody foresaw (exit code 70)",
    )
    parser.add_argument("--version", action=_Version, help="print the version and end")
    verbs = parser.add_subparsers(title="verbs", required=True, metavar="VERB", dest="verb")
    measuring.add_plan(verbs)
    measuring.add_run(verbs)
    keeping.add_prompts(verbs)
    keeping.add_status(verbs)
    keeping.add_check(verbs)
    keeping.add_compact(verbs)
    keeping.add_publish(verbs)
    making.add_train(verbs)
    making.add_study(verbs)
    making.add_gauge(verbs)
    keeping.add_published(verbs)
    keeping.add_database(verbs)
    keeping.add_codebook(verbs)
    keeping.add_models(verbs)
    return parser


class _Version(argparse.Action):
    """Prints the version, which is looked up only when it is asked for."""

    def __init__(self, option_strings: Sequence[str], dest: str, **given: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, **given)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from importlib.metadata import version

        print(f"thermoscope {version('thermoscope')}")
        parser.exit(0)

"""What the command line of collection accepts, verb by verb."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from collect.commands import keeping, making, measuring
from collect.commands.verbs import Verbs
from collect.errors import InputError, nearest

#: What the command is called, and what it is called when it is run as a module.
PROGRAM, MODULE = "thermoscope collect", "python -m collect"

_CODES = """\
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

#: Each verb with what may stand after it, and what adds its options.
VERBS: dict[str, tuple[str, Callable[[Verbs], argparse.ArgumentParser]]] = {
    "plan": (
        "EleutherAI/pythia-70m --prompts B_pythia_sweep --out data/measurements",
        measuring.add_plan,
    ),
    "run": (
        "EleutherAI/pythia-70m --prompts B_pythia_sweep --out data/measurements\n"
        "checkpoints/mine --prompts A_grand_unified my_prompts.txt --out out",
        measuring.add_run,
    ),
    "prompts": ("A_grand_unified", keeping.add_prompts),
    "status": ("out", keeping.add_status),
    "check": ("out", keeping.add_check),
    "compact": ("out", keeping.add_compact),
    "publish": ('out --license CC-BY-4.0 --creator "Your group"', keeping.add_publish),
    "train": ("data/sample/recipes/llama-l4-adamw.toml --out runs/models", making.add_train),
    "study": ("data/study/packages.toml --plan", making.add_study),
    "gauge": ("runs/models/gptneox-l4-adamw --out runs/gauge", making.add_gauge),
    "published": ("--fetch --out data/imported", keeping.add_published),
    "database": (
        "data/published data/measurements --out data/measurements.duckdb",
        keeping.add_database,
    ),
    "codebook": ("--check", keeping.add_codebook),
    "models": ("--json", keeping.add_models),
}

#: The verbs whose examples stand in the help of the command as a whole.
_SHOWN = ("plan", "run", "prompts", "status", "check", "database")


def parser(program: str = MODULE) -> argparse.ArgumentParser:
    """Return the parser; each verb sets ``verb`` to its name.

    Parameters
    ----------
    program
        What the command is called in its help.
    """
    shown = "".join(_examples(verb) for verb in _SHOWN)
    parser = argparse.ArgumentParser(
        prog=program,
        description="Run decoders and write raw measurements to Parquet.",
        epilog=as_typed(f"examples:\n{shown}\n{_CODES}", program),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(program=program)
    _add_leading(parser)
    parser.add_argument("--version", action=_Version, help="print the version and end")
    verbs = parser.add_subparsers(title="verbs", required=True, metavar="VERB", dest="verb")
    for name, (_, add) in VERBS.items():
        verb = add(verbs)
        verb.formatter_class = argparse.RawDescriptionHelpFormatter
        verb.description = textwrap.fill(verb.description or "", 80)
        verb.epilog = as_typed(f"{_title(name)}:\n{_examples(name)}\n{_CODES}", program)
    return parser


def _title(verb: str) -> str:
    return "examples" if "\n" in VERBS[verb][0] else "example"


def _examples(verb: str) -> str:
    return "".join(f"  {PROGRAM} {verb} {given}\n" for given in VERBS[verb][0].splitlines())


def _add_leading(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--debug",
        action="store_true",
        help="print the trace of an exception that nobody foresaw (exit code 70)",
    )


def as_typed(text: str, program: str) -> str:
    """Return a text with its commands named as the person called this one.

    Texts call every command ``thermoscope``; who typed ``python -m`` reads ``python -m``.
    """
    if program != MODULE:
        return text
    return text.replace(PROGRAM, MODULE).replace("thermoscope --", "python -m analysis --")


def unknown_verb(arguments: Sequence[str], program: str) -> InputError | None:
    """Return the refusal of a verb that there is not, with the nearest; None where all is well."""
    leading = argparse.ArgumentParser(prog=program, add_help=False)
    _add_leading(leading)
    for flags in (("-h", "--help"), ("--version",)):
        leading.add_argument(*flags, action="store_true")
    leading.add_argument("words", nargs=argparse.REMAINDER)
    found = leading.parse_known_args(arguments)[0]
    word = ascii(found.words[0])[1:-1][:60] if found.words else ""
    if found.help or found.version or not word or word in VERBS or word.startswith("-"):
        return None
    near = nearest(word, VERBS)
    return InputError(
        f"A verb must be one of {', '.join(VERBS)}; {word} is not.",
        f"Did you mean: {program} {near[0]}" if near else f"List them with: {program} --help",
    )


class _Version(argparse.Action):
    """Prints the version, which is looked up only when it is asked for."""

    def __init__(self, option_strings: Sequence[str], dest: str, **given: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, **given)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from importlib.metadata import version

        print(f"thermoscope {version('thermoscope')}")
        parser.exit(0)

"""The command line as a whole: its verbs, what stands before them, its name, its help."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from analysis.commands.verb_options import VERBS, Described
from analysis.tidy.errors import AnalysisError

#: What the command is called, and its half when that is run as a module.
PROGRAM, MODULE = "thermoscope", "python -m analysis"

#: The verb behind which the verbs of collection stand.
COLLECTION = "collect"

_COLLECTION = """
to measure models: thermoscope collect --help
"""

#: Where the remarks on examples begin, counted in letters of the examples.
_REMARKS = 28

#: Exit codes; that of a difference is told by the verbs that have one.
CODES = """\
exit codes:
  0  success
{difference}\
  2  wrong input: unknown claim, bad query, damaged or missing data
  3  a package of the [report] or [remote] extra is missing
  4  something had to come over the network and did not
  5  the output cannot be written, the report cannot be rendered, or a page has faults
  7  no test was found that can be recomputed (forensics)
 70  a defect of this program: an exception that nobody foresaw (--debug shows its trace)
 71  the machine lends no more memory, processes or open files, or --timeout is over
130  interrupted from the keyboard
"""

_DIFFERENCE = """\
  1  a claim differs from the committed one (claims --check, study --check); committed verdicts
     lie in reports/claims.csv and study.csv, those of another paper in verdicts.csv in its folder
     or: a test that a paper reports contradicts itself (forensics)
"""

#: What runs a verb: from its options to an exit code.
Verb = Callable[[argparse.Namespace], int]


def parser(verbs: Mapping[str, Verb], program: str = MODULE) -> argparse.ArgumentParser:
    """Return the parser of the command line; ``options.run`` is the verb's own function.

    Parameters
    ----------
    verbs
        What runs each verb, by its name on the command line.
    program
        What the command is called in its help.
    """
    collection = "" if program == MODULE else _COLLECTION
    made = argparse.ArgumentParser(
        prog=program,
        description="Judge claims about transformers from published figures and measurements.",
        epilog=as_typed(
            f"examples:\n{''.join(_examples(told) for told in VERBS.values())}\n"
            f"{CODES.format(difference=_DIFFERENCE)}{collection}",
            program,
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.set_defaults(program=program)
    _add_sources(made)
    made.add_argument("--version", action=_Version, help="print the version and end")
    listed = made.add_subparsers(required=True, metavar="VERB")
    for name, told in VERBS.items():
        verb = listed.add_parser(
            name,
            help=told.meaning,
            description=told.description,
            epilog=as_typed(_epilog(told), program),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        told.add(verb)
        verb.set_defaults(run=verbs[name])
    if collection:
        listed.add_parser(COLLECTION, help="measure models: plan, run, train, study, gauge, ...")
    return made


def _epilog(told: Described) -> str:
    difference = f"  1  {told.difference}\n" if told.difference else ""
    title = "example" if len(told.examples) == 1 else "examples"
    return f"{title}:\n{_examples(told)}\n{CODES.format(difference=difference)}"


def _examples(told: Described) -> str:
    """Return the examples of a verb, a line each, with their remarks below each other."""
    lines = [
        f"  {PROGRAM} {typed:<{_REMARKS}}   {remark}".rstrip()
        for typed, remark in told.examples.items()
    ]
    return "".join(f"{line}\n" for line in lines)


def as_typed(text: str, program: str) -> str:
    """Return a text with its commands named as the person called this one.

    Texts call every command ``thermoscope``; who typed ``python -m`` reads ``python -m``.
    """
    if program != MODULE:
        return text
    words = "|".join((*VERBS, "--"))
    text = re.sub(rf"\b{PROGRAM} {COLLECTION}\b", f"python -m {COLLECTION}", text)
    return re.sub(rf"\b{PROGRAM}(?= (?:{words}))", MODULE, text)


def divided(arguments: Sequence[str], program: str) -> tuple[list[str], list[str]]:
    """Return the options before the verb, and the verb with all that follows it."""
    leading = argparse.ArgumentParser(prog=program, add_help=False)
    _add_sources(leading)
    for flags in (("-h", "--help"), ("--version",)):
        leading.add_argument(*flags, action="store_true")
    leading.add_argument("words", nargs=argparse.REMAINDER)
    words = leading.parse_known_args(arguments)[0].words
    n_before = len(arguments) - len(words)
    return list(arguments[:n_before]), words


def unknown_verb(
    before: Sequence[str], words: Sequence[str], program: str, further: Iterable[str] = ()
) -> AnalysisError | None:
    """Return the refusal of a verb that there is not, with the nearest; None where all is well.

    Parameters
    ----------
    before, words
        What `divided` returned.
    program
        What the command is called.
    further
        Verbs of collection, as they would have to be typed.
    """
    known = [*VERBS, *([] if program == MODULE else [COLLECTION])]
    is_help = {"-h", "--help", "--version"} & {*before}
    if is_help or not words or words[0] in known or words[0].startswith("-"):
        return None
    import difflib

    asked = ascii(words[0])[1:-1][:60]
    same = [verb for verb in further if verb.split()[-1] == asked]
    near = same or difflib.get_close_matches(asked.lower(), [*known, *further], 1, cutoff=0.5)
    return AnalysisError(
        f"A verb must be one of {', '.join(known)}; {asked} is not.",
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


def _place(text: str) -> Path | str:
    """Return a source as it was named: an address as it is, anything else as a path."""
    return text if "://" in text else Path(text)


def _add_sources(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--data",
        action="append",
        type=_place,
        metavar="DIR",
        help="directory of measurements, its address (https://..., read where it lies), or one "
        ".duckdb file; repeat to open several "
        "(default: data/published, data/sample and data/fleet)",
    )
    made.add_argument(
        "--paper",
        type=Path,
        metavar="FOLDER",
        help="another paper: a folder with claim.csv, published_*.csv and claims.py, whose code "
        "is run; a source beside --data",
    )
    made.add_argument(
        "--verify",
        action="store_true",
        help="compare the contents of measured files with their hashes before anything is read; "
        "without it only rows and sizes are compared",
    )
    made.add_argument(
        "--debug",
        action="store_true",
        help="print the trace of an exception that nobody foresaw (exit code 70)",
    )

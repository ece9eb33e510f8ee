"""The parser of the command line: what stands before the verb, the verb, its options, help."""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

from collect.errors import InputError, nearest
from collect.process.verbs import COLLECTION, EXIT_CODES, PROGRAM, Verb

#: Where the remarks on examples begin, counted in letters of the examples.
_REMARKS = 28

#: How wide the prose of a help is.
_WIDTH = 80

#: Options before the verb that the verbs of collection do not have.
_OF_STORE = ("data", "paper", "verify")


def parsed(
    arguments: Sequence[str],
    verbs: Mapping[str, Verb],
    program: str,
    options: argparse.Namespace,
) -> Verb:
    """Fill in the options and return the verb; help and version are printed and end the program."""
    whole = main_parser(verbs, program)
    _, unknown = whole.parse_known_args(arguments, options)
    words = options.words
    if options.version:
        from importlib.metadata import version

        print(f"{PROGRAM} {version(PROGRAM)}")
        whole.exit(0)
    name, rest = _name(words, verbs, program)
    options.verb = name
    if options.help or not arguments or list(words) == [COLLECTION, "--help"]:
        whole.print_help()
        whole.exit(0)
    if unknown or name in ("", COLLECTION):
        raise InputError(
            f"There is no option {unknown[0]} before the verb."
            if unknown
            else "A verb is missing.",
            f"List them with: {program} --help",
        )
    if name not in verbs:
        raise _unknown(name, verbs, program)
    given = [f"--{option}" for option in _OF_STORE if getattr(options, option)]
    if given and verbs[name].run.startswith(COLLECTION):
        raise InputError(
            f"{given[0]} is not an option of {name}.",
            f"It takes what it reads and writes itself: {PROGRAM} {name} --help",
        )
    verb_parser(name, verbs[name], program).parse_args(rest, options)
    return verbs[name]


def main_parser(verbs: Mapping[str, Verb], program: str = PROGRAM) -> argparse.ArgumentParser:
    """Return the parser of what stands before the verb, whose help lists the verbs."""
    width = max(map(len, verbs)) + 2
    listed = "".join(f"  {name:<{width}}{verb.meaning}\n" for name, verb in verbs.items())
    examples = _examples(
        {typed: remark for verb in verbs.values() for typed, remark in [*verb.examples.items()][:1]}
    )
    parser = argparse.ArgumentParser(
        prog=program,
        usage="%(prog)s [options] VERB ...; %(prog)s VERB --help",
        description="Measure transformers, and judge claims about them from published figures "
        "and measurements.",
        epilog=as_typed(
            f"verbs:\n{listed}\nexamples:\n{examples}\n{listed_codes(EXIT_CODES)}", program
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=False,
    )
    parser.set_defaults(program=program)
    _add_leading(parser)
    parser.add_argument("words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return parser


def verb_parser(name: str, verb: Verb, program: str = PROGRAM) -> argparse.ArgumentParser:
    """Return the parser of what stands after a verb."""
    title = "example" if len(verb.examples) == 1 else "examples"
    parser = argparse.ArgumentParser(
        prog=as_typed(f"{PROGRAM} {name}", program),
        description=textwrap.fill(verb.description, _WIDTH),
        epilog=as_typed(
            f"{title}:\n{_examples(verb.examples)}\n{listed_codes(verb.exit_codes())}", program
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verb.options(parser)
    return parser


def as_typed(text: str, program: str) -> str:
    """Return a text with its commands named as the person called this one.

    Texts call every command ``thermoscope``; who typed ``python -m`` reads ``python -m``.

    >>> as_typed("thermoscope collect run, thermoscope claim 7", "python -m analysis")
    'python -m collect run, python -m analysis claim 7'
    """
    if program == PROGRAM:
        return text
    text = re.sub(rf"\b{PROGRAM} {COLLECTION}\b", f"python -m {COLLECTION}", text)
    return re.sub(
        rf"(?<!pip install ')\b{PROGRAM}(?= [a-z-])(?! has| from)", "python -m analysis", text
    )


def _name(
    words: Sequence[str], verbs: Mapping[str, Verb], program: str
) -> tuple[str, Sequence[str]]:
    """Return the verb that is meant, and the words after it."""
    if not words:
        return "", ()
    inner = f"{COLLECTION} {words[0]}"
    if program.endswith(COLLECTION) and inner in verbs:
        return inner, words[1:]
    if words[0] == COLLECTION and len(words) > 1 and not words[1].startswith("-"):
        return f"{COLLECTION} {words[1]}", words[2:]
    return words[0], words[1:]


def _unknown(name: str, verbs: Mapping[str, Verb], program: str) -> InputError:
    """Return the refusal of a verb that there is not, with the nearest."""
    asked = ascii(name)[1:-1][:60]
    same = [verb for verb in verbs if verb.split()[-1] == asked.split()[-1]]
    if program.endswith(COLLECTION):
        same = same or nearest(f"{COLLECTION} {asked}", verbs, cutoff=0.75)
    near = same or nearest(asked, [*verbs, COLLECTION])
    return InputError(
        f"There is no verb {asked}.",
        f"Did you mean: {PROGRAM} {near[0]}" if near else f"List them with: {program} --help",
    )


def _examples(examples: Mapping[str, str]) -> str:
    """Return examples, a line each, with their remarks below each other."""
    lines = [
        f"  {PROGRAM} {typed:<{_REMARKS}}   {remark}".rstrip() for typed, remark in examples.items()
    ]
    return "".join(f"{line}\n" for line in lines)


def listed_codes(codes: Mapping[int, str]) -> str:
    """Return exit codes, a line each, with what they mean."""
    lines = [
        textwrap.fill(
            text, _WIDTH, initial_indent=f"{code:>3}  ", subsequent_indent=" " * 5,
            break_on_hyphens=False,
        )
        for code, text in codes.items()
    ]  # fmt: skip
    return "exit codes:\n" + "".join(f"{line}\n" for line in lines)


def _place(text: str) -> Path | str:
    """Return a source as it was named: an address as it is, anything else as a path."""
    return text if "://" in text else Path(text)


def _add_leading(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-h", "--help", action="store_true", help="print this and end")
    parser.add_argument(
        "--data",
        action="append",
        type=_place,
        metavar="DIR",
        help="directory of measurements, its address (https://..., read where it lies), or one "
        ".duckdb file; repeat to open several. Without it sql, columns and signs open "
        "data/published, data/fleet, data/public and data/reported. claims, claim, study, l-star, "
        "specifications and stated open data/published, data/fleet and data/sample. To query the "
        "small networks of data/sample name it, as examples/from_r does. report reads what its -P "
        "names",
    )
    parser.add_argument(
        "--paper",
        type=Path,
        metavar="FOLDER",
        help="another paper: a folder with claim.csv, published_*.csv and claims.py, whose code "
        "is run; a source beside --data",
    )
    parser.add_argument(
        "--verify",
        action="store_true",
        help="compare the contents of measured files with their hashes before anything is read; "
        "without it only rows and sizes are compared",
    )
    parser.add_argument(
        "--debug",
        action="store_true",
        help="print the trace of an internal error (exit code 70)",
    )
    parser.add_argument("--version", action="store_true", help="print the version and end")

"""Options of the verbs that list, check, import and put together stored measurements."""

from __future__ import annotations

import argparse
from datetime import date
from pathlib import Path

from collect.commands.output import local


def _add_store(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=local, metavar="DIR", help="the --out of `run`")


def _add_target(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=local, required=True, metavar="DIR", help="where to write")


def status(parser: argparse.ArgumentParser) -> None:
    """Add the options of `status`."""
    _add_store(parser)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def check(parser: argparse.ArgumentParser) -> None:
    """Add the options of `check`."""
    _add_store(parser)


def compact(parser: argparse.ArgumentParser) -> None:
    """Add the options of `compact`."""
    _add_store(parser)
    parser.add_argument(
        "--out", type=local, required=True, metavar="NEW", help="new directory for the copy"
    )


def publish(parser: argparse.ArgumentParser) -> None:
    """Add the options of `publish`."""
    _add_store(parser)
    parser.add_argument(
        "--license",
        required=True,
        metavar="LICENCE",
        help="SPDX identifier such as CC-BY-4.0, or an address",
    )
    parser.add_argument(
        "--creator", required=True, action="append", metavar="NAME", help="who made it; repeat"
    )
    parser.add_argument("--name", metavar="TITLE", help="title (default: the directory's name)")
    parser.add_argument("--date", type=_day, metavar="DAY", help="(default: today)")
    parser.add_argument("--url", help="where it is to be found")
    parser.add_argument("--citation", type=Path, metavar="FILE", help="how to cite it, as BibTeX")
    parser.add_argument(
        "--allow-dirty",
        action="store_true",
        help="describe rows too whose code no commit holds (code_version ends in .dirty)",
    )


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"a day must be written as 2026-01-31; found {text!r}"
        ) from error


def published(parser: argparse.ArgumentParser) -> None:
    """Add the options of `published`."""
    parser.add_argument(
        "source",
        nargs="?",
        type=Path,
        metavar="DIR",
        help="directory of the result files; with --fetch by default raw/ under --out",
    )
    _add_target(parser)
    parser.add_argument(
        "--fetch", action="store_true", help="download the result files into DIR first"
    )
    parser.add_argument(
        "--figures",
        type=local,
        metavar="DIR",
        help="write the tables of published figures, and the values kept of single prompts, there",
    )


def reported(parser: argparse.ArgumentParser) -> None:
    """Add the options of `reported`."""
    parser.add_argument(
        "folders",
        nargs="+",
        type=Path,
        metavar="FOLDER",
        help="a source: source.toml, which describes it, and norms.csv, its lengths",
    )
    _add_target(parser)


def database(parser: argparse.ArgumentParser) -> None:
    """Add the options of `database`."""
    parser.add_argument(
        "directories",
        nargs="*",
        type=Path,
        metavar="DIR",
        help="directories of tables. Without it data/published, data/fleet, data/public and "
        "data/reported go in, with data/measurements and data/imported where you made them",
    )
    parser.add_argument(
        "--out",
        type=local,
        default=Path("data/measurements.duckdb"),
        metavar="FILE",
        help="file to write (data/measurements.duckdb); a database of this command is replaced, "
        "another file is refused (exit code 2)",
    )
    parser.add_argument(
        "--overwrite",
        action="store_true",
        help="replace any other file too; those of a store are never replaced",
    )


def codebook(parser: argparse.ArgumentParser) -> None:
    """Add the options of `codebook`."""
    parser.add_argument(
        "--check", action="store_true", help="change nothing; fail if the file is out of date"
    )


def models(parser: argparse.ArgumentParser) -> None:
    """Add the options of `models`."""
    parser.add_argument("--json", action="store_true", help="print JSON, with reasons")
    parser.add_argument(
        "--write", action="store_true", help="write collect/adapters/TYPES.md instead"
    )


def prompts(parser: argparse.ArgumentParser) -> None:
    """Add the options of `prompts`."""
    parser.add_argument(
        "sets",
        nargs="*",
        metavar="SET",
        help="a shipped set, or a file as `run` reads it: a prompt per line of text, or a record "
        "per prompt, under text, messages or token_ids",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")

"""Options of the verbs that list, check, import and put together what is kept."""

from __future__ import annotations

import argparse
from datetime import date
from pathlib import Path

from collect.commands.verbs import Verbs, local


def add_status(verbs: Verbs) -> argparse.ArgumentParser:
    """Add `status`, and return its parser."""
    parser = verbs.add_parser(
        "status",
        help="list the units of an output",
        description="List the units of an output: complete, incomplete, nonconforming.",
    )
    parser.add_argument("directory", type=local, metavar="DIR", help="the --out of `run`")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser


def add_check(verbs: Verbs) -> argparse.ArgumentParser:
    """Add `check`, and return its parser."""
    parser = verbs.add_parser(
        "check",
        help="check the files of an output",
        description="Check every file of an output: schema, keys, checks, rows, hashes. "
        "Prints a sentence for each fault and exits with 1 if there is one.",
    )
    parser.add_argument("directory", type=local, metavar="DIR", help="the --out of `run`")
    return parser


def add_compact(verbs: Verbs) -> argparse.ArgumentParser:
    """Add `compact`, and return its parser."""
    parser = verbs.add_parser(
        "compact",
        help="copy an output into one sorted file per table",
        description="Write a copy of an output with one sorted Parquet file per table, smaller and "
        "quicker to open. It reads, is checked and is published as the output; nothing is "
        "measured into it.",
    )
    parser.add_argument("directory", type=local, metavar="DIR", help="the --out of `run`")
    parser.add_argument(
        "--out", type=local, required=True, metavar="NEW", help="new directory for the copy"
    )
    return parser


def add_publish(verbs: Verbs) -> argparse.ArgumentParser:
    """Add `publish`, and return its parser."""
    parser = verbs.add_parser(
        "publish",
        help="describe an output so that others find and use it",
        description="Write croissant.json (every table, column, file, size and hash, in Croissant) "
        "and README.md (a data card; what a person wrote in it stays). Published on a web server "
        "as it is, the output opens at its address: thermoscope --data https://... sql.",
    )
    parser.add_argument("directory", type=local, metavar="DIR", help="the --out of `run`")
    parser.add_argument(
        "--license",
        required=True,
        metavar="LICENCE",
        help="SPDX identifier such as CC-BY-4.0, an address, or another name, which stands as it "
        "is, without a link",
    )
    parser.add_argument(
        "--creator", required=True, action="append", metavar="NAME", help="who made it; repeat"
    )
    parser.add_argument("--name", metavar="TITLE", help="title (default: the directory's name)")
    parser.add_argument("--date", type=_day, metavar="DAY", help="(default: today)")
    parser.add_argument("--url", help="where it is to be found")
    parser.add_argument("--citation", type=Path, metavar="FILE", help="how to cite it, as BibTeX")
    return parser


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"a day must be written as 2026-01-31; found {text!r}"
        ) from error


def add_published(verbs: Verbs) -> argparse.ArgumentParser:
    """Add `published`, and return its parser."""
    parser = verbs.add_parser(
        "published",
        help="import the paper's raw result files",
        description="Import the raw result files of the paper into tables of the contract.",
    )
    parser.add_argument(
        "source",
        nargs="?",
        type=Path,
        metavar="DIR",
        help="directory of the result files; with --fetch by default raw/ under --out",
    )
    parser.add_argument("--out", type=local, required=True, metavar="DIR", help="where to write")
    parser.add_argument(
        "--fetch", action="store_true", help="download the result files into DIR first"
    )
    parser.add_argument(
        "--figures",
        type=local,
        metavar="DIR",
        help="write the tables of published figures, and the values kept of single prompts, there",
    )
    return parser


def add_database(verbs: Verbs) -> argparse.ArgumentParser:
    """Add `database`, and return its parser."""
    parser = verbs.add_parser(
        "database",
        help="put measurements into one DuckDB file",
        description="Put the tables of some directories, with comments, views and macros, into "
        "one DuckDB file that older DuckDB programs can read.",
    )
    parser.add_argument(
        "directories",
        nargs="*",
        type=Path,
        metavar="DIR",
        help="directories of tables; by default those under data that exist",
    )
    parser.add_argument(
        "--out",
        type=local,
        default=Path("data/measurements.duckdb"),
        metavar="FILE",
        help="file to write (data/measurements.duckdb)",
    )
    return parser


def add_codebook(verbs: Verbs) -> argparse.ArgumentParser:
    """Add `codebook`, and return its parser."""
    parser = verbs.add_parser(
        "codebook",
        help="write data/README.md",
        description="Write data/README.md from schema.sql and the views.",
    )
    parser.add_argument(
        "--check", action="store_true", help="change nothing; fail if the file is out of date"
    )
    return parser


def add_models(verbs: Verbs) -> argparse.ArgumentParser:
    """Add `models`, and return its parser."""
    parser = verbs.add_parser(
        "models",
        help="list the types of models, and what of each is measured",
        description="List every type of causal model that the installed transformers knows: "
        "measured, measured in part, or refused. Exits with 1 if one is unknown.",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, with reasons")
    parser.add_argument(
        "--write", action="store_true", help="write collect/adapters/TYPES.md instead"
    )
    return parser


def add_prompts(verbs: Verbs) -> argparse.ArgumentParser:
    """Add `prompts`, and return its parser."""
    parser = verbs.add_parser(
        "prompts",
        help="list the prompt sets that come with the project, or the prompts of some",
        description="List the prompt sets that come with the project: name, prompts, categories, "
        "hash. With names or files, print their prompts.",
    )
    parser.add_argument(
        "sets", nargs="*", metavar="SET", help="a shipped set, or a file of prompts"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser

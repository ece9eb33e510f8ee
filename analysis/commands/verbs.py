"""The verbs that judge claims and make pages, as data; see `collect.process.verbs`."""

from __future__ import annotations

import argparse
from pathlib import Path

from analysis.tidy.defaults import (
    BAND,
    COMMITTED,
    COMMITTED_BESIDE,
    COMMITTED_STUDY,
    GAINS,
    PARAMETERS,
    PROFILE,
    PROFILES,
)
from collect.process.verbs import Verb


def _add_claims(verb: argparse.ArgumentParser) -> None:
    form = verb.add_mutually_exclusive_group()
    _add_csv(form)
    form.add_argument("--json", action="store_true", help="print JSON, one object per claim")
    form.add_argument(
        "--check",
        action="store_true",
        help=f"compare with {COMMITTED}, or {COMMITTED_BESIDE} of the paper, and with the tables "
        "of claims and verdicts beside its figures",
    )
    form.add_argument("--write", action="store_true", help="write what --check compares with")
    verb.add_argument(
        "--adjusted",
        action="store_true",
        help="each claim's p beside those adjusted for the other claims of its family, not for its "
        "own readings; with its verdict, as a small p may speak against it; also with --csv",
    )


def _add_claim(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "claim_id",
        type=int,
        metavar="ID",
        help="number of the claim, such as 7; `claims` lists them",
    )
    verb.add_argument("--json", action="store_true", help="print JSON: the claim and its checks")


def _add_study(verb: argparse.ArgumentParser) -> None:
    form = verb.add_mutually_exclusive_group()
    _add_csv(form)
    form.add_argument("--json", action="store_true", help="print JSON, one object per row")
    form.add_argument("--check", action="store_true", help=f"compare with {COMMITTED_STUDY}")
    form.add_argument("--write", action="store_true", help="write what --check compares with")


def _add_sql(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "query",
        nargs="?",
        metavar="QUERY",
        help='one statement that reads, such as "FROM model LIMIT 3"; - or none: from standard '
        "input; none at a terminal: DuckDB's own shell, where it is installed",
    )
    verb.add_argument(
        "--timeout",
        type=_seconds,
        metavar="SECONDS",
        help="end the statement after this time, with exit code 71; default: no limit. Its memory "
        "is that of DuckDB: 80 %% of the machine's or the cgroup's, less under ulimit -v",
    )
    form = verb.add_mutually_exclusive_group()
    form.add_argument(
        "--csv",
        action="store_true",
        help="print CSV with every digit: NULL is empty, lists and structures are JSON",
    )
    form.add_argument(
        "--json",
        action="store_true",
        help='print JSON with every digit, one object per row: NULL is null, NaN the text "NaN"',
    )


def _add_columns(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("table", nargs="?", metavar="TABLE", help="a table or view")
    _add_csv(verb)


def _seconds(text: str) -> float:
    """Return a time limit [s]; the largest is that of the system's timers."""
    seconds = float(text)
    if not 0 < seconds < 1e9:
        raise ValueError(text)
    return seconds


def _add_l_star(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--profile",
        default=PROFILE,
        metavar="NAME",
        help=f"profile over depth whose turning layer is meant, default: {PROFILE}; shipped are "
        f"{', '.join(PROFILES)}; measured models may have more",
    )
    _add_csv(verb)


def _add_signs(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--gain",
        default="gain_body",
        metavar="NAME",
        help=f"definition of gain, default: gain_body; measured are {', '.join(GAINS)}",
    )
    verb.add_argument("--band", type=float, default=BAND, help=f"neutral log gain, default: {BAND}")
    _add_csv(verb)


def _add_forensics(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("file", type=Path, metavar="FILE", help="Markdown of any paper")
    verb.add_argument("--alpha", type=float, default=0.05, help="its level, default: 0.05")
    _add_csv(verb)


def _add_report(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--engine",
        choices=("auto", "quarto", "embedded"),
        default="auto",
        help="what renders: the quarto command, or this package; auto: quarto if it is there",
    )
    verb.add_argument(
        "--to",
        choices=("html", "typst"),
        default="html",
        help="what is made: pages, or with typst a PDF of the paper (or of the --page named); "
        "without the quarto command that needs the [pdf] extra",
    )
    verb.add_argument(
        "-P",
        dest="parameters",
        action="append",
        default=[],
        metavar="NAME:VALUE",
        help=f"a parameter of the pages: {PARAMETERS}; repeat for several",
    )
    verb.add_argument(
        "--out", type=Path, default=None, metavar="DIR", help="default: reports/paper"
    )
    verb.add_argument(
        "--page",
        dest="pages",
        action="append",
        default=[],
        metavar="NAME",
        help="make this page alone, such as claims; repeat for several. The others stay",
    )
    verb.add_argument(
        "--examine",
        nargs="+",
        type=Path,
        metavar="PAGE",
        help="render nothing: look for faults in finished pages, Quarto's too; with --page, links "
        "to pages of the report that have yet to be made are no faults",
    )


#: What `init` writes into ``audit.toml``, and asks for at a terminal.
ABOUT = {
    "title": "title of the audit; default: none",
    "author": "its author; default: none",
    "licence": "its licence; default: none",
    "about": "the paper that is judged, as you would cite it; default: none",
    "units": "what the paper is about, one and several: student,students (the default)",
    "groups": "what these belong to, one and several: class,classes (the default)",
}


def _add_init(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("folder", type=Path, metavar="FOLDER", help="a folder that is empty or new")
    verb.add_argument(
        "--models",
        action="store_true",
        help="a paper about models: model.csv and published_figure.csv in place of unit.csv",
    )
    for name, meaning in ABOUT.items():
        verb.add_argument(f"--{name}", dest=f"about_{name}", metavar="TEXT", help=meaning)


def _add_csv(verb: argparse._ActionsContainer) -> None:
    verb.add_argument("--csv", action="store_true", help="print CSV, ten significant digits")


#: What every verb that opens a store may end with beside `collect.process.verbs.ALWAYS`.
_OF_STORES = {
    3: "--data names an address, and the package that reads it is not installed",
    4: "--data names an address that was not reached",
}


VERBS = {
    "claims": Verb(
        "verdict on each claim",
        "Judge every claim by its rule, and print verdict, estimate and counts.",
        {
            "claims": "verdict on each claim",
            "claims --csv > verdicts.csv": "",
            "claims --adjusted": "p adjusted within families of claims",
            "--paper FOLDER claims": "the claims of another paper",
            "--data runs --verify claims": "hashes of measured files compared first",
        },
        _add_claims,
        "analysis.commands.verdicts:verdicts",
        _OF_STORES | {1: "--check: a verdict, or a table of claims, is not the committed one"},
    ),
    "claim": Verb(
        "one claim, check by check",
        "Print every reading of one claim with its numbers, method, files and caveats.",
        {"claim 7": "one claim, check by check", "claim 7 --json": ""},
        _add_claim,
        "analysis.commands.claim:claim",
        _OF_STORES,
    ),
    "study": Verb(
        "each registered statement of the controlled study, and its verdict",
        "Judge what was registered before the networks were trained, at equal steps and loss.",
        {"study": "what was registered, and what came of it"},
        _add_study,
        "analysis.commands.study:study",
        _OF_STORES | {1: "--check: a statement is not the committed one"},
    ),
    "sql": Verb(
        "run one reading statement",
        "Print what a query finds in all tables and views, or open DuckDB's shell on them. Without "
        "--data before the verb it opens data/published, data/fleet, data/public and "
        "data/reported, and not data/sample. On stderr, a line note: says what the answer mixes or "
        "leaves out, a line about: what it is of.",
        {
            'sql "FROM model LIMIT 3"': "",
            'sql "FROM model" --csv': "",
            '--data runs sql "SELECT count(*) FROM stream" --json': "",
            '--data https://example.org/measured sql "FROM model"': "read where it lies",
        },
        _add_sql,
        "analysis.commands.query:sql",
        _OF_STORES
        | {
            1: "DuckDB's shell, which opens where no query is given, ended with an error",
            2: "wrong input: a query that DuckDB refuses, or a table that is missing or damaged",
            71: "out of memory, processes or open files, or --timeout is over",
        },
    ),
    "columns": Verb(
        "what the columns of a table or view mean, with their units",
        "Print columns, types, units and meanings of one table or view; without one, those to "
        "start with and the names of the others.",
        {
            "columns": "where to start",
            "columns published_gain": "",
            "columns verdict --csv": "",
        },
        _add_columns,
        "analysis.commands.columns:columns",
        _OF_STORES,
    ),
    "l-star": Verb(
        "the layer L* by every estimator",
        "Print the layer at which a profile over depth turns, by every published estimator.",
        {"l-star --profile trace_multi_head": ""},
        _add_l_star,
        "analysis.commands.tables:l_star",
        _OF_STORES,
    ),
    "signs": Verb(
        "does a measured model dampen or expand, by its prompts",
        "Print the mean log gain of each measured model, its interval, and the sign that follows.",
        {"signs --gain gain_last_block": ""},
        _add_signs,
        "analysis.commands.tables:signs",
        _OF_STORES,
    ),
    "specifications": Verb(
        "heritage under every choice at once",
        "Test the claim on heritage under every combination of defensible choices.",
        {"specifications --csv > specifications.csv": ""},
        _add_csv,
        "analysis.commands.tables:specifications",
        _OF_STORES,
    ),
    "stated": Verb(
        "every stated number, computed again",
        "Print every number that the paper states beside the same number computed from its data.",
        {"stated": "every number stated, computed again", "stated --csv": ""},
        _add_csv,
        "analysis.commands.tables:stated",
        _OF_STORES,
    ),
    "forensics": Verb(
        "recompute every test that a paper reports",
        "Find the tests in the text of any paper, and recompute each p from its statistic.",
        {"forensics paper.md": "the tests a paper reports, recomputed"},
        _add_forensics,
        "analysis.commands.tables:forensics",
        {
            1: "a test in the text contradicts itself",
            7: "no test in the text can be recomputed",
        },
    ),
    "report": Verb(
        "render the report, or with --paper that of another paper",
        "Make the pages, each one self-contained file, or a PDF of the paper.",
        {
            "report": "",
            "report --page claims": "one page alone",
            "report --to typst": "the paper as PDF",
            "--paper FOLDER report": "pages of another paper: front, claims, data",
            "report --examine reports/paper/paper.html": "faults of a finished page",
        },
        _add_report,
        "analysis.commands.pages:report",
        {
            3: "",
            5: "a page cannot be rendered or written, or has faults",
        },
    ),
    "init": Verb(
        "lay out the audit of another paper in a new folder",
        "Write an audit of two invented claims, which renders at once, to be replaced by yours.",
        {
            "init FOLDER": "a new audit, which renders at once",
            "init FOLDER --models": "of a paper about models",
            'init FOLDER --title "Homework, audited" --units pupil,pupils': "",
        },
        _add_init,
        "analysis.commands.pages:init",
    ),
}

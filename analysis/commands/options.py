"""The options of the command line, one function per verb."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from analysis.tidy.defaults import BAND, COMMITTED, COMMITTED_BESIDE, COMMITTED_STUDY, PROFILE

#: What the command is called when it is run as a module.
PROGRAM = "python -m analysis"

_COLLECTION = """
To measure models (plan, run, train, study, gauge, ...): thermoscope collect --help
"""

EPILOG = """\
examples:
  python -m analysis claims                       verdict on each claim
  python -m analysis claims --csv > verdicts.csv
  python -m analysis claims --adjusted            p adjusted within families of claims
  python -m analysis claim 7                      one claim, check by check
  python -m analysis claim 7 --json
  python -m analysis study                        what was registered, and what came of it
  python -m analysis --paper FOLDER claims        the claims of another paper
  python -m analysis sql "FROM model" --csv
  python -m analysis --data runs sql "SELECT count(*) FROM residual_norm"
  python -m analysis --data runs --verify claims  hashes of measured files compared first
  python -m analysis --data https://example.org/measured sql "FROM model"   read where it lies
  python -m analysis l-star --profile trace_multi_head
  python -m analysis signs --gain gain_last_block
  python -m analysis specifications --csv > specifications.csv
  python -m analysis stated                       every number stated, computed again
  python -m analysis forensics paper.md           the tests a paper reports, recomputed
  python -m analysis report
  python -m analysis report --page claims         one page alone
  python -m analysis report --to typst            the paper as PDF
  python -m analysis init FOLDER                  a new audit, which renders at once
  python -m analysis --paper FOLDER report        its pages: front, claims, data
  python -m analysis report --examine reports/paper/paper.html   faults of a finished page

exit codes:
  0  success
  1  a claim differs from the committed one (claims --check, study --check); committed verdicts
     lie in reports/claims.csv and study.csv, those of another paper in verdicts.csv in its folder
     or: a test that a paper reports contradicts itself (forensics)
  2  wrong input: unknown claim, bad query, damaged or missing data
  3  a package of the [report] or [remote] extra is missing
  4  something had to come over the network and did not
  5  the output cannot be written, the report cannot be rendered, or a page has faults
 70  a defect of this program: an exception that nobody foresaw (--debug shows its trace)
 71  the machine lends no more memory, processes or open files
130  interrupted from the keyboard
"""

#: What runs a verb: from its options to an exit code.
Verb = Callable[[argparse.Namespace], int]


def parser(verbs: Mapping[str, Verb], program: str = PROGRAM) -> argparse.ArgumentParser:
    """Return the parser of the command line; ``options.run`` is the verb's own function.

    Parameters
    ----------
    verbs
        What runs each verb, by its name on the command line.
    program
        What the command is called in its help.
    """
    made = argparse.ArgumentParser(
        prog=program,
        description="Judge claims about transformers from published figures and measurements.",
        epilog=EPILOG.replace(PROGRAM, program) + (_COLLECTION if program != PROGRAM else ""),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_sources(made)
    made.add_argument("--version", action=_Version, help="print the version and end")
    listed = made.add_subparsers(required=True, metavar="VERB")
    for name, (meaning, add) in _VERBS.items():
        verb = listed.add_parser(name, help=meaning)
        add(verb)
        verb.set_defaults(run=verbs[name])
    return made


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


def _add_claims(verb: argparse.ArgumentParser) -> None:
    form = verb.add_mutually_exclusive_group()
    _add_csv(form)
    form.add_argument("--json", action="store_true", help="print JSON, one object per claim")
    form.add_argument(
        "--check",
        action="store_true",
        help=f"compare with {COMMITTED}, or {COMMITTED_BESIDE} of the paper",
    )
    form.add_argument("--write", action="store_true", help="write what --check compares with")
    verb.add_argument(
        "--adjusted",
        action="store_true",
        help="each p beside those adjusted for the other claims of its family; also with --csv",
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
    form = verb.add_mutually_exclusive_group()
    _add_csv(form)
    form.add_argument("--json", action="store_true", help="print JSON, one object per row")


def _add_l_star(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--profile",
        default=PROFILE,
        metavar="NAME",
        help=f"profile over depth whose turning layer is meant, default: {PROFILE}",
    )
    verb.add_argument("--errors", action="store_true", help="errors of the predictions instead")
    _add_csv(verb)


def _add_signs(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--gain",
        default="gain_body",
        metavar="NAME",
        help="definition of gain, such as gain_last_block, default: gain_body",
    )
    verb.add_argument("--band", type=float, default=BAND, help=f"neutral log gain, default: {BAND}")
    _add_csv(verb)


def _add_forensics(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("file", type=Path, metavar="FILE", help="Markdown or HTML of any paper")
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
        help="a parameter of the pages: measurements:DIR or published:DIR; repeat for several",
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
        help="render nothing: look for faults in finished pages, Quarto's too",
    )


def _add_init(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("folder", type=Path, metavar="FOLDER", help="a folder that is empty or new")


def _add_csv(verb: argparse._ActionsContainer) -> None:
    verb.add_argument("--csv", action="store_true", help="print CSV")


_VERBS: dict[str, tuple[str, Callable[[argparse.ArgumentParser], None]]] = {
    "claims": ("verdict on each claim", _add_claims),
    "claim": ("one claim, check by check", _add_claim),
    "study": ("each registered statement of the controlled study, and its verdict", _add_study),
    "sql": ("run one reading statement", _add_sql),
    "l-star": ("the layer L* by every estimator", _add_l_star),
    "signs": ("does a measured model dampen or expand, by its prompts", _add_signs),
    "specifications": ("heritage under every choice at once", _add_csv),
    "stated": ("every stated number, computed again", _add_csv),
    "forensics": ("recompute every test that a paper reports", _add_forensics),
    "report": ("render the report, or with --paper that of another paper", _add_report),
    "init": ("lay out the audit of another paper in a new folder", _add_init),
}

"""The command line: verdicts on the claims, ad-hoc SQL, the report."""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

import analysis
from analysis import claims, prose
from analysis.errors import AnalysisError, ReportError, StoreError
from analysis.output import replace_text
from analysis.store import Store, open_store

EPILOG = """\
examples:
  python -m analysis claims                       verdict on each claim
  python -m analysis claims --csv > verdicts.csv
  python -m analysis claim 7                      one claim, check by check
  python -m analysis sql "FROM model" --csv
  python -m analysis --data runs sql "SELECT count(*) FROM residual_norm"
  python -m analysis report

exit codes:
  0  success
  1  the verdicts differ from the committed ones (claims --check)
  2  wrong input: unknown claim, bad query, damaged or missing data
  3  a package of the [report] extra is missing
  5  the output cannot be written, or the report cannot be rendered
"""

COMMITTED = "reports/claims.csv"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except AnalysisError as error:
        print(f"error: {error.problem}", file=sys.stderr)
        if error.hint:
            print(f"hint: {error.hint}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def project_root() -> Path:
    """Return the directory that holds ``data/``: the working directory, else the checkout."""
    here = Path.cwd()
    return here if (here / "data" / "published").is_dir() else Path(analysis.__file__).parents[1]


def default_sources() -> list[Path]:
    """Return the directories every command reads unless told otherwise.

    Raises
    ------
    StoreError
        If the published figures are not where the project keeps them.
    """
    root = project_root()
    if not (root / "data" / "published").is_dir():
        raise StoreError(
            f"Data must lie in data/ of the working directory; {Path.cwd()} has none.",
            "Run from a clone of the project, or name directories with --data.",
        )
    return [path for path in (root / "data/published", root / "data/sample") if path.is_dir()]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m analysis",
        description="Judge claims about transformers from published figures and measurements.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--data",
        action="append",
        type=Path,
        metavar="DIR",
        help="directory of measurements, or one .duckdb file; repeat to open several "
        "(default: data/published and data/sample)",
    )
    verbs = parser.add_subparsers(required=True, metavar="VERB")

    listing = verbs.add_parser("claims", help="verdict on each claim")
    form = listing.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="print CSV")
    form.add_argument("--json", action="store_true", help="print JSON, one object per claim")
    form.add_argument("--check", action="store_true", help=f"compare with {COMMITTED}")
    form.add_argument("--write", action="store_true", help=f"write {COMMITTED}")
    listing.set_defaults(run=_claims)

    one = verbs.add_parser("claim", help="one claim, check by check")
    one.add_argument("claim_id", type=int, metavar="ID")
    one.set_defaults(run=_claim)

    sql = verbs.add_parser("sql", help="run one reading statement")
    sql.add_argument("query", metavar="QUERY")
    sql.add_argument("--csv", action="store_true", help="print CSV")
    sql.set_defaults(run=_sql)

    report = verbs.add_parser("report", help="render the report")
    report.add_argument("--engine", choices=("auto", "quarto", "embedded"), default="auto")
    report.add_argument("-P", dest="parameters", action="append", default=[], metavar="NAME:VALUE")
    report.add_argument("--out", type=Path, default=None, metavar="FILE")
    report.set_defaults(run=_report)
    return parser


def _open(options: argparse.Namespace) -> Store:
    store = open_store(*(options.data or default_sources()))
    for unit in store.incomplete:
        print(f"note: left out, its measurement was interrupted: {unit}", file=sys.stderr)
    return store


def _claims(options: argparse.Namespace) -> int:
    judged = claims.evaluate(_open(options))
    if options.csv:
        sys.stdout.write(to_csv(judged))
    elif options.json:
        print(judged.to_json(orient="records", indent=2, force_ascii=False))
    elif options.write:
        print(replace_text(project_root() / COMMITTED, to_csv(judged)))
    elif options.check:
        return _compare(judged, project_root() / COMMITTED)
    else:
        print(_overview(judged))
    return 0


def _claim(options: argparse.Namespace) -> int:
    one = claims.claim(options.claim_id)
    store = _open(options)
    judged = claims.evaluate(store).set_index("claim_id").loc[one.claim_id]
    print(f"Claim {one.claim_id}: {judged['statement']} ({judged['place']})")
    print(f"Verdict:  {judged['verdict']}\nEstimand: {one.estimand}.\nRule:     {one.rule}\n")
    for check in claims.checks(store, one.claim_id).to_dict("records"):
        print(_check_lines(check))
    return 0


def _check_lines(row: Mapping[Any, Any]) -> str:
    answer = {True: "holds", False: "fails", None: "undecided"}[row["holds"]]
    lines = [
        f"- {row['term']}\n    read as: {row['condition']}\n    {answer}: {_numbers(row)}"
        f" ({row['method'] or 'comparison'}; {_design(row)})",
        f"    from {row['evidence']}" if row["evidence"] else "",
        f"    caveats {row['caveats']}" if row["caveats"] else "",
        f"    {row['note']}" if row["note"] else "",
    ]
    return "\n".join(line for line in lines if line)


def _numbers(row: Mapping[Any, Any]) -> str:
    """Return estimate, interval and p of one row, as far as it has them."""
    parts = [prose.number(row["estimate"], 4)]
    if not math.isnan(row["conf_low"]):
        parts.append(prose.interval(row["conf_low"], row["conf_high"], 4))
    if not math.isnan(row["p_value"]):
        parts.append(prose.p_value(row["p_value"]))
    return ", ".join(parts).replace(prose.NO_BREAK, " ")


def _design(row: Mapping[Any, Any]) -> str:
    """Return how many models and suites entered."""
    return f"{prose.plural(row['n_models'], 'model')}, {prose.plural(row['n_suites'], 'suite')}"


def _sql(options: argparse.Namespace) -> int:
    rows = _open(options).query(options.query)
    if options.csv:
        sys.stdout.write(to_csv(rows))
    else:
        with pd.option_context(
            "display.max_rows", 200, "display.max_columns", None, "display.width", 160
        ):
            print(rows.to_string(index=False) if len(rows) <= 200 else rows)
        print(prose.plural(len(rows), "row"), file=sys.stderr)
    return 0


def _report(options: argparse.Namespace) -> int:
    from analysis.report import render

    root = project_root()
    pairs = [text.partition(":") for text in options.parameters]
    if any(not separator for _, separator, _ in pairs):
        raise ReportError(
            "A parameter must be written NAME:VALUE.", "For example -P measurements:runs"
        )
    page = render(
        root / "quarto" / "paper.qmd",
        options.out or root / "reports" / "paper" / "paper.html",
        parameters={name: value for name, _, value in pairs},
        engine=options.engine,
    )
    print(page)
    return 0


def to_csv(rows: pd.DataFrame) -> str:
    """Return rows as CSV text: ten significant digits, so that a diff is never rounding noise."""
    return rows.to_csv(index=False, lineterminator="\n", float_format="%.10g")


def _compare(judged: pd.DataFrame, committed: Path) -> int:
    if not committed.is_file():
        raise StoreError(
            f"The committed verdicts must lie in {committed}; no such file.",
            "Write them with: python -m analysis claims --write",
        )
    before = pd.read_csv(committed).set_index("claim_id")["verdict"]
    after = judged.set_index("claim_id")["verdict"]
    both = pd.DataFrame({"before": before, "after": after})
    changed = both[both["before"].fillna("") != both["after"].fillna("")]
    for claim_id, row in changed.iterrows():
        print(f"claim {claim_id}: {row['before']} -> {row['after']}")
    print(f"{len(changed)} of {len(both)} verdicts differ from {committed.name}.")
    return 1 if len(changed) else 0


def _overview(judged: pd.DataFrame) -> str:
    lines = []
    for row in judged.to_dict("records"):
        lines.append(f"{row['claim_id']:>3}  {row['verdict']:<29} {row['statement']}")
        counts = _design(row)
        lines.append(f"     {_numbers(row)}; {counts}")
    counted = judged["verdict"].value_counts()
    total = ", ".join(f"{counted.get(name, 0)} {name}" for name in claims.VERDICTS)
    return "\n".join([*lines, "", f"{len(judged)} claims: {total}."])

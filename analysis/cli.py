"""The command line: verdicts on the claims, ad-hoc SQL, the report."""

from __future__ import annotations

import argparse
import io
import math
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import analysis
from analysis import claims, prose
from analysis.claims.heritage import SEED
from analysis.errors import AnalysisError, StoreError
from analysis.output import replace_text
from analysis.signs import BAND, signs
from analysis.store import Store, open_store
from analysis.turning import PRIMARY, errors, layers

EPILOG = """\
examples:
  python -m analysis claims                       verdict on each claim
  python -m analysis claims --csv > verdicts.csv
  python -m analysis claim 7                      one claim, check by check
  python -m analysis sql "FROM model" --csv
  python -m analysis --data runs sql "SELECT count(*) FROM residual_norm"
  python -m analysis l-star --profile trace_multi_head
  python -m analysis signs --gain gain_last_block
  python -m analysis report

exit codes:
  0  success
  1  a claim differs from the committed one (claims --check)
  2  wrong input: unknown claim, bad query, damaged or missing data
  3  a package of the [report] extra is missing
  5  the output cannot be written, or the report cannot be rendered
130  interrupted from the keyboard
"""

COMMITTED = "reports/claims.csv"

#: Columns of the committed verdicts that a finding consists of.
COMPARED = (
    "statement",
    "verdict",
    "estimate",
    "conf_low",
    "conf_high",
    "p_value",
    "n_obs",
    "n_models",
    "n_suites",
    "rule",
    "caveats",
    "note",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; no traceback reaches the user."""
    options = _parser().parse_args(arguments)
    try:
        code = int(options.run(options))
        sys.stdout.flush()
    except AnalysisError as error:
        return _complain(error.problem, error.hint, error.exit_code)
    except KeyboardInterrupt:
        return _complain("The command was interrupted.", "", 130)
    except UnicodeEncodeError as error:
        character = ascii(error.object[error.start])
        return _complain(
            f"The output must take {character}; its encoding does not.",
            "Set PYTHONIOENCODING=utf-8.",
            5,
        )
    except OSError as error:
        # What is still buffered must not be written at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return 0
        return _complain(f"The output must be writable; {error.strerror}.", "", 5)
    return code


def _complain(problem: str, hint: str, exit_code: int) -> int:
    print(f"error: {problem}", file=sys.stderr)
    if hint:
        print(f"hint: {hint}", file=sys.stderr)
    return exit_code


def project_root() -> Path:
    """Return the directory that holds ``data/``: the working directory, else the checkout."""
    here = Path.cwd()
    return here if (here / "data" / "published").is_dir() else Path(analysis.__file__).parents[1]


def _checkout() -> Path:
    """Return the project's root, for writing; an installed copy is never written to."""
    root = project_root()
    if not (root / "data" / "published").is_dir():
        raise StoreError(
            f"Verdicts must be written into a clone of the project; {root} is none.",
            "Run this in the clone.",
        )
    return root


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

    turn = verbs.add_parser("l-star", help="the layer L* by every estimator")
    turn.add_argument("--profile", default=PRIMARY, metavar="NAME", help=f"default: {PRIMARY}")
    turn.add_argument("--errors", action="store_true", help="errors of the predictions instead")
    turn.add_argument("--csv", action="store_true", help="print CSV")
    turn.set_defaults(run=_l_star)

    sign = verbs.add_parser("signs", help="does a measured model dampen or expand, by its prompts")
    sign.add_argument("--gain", default="gain_body", metavar="NAME", help="default: gain_body")
    sign.add_argument("--band", type=float, default=BAND, help=f"neutral log gain, default: {BAND}")
    sign.add_argument("--csv", action="store_true", help="print CSV")
    sign.set_defaults(run=_signs)

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
        print(replace_text(_checkout() / COMMITTED, to_csv(judged)))
    elif options.check:
        return _compare(judged, project_root() / COMMITTED)
    else:
        print(_overview(judged))
    return 0


def _claim(options: argparse.Namespace) -> int:
    one = claims.claim(options.claim_id)
    store = _open(options)
    judged = claims.judge(store, one.claim_id)
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
    return _print(_open(options).query(options.query), as_csv=options.csv)


def _l_star(options: argparse.Namespace) -> int:
    table = errors if options.errors else layers
    return _print(table(_open(options), options.profile), as_csv=options.csv)


def _signs(options: argparse.Namespace) -> int:
    rng = np.random.default_rng(SEED)
    rows = signs(_open(options), options.gain, rng=rng, band=options.band)
    return _print(rows, as_csv=options.csv)


def _print(rows: pd.DataFrame, *, as_csv: bool) -> int:
    if as_csv:
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
    if options.data:
        raise AnalysisError(
            "The report reads what its parameters name, not --data.",
            "Name a directory with -P measurements:DIR (or -P published:DIR).",
        )
    page = render(
        root / "quarto" / "paper.qmd",
        options.out or root / "reports" / "paper" / "paper.html",
        parameters=dict(_parameter(text) for text in options.parameters),
        engine=options.engine,
    )
    print(page)
    return 0


def _parameter(text: str) -> tuple[str, str]:
    """Return name and value; a value that is a place is made absolute, as chunks run elsewhere."""
    name, separator, value = text.partition(":")
    if not separator:
        raise AnalysisError(
            f"A parameter must be written NAME:VALUE; found {text!r}.",
            "For example -P measurements:runs",
        )
    return name, str(Path(value).resolve()) if Path(value).exists() else value


def to_csv(rows: pd.DataFrame) -> str:
    """Return rows as CSV text: ten significant digits, so that a diff is never rounding noise."""
    return rows.to_csv(index=False, lineterminator="\n", float_format="%.10g")


def _compare(judged: pd.DataFrame, committed: Path) -> int:
    """Print the verdicts and numbers that differ from the committed ones; 1 if any does."""
    before, after = _committed(committed), pd.read_csv(io.StringIO(to_csv(judged)))
    joined = before.merge(after, on="claim_id", how="outer", suffixes=("_before", "_after"))
    changed = 0
    for row in joined.to_dict("records"):
        columns = [
            name for name in COMPARED if _differs(row[f"{name}_before"], row[f"{name}_after"])
        ]
        changed += bool(columns)
        for name in columns:
            print(
                f"claim {row['claim_id']}: {name} {row[f'{name}_before']} -> {row[f'{name}_after']}"
            )
    print(f"{changed} of {len(joined)} claims differ from {committed.name}.")
    return 1 if changed else 0


def _committed(path: Path) -> pd.DataFrame:
    try:
        rows = pd.read_csv(path)
        if missing := sorted({"claim_id", *COMPARED} - set(rows.columns)):
            raise ValueError(f"it lacks {missing}")
    except (OSError, ValueError) as error:
        raise StoreError(
            f"The committed verdicts must be a whole CSV file {path}; {error}.",
            "Write them with: python -m analysis claims --write",
        ) from error
    return rows


def _differs(before: Any, after: Any) -> bool:
    """Tell whether two values differ; numbers by more than their rounding between machines."""
    if pd.isna(before) or pd.isna(after):
        return bool(pd.isna(before) != pd.isna(after))
    if isinstance(before, str) or isinstance(after, str):
        return str(before) != str(after)
    return not math.isclose(before, after, rel_tol=1e-6)


def _overview(judged: pd.DataFrame) -> str:
    lines = []
    for row in judged.to_dict("records"):
        lines.append(f"{row['claim_id']:>3}  {row['verdict']:<29} {row['statement']}")
        counts = _design(row)
        lines.append(f"     {_numbers(row)}; {counts}")
    counted = judged["verdict"].value_counts()
    total = ", ".join(f"{counted.get(name, 0)} {name}" for name in claims.VERDICTS)
    return "\n".join([*lines, "", f"{len(judged)} claims: {total}."])

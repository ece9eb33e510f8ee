"""The command line: verdicts on the claims, ad-hoc SQL, the report."""

from __future__ import annotations

import argparse
import io
import json
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analysis import claims, prose
from analysis.checkout import default_sources, project_root, writable_root
from analysis.claims import paper
from analysis.claims.committed import differences, read_verdicts
from analysis.claims.heritage import SEED
from analysis.errors import AnalysisError
from analysis.forensics import audit
from analysis.output import replace_text
from analysis.signs import BAND, signs
from analysis.store import Store, open_store
from analysis.turning import PRIMARY, errors, layers

EPILOG = """\
examples:
  python -m analysis claims                       verdict on each claim
  python -m analysis claims --csv > verdicts.csv
  python -m analysis claims --adjusted            p adjusted within families of claims
  python -m analysis claim 7                      one claim, check by check
  python -m analysis claim 7 --json
  python -m analysis --paper FOLDER claims        the claims of another paper
  python -m analysis sql "FROM model" --csv
  python -m analysis --data runs sql "SELECT count(*) FROM residual_norm"
  python -m analysis l-star --profile trace_multi_head
  python -m analysis signs --gain gain_last_block
  python -m analysis specifications --csv > specifications.csv
  python -m analysis stated                       every number stated, computed again
  python -m analysis forensics paper.md           the tests a paper reports, recomputed
  python -m analysis report

exit codes:
  0  success
  1  a claim differs from the committed one (claims --check); committed verdicts lie in
     reports/claims.csv (in reports/claims_raw_files.csv those with the imported raw
     files open as well), those of another paper in verdicts.csv in its folder
     or: a test that a paper reports contradicts itself (forensics)
  2  wrong input: unknown claim, bad query, damaged or missing data
  3  a package of the [report] extra is missing
  5  the output cannot be written, or the report cannot be rendered
130  interrupted from the keyboard
"""

COMMITTED = "reports/claims.csv"

#: The same where the imported raw files are open as well.
COMMITTED_RAW = "reports/claims_raw_files.csv"

#: Where the verdicts of another paper are kept, in its folder.
COMMITTED_BESIDE = "verdicts.csv"


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
    parser.add_argument(
        "--paper",
        type=Path,
        metavar="FOLDER",
        help="another paper: a folder with claim.csv, published_*.csv and claims.py, whose code "
        "is run; a source beside --data",
    )
    verbs = parser.add_subparsers(required=True, metavar="VERB")

    listing = verbs.add_parser("claims", help="verdict on each claim")
    form = listing.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="print CSV")
    form.add_argument("--json", action="store_true", help="print JSON, one object per claim")
    form.add_argument(
        "--check",
        action="store_true",
        help=f"compare with {COMMITTED} ({COMMITTED_RAW} if imported raw files are open), or "
        f"{COMMITTED_BESIDE} of the paper",
    )
    form.add_argument("--write", action="store_true", help="write what --check compares with")
    listing.add_argument(
        "--adjusted",
        action="store_true",
        help="each p beside those adjusted for the other claims of its family; also with --csv",
    )
    listing.set_defaults(run=_claims)

    one = verbs.add_parser("claim", help="one claim, check by check")
    one.add_argument("claim_id", type=int, metavar="ID")
    one.add_argument("--json", action="store_true", help="print JSON: the claim and its checks")
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

    specs = verbs.add_parser("specifications", help="heritage under every choice at once")
    specs.add_argument("--csv", action="store_true", help="print one CSV row per specification")
    specs.set_defaults(run=_specifications)

    numbers = verbs.add_parser("stated", help="every stated number, computed again")
    numbers.add_argument("--csv", action="store_true", help="print CSV")
    numbers.set_defaults(run=_stated)

    printed = verbs.add_parser("forensics", help="recompute every test that a paper reports")
    printed.add_argument("file", type=Path, metavar="FILE.md", help="Markdown of any paper")
    printed.add_argument("--alpha", type=float, default=0.05, help="its level, default: 0.05")
    printed.add_argument("--csv", action="store_true", help="print CSV")
    printed.set_defaults(run=_forensics)

    report = verbs.add_parser("report", help="render the report")
    report.add_argument("--engine", choices=("auto", "quarto", "embedded"), default="auto")
    report.add_argument("-P", dest="parameters", action="append", default=[], metavar="NAME:VALUE")
    report.add_argument("--out", type=Path, default=None, metavar="FILE")
    report.set_defaults(run=_report)
    return parser


def _open(options: argparse.Namespace) -> Store:
    store = open_store(*_sources(options))
    for unit in store.incomplete:
        print(f"note: left out, its measurement was interrupted: {unit}", file=sys.stderr)
    return store


def _sources(options: argparse.Namespace) -> list[Path]:
    """Return what to open: what was named, else what the project ships."""
    if options.paper:
        return [options.paper, *(options.data or [])]
    return options.data or default_sources()


def _registry(options: argparse.Namespace) -> Mapping[int, claims.Claim]:
    return paper.load(options.paper) if options.paper else claims.CLAIMS


def _claims(options: argparse.Namespace) -> int:
    if options.adjusted and (options.json or options.write or options.check):
        raise AnalysisError(
            "Adjusted p values must be printed as a table or as CSV; another form was asked for.",
            "Give --adjusted alone or with --csv.",
        )
    registry = _registry(options)
    store = _open(options)
    judged = claims.evaluate(store, registry)
    if options.adjusted:
        return _print(claims.adjusted(judged), as_csv=options.csv)
    if options.csv:
        sys.stdout.write(to_csv(judged))
    elif options.json:
        print(judged.to_json(orient="records", indent=2, force_ascii=False))
    elif options.write:
        print(replace_text(_committed_path(options, store, writable_root), to_csv(judged)))
    elif options.check:
        return _compare(judged, _committed_path(options, store, project_root))
    else:
        print(_overview(judged))
    return 0


def _committed_path(options: argparse.Namespace, store: Store, root: Callable[[], Path]) -> Path:
    """Return where the verdicts lie that a new evaluation is compared with."""
    if options.paper:
        return Path(options.paper) / COMMITTED_BESIDE
    has_raw_files = bool(store.query("SELECT count(*) > 0 FROM published_value").iloc[0, 0])
    return root() / (COMMITTED_RAW if has_raw_files else COMMITTED)


def _claim(options: argparse.Namespace) -> int:
    registry = _registry(options)
    one = claims.claim(options.claim_id, registry)
    store = _open(options)
    judged = claims.judge(store, one.claim_id, registry)
    if options.json:
        print(_as_json(judged, claims.checks(store, one.claim_id, registry)))
        return 0
    print(f"Claim {one.claim_id}: {judged['statement']} ({judged['place']})")
    print(f"Verdict:  {judged['verdict']}\nEstimand: {one.estimand}.\nRule:     {one.rule}\n")
    for check in claims.checks(store, one.claim_id, registry).to_dict("records"):
        print(_check_lines(check))
    return 0


def _as_json(judged: Mapping[str, object], checks: pd.DataFrame) -> str:
    """Return a claim's row as one JSON object, its checks in the list `checks`."""
    (row,) = json.loads(pd.DataFrame([judged]).to_json(orient="records"))
    row["checks"] = json.loads(checks.to_json(orient="records"))
    return json.dumps(row, indent=2, ensure_ascii=False)


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


def _stated(options: argparse.Namespace) -> int:
    from analysis import stated

    return _print(stated.ledger(_open(options)), as_csv=options.csv)


def _specifications(options: argparse.Namespace) -> int:
    from analysis import specification, specification_choices, specification_exhibits

    found = specification.specification_curve(
        specification_choices.figures(_open(options)),
        rng=np.random.default_rng(specification.SEED),
    )
    if options.csv:
        sys.stdout.write(to_csv(found.specifications))
    else:
        print(specification_exhibits.overview(found))
    return 0


def _forensics(options: argparse.Namespace) -> int:
    tests = audit.of_file(options.file, alpha=options.alpha)
    if options.csv:
        sys.stdout.write(to_csv(tests))
    else:
        print(audit.words(tests))
    return 0 if audit.is_consistent(tests) else 1


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
    if options.data or options.paper:
        raise AnalysisError(
            "The report reads what its parameters name, not --data or --paper.",
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
    before, after = read_verdicts(committed), pd.read_csv(io.StringIO(to_csv(judged)))
    found = differences(before, after)
    for line in found["difference"]:
        print(line)
    n_claims = len({*before["claim_id"], *after["claim_id"]})
    print(f"{found['claim_id'].nunique()} of {n_claims} claims differ from {committed.name}.")
    return 1 if len(found) else 0


def _overview(judged: pd.DataFrame) -> str:
    lines = []
    for row in judged.to_dict("records"):
        lines.append(f"{row['claim_id']:>3}  {row['verdict']:<29} {row['statement']}")
        counts = _design(row)
        lines.append(f"     {_numbers(row)}; {counts}")
    counted = judged["verdict"].value_counts()
    total = ", ".join(f"{counted.get(name, 0)} {name}" for name in claims.VERDICTS)
    number = prose.plural(len(judged), "claim")
    return "\n".join([*lines, "", f"{number}: {total}."])

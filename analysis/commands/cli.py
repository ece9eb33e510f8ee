"""The command line: verdicts on the claims, ad-hoc SQL, the report."""

from __future__ import annotations

import argparse
import errno
import io
import json
import math
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.commands.options import PROGRAM, Verb, parser
from analysis.tidy.defaults import COMMITTED, COMMITTED_BESIDE
from analysis.tidy.errors import AnalysisError, UnexpectedError, scarcity
from analysis.tidy.spreadsheet import to_csv

if TYPE_CHECKING:
    import pandas as pd

    from analysis.claims import Check, Claim
    from analysis.store import Store


#: How a full disk, a closed pipe or a lost terminal shows when something is printed.
_OF_OUTPUT = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


def main(arguments: Sequence[str] | None = None, *, program: str = PROGRAM) -> int:
    """Run the command line and return its exit code; no traceback reaches the user.

    Parameters
    ----------
    arguments
        Words after the command; those of the command line unless given.
    program
        What the command is called in its help.
    """
    options = parser(_VERBS, program).parse_args(arguments)
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
        return _refused_by_system(error, options)
    except Exception as error:
        return _unexpected(error, options)
    return code


def _refused_by_system(error: OSError, options: argparse.Namespace) -> int:
    """Say what the operating system refused: the standard output, a file, or something else."""
    if error.errno == errno.ENAMETOOLONG:
        return _complain(*_too_long(error), AnalysisError.exit_code)
    if error.filename is not None and not scarcity(error):
        name = ascii(str(error.filename))[1:-1]
        problem = f"The file {name} must be there for this command to use; {error.strerror}."
        return _complain(problem, "Look at its rights and its directory.", 2)
    if error.errno not in _OF_OUTPUT:
        return _unexpected(error, options)
    # What is still buffered must not be written at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return 0
    return _complain(f"The output must be writable; {error.strerror}.", "", 5)


def _too_long(error: OSError) -> tuple[str, str]:
    name = ascii(error.filename)[1:60]
    return f"A name must be one that a file can bear; {name}... is too long.", "Shorten it."


def _unexpected(error: Exception, options: argparse.Namespace) -> int:
    if options.debug:
        trace = "".join(traceback.format_exception(error))
        print(trace.encode("ascii", "backslashreplace").decode(), file=sys.stderr)
    defect = scarcity(error) or UnexpectedError(error)
    return _complain(defect.problem, defect.hint, defect.exit_code)


def _complain(problem: str, hint: str, exit_code: int) -> int:
    print(f"error: {problem}", file=sys.stderr)
    if hint:
        print(f"hint: {hint}", file=sys.stderr)
    return exit_code


def _open(options: argparse.Namespace) -> Store:
    from analysis.store import open_store

    store = open_store(*_sources(options), verify=options.verify)
    if options.verify:
        print(f"note: {store.comparison.words}", file=sys.stderr)
    for unit in store.incomplete:
        print(f"note: left out, its measurement was interrupted: {unit}", file=sys.stderr)
    return store


def _sources(options: argparse.Namespace) -> list[Path]:
    """Return what to open: what was named, else what the project ships."""
    if options.paper:
        return [options.paper, *(options.data or [])]
    from analysis.commands.checkout import default_sources

    return options.data or default_sources()


def _registry(options: argparse.Namespace) -> Mapping[int, Claim]:
    from analysis import claims
    from analysis.claims.verdict import paper

    return paper.load(options.paper) if options.paper else claims.CLAIMS


def _claims(options: argparse.Namespace) -> int:
    from analysis import claims
    from analysis.commands.checkout import project_root, writable_root
    from analysis.tidy.output import replace_text

    if options.adjusted and (options.json or options.write or options.check):
        raise AnalysisError(
            "Adjusted p-values must be printed as a table or as CSV; another form was asked for.",
            "Give --adjusted alone or with --csv.",
        )
    registry = _registry(options)
    store = _open(options)
    judged = claims.evaluate(store, registry, made=_examined(options, store, registry))
    if options.adjusted:
        return _print(claims.adjusted(judged), as_csv=options.csv)
    if options.csv:
        sys.stdout.write(to_csv(judged))
    elif options.json:
        print(judged.to_json(orient="records", indent=2, force_ascii=False))
    elif options.write:
        print(replace_text(_committed_path(options, writable_root), to_csv(judged)))
    elif options.check:
        return _compare(judged, _committed_path(options, project_root))
    else:
        print(_overview(judged))
    return 0


def _examined(
    options: argparse.Namespace, store: Store, registry: Mapping[int, Claim]
) -> Mapping[int, Sequence[Check]]:
    """Return the checks of every claim: those kept for these data and this code, if there are.

    What is committed, or compared with it, is always computed, and so is another paper, whose
    functions may read anything; an installed copy keeps nothing.
    """
    from analysis import claims
    from analysis.commands.checkout import is_clone
    from analysis.report.kept import results_of

    if options.check or options.write or options.paper or not is_clone():
        return claims.examine(store, registry)
    return results_of(store).keep("claims", lambda: claims.examine(store, registry), told=False)


def _committed_path(options: argparse.Namespace, root: Callable[[], Path]) -> Path:
    """Return where the verdicts lie that a new evaluation is compared with."""
    if options.paper:
        return Path(options.paper) / COMMITTED_BESIDE
    return root() / COMMITTED


def _claim(options: argparse.Namespace) -> int:
    from analysis.commands.checkout import refuse_unknown

    if not options.paper:
        refuse_unknown(options.claim_id)
    from analysis import claims

    registry = _registry(options)
    one = claims.claim(options.claim_id, registry)
    store = _open(options)
    made = claims.examined(one, store)
    judged = claims.judge(store, one.claim_id, registry, made=made)
    remark = str(judged["property_remark"])
    checks = claims.check_rows(made, one.kind)
    if is_free := judged["property"] == "parametrisation":
        checks = claims.remarked(checks, remark)
    if options.json:
        print(_as_json(judged, checks))
        return 0
    print(f"Claim {one.claim_id}: {judged['statement']} ({judged['place']})")
    print(_counted(checks))
    how = f": {judged['reading']}" if judged["reading"] else ""
    print(f"Verdict:  {judged['verdict']}{how}\nEstimand: {one.estimand}.\nRule:     {one.rule}")
    if remark:
        print(f"Property: {judged['property']}" if is_free else f"Property: {remark}")
    print()
    for part, readings in checks.groupby("term", sort=False):
        print(f"- {part}", *map(_check_lines, readings.to_dict("records")), sep="\n")
    print(_rate_lines(store, one.claim_id), end="")
    return 0


def _counted(checks: pd.DataFrame) -> str:
    """Return how many of the readings that decide hold, and how many cannot be told."""
    from analysis.tidy import prose

    answers = checks.loc[checks["decides"].astype(bool), "holds"].tolist()
    said = f"{prose.share_of(answers.count(True), len(answers))} readings hold"
    n_open = answers.count(None)
    told = f"{said}, {n_open} cannot be told" if n_open else said
    return told.replace(prose.NO_BREAK, " ")


def _rate_lines(store: Store, claim_id: int) -> str:
    """Return how often the rule says what of papers with planted truths, if it was simulated."""
    from analysis.claims.verdict import weight

    rates = weight.rates(store, claim_id)
    lines = []
    for (truth, is_wrong), rows in rates.groupby(["truth", "wrong_labels"]):
        said = ", ".join(
            f"{row['verdict']} {row['probability']:.3f}"
            for row in rows.to_dict("records")
            if row["probability"] > 0
        )
        lines.append(f"    {truth} rules{', wrong labels' if is_wrong else ''}: {said}\n")
    if not lines:
        return ""
    n_papers = int(rates["n_papers"].iloc[0])
    return f"\nHow often this rule says what of {n_papers:,} simulated papers:\n{''.join(lines)}"


def _as_json(judged: Mapping[str, object], checks: pd.DataFrame) -> str:
    """Return a claim's row as one JSON object, its checks in the list `checks`."""
    import pandas as pd

    (row,) = json.loads(pd.DataFrame([judged]).to_json(orient="records"))
    row["checks"] = json.loads(checks.to_json(orient="records"))
    return json.dumps(row, indent=2, ensure_ascii=False)


def _check_lines(row: Mapping[Any, Any]) -> str:
    answer = _answer(row)
    lines = [
        f"    read as: {row['condition']}\n    {answer}: {_numbers(row)}"
        f" ({row['method'] or 'comparison'}; {_design(row)})",
        f"    from {row['evidence']}" if row["evidence"] else "",
        f"    caveats {row['caveats']}" if row["caveats"] else "",
        f"    {row['note']}" if row["note"] else "",
    ]
    return "\n".join(line for line in lines if line)


def _answer(row: Mapping[Any, Any]) -> str:
    """Return what a check says of its part, and whether it moves the verdict."""
    if not row["has_data"]:
        return "no data"
    found = {True: "holds", False: "fails", None: "undecided"}[row["holds"]]
    return f"{row['kind']}, {found}" if row["decides"] else "shown, moves no verdict"


def _numbers(row: Mapping[Any, Any]) -> str:
    """Return estimate, interval and p of one row, as far as it has them."""
    from analysis.tidy import prose

    parts = [prose.number(row["estimate"], 4)]
    if not math.isnan(row["conf_low"]):
        parts.append(prose.interval(row["conf_low"], row["conf_high"], 4))
    if not math.isnan(row["p_value"]):
        parts.append(prose.p_value(row["p_value"]))
    if not math.isnan(row.get("p_holm", math.nan)) and row["p_holm"] > row["p_value"]:
        parts.append(f"{prose.p_value(row['p_holm'])} adjusted over the readings")
    return ", ".join(parts).replace(prose.NO_BREAK, " ")


def _design(row: Mapping[Any, Any]) -> str:
    """Return how many models and suites entered."""
    from analysis.tidy import prose

    return f"{prose.plural(row['n_models'], 'model')}, {prose.plural(row['n_suites'], 'suite')}"


def _sql(options: argparse.Namespace) -> int:
    from analysis.commands.shell import open_shell, statement

    query = statement(options.query)
    if query is None:
        return open_shell(options.data or [])
    rows = _open(options).query(query)
    if options.json:
        print(rows.to_json(orient="records", indent=2, force_ascii=False, date_format="iso"))
        return 0
    return _print(rows, as_csv=options.csv)


def _l_star(options: argparse.Namespace) -> int:
    from analysis.questions.turning.turning import errors, layers

    table = errors if options.errors else layers
    return _print(table(_open(options), options.profile), as_csv=options.csv)


def _signs(options: argparse.Namespace) -> int:
    import numpy as np

    from analysis.claims.sign.heritage import SEED
    from analysis.questions.signs import signs

    rng = np.random.default_rng(SEED)
    rows = signs(_open(options), options.gain, rng=rng, band=options.band)
    return _print(rows, as_csv=options.csv)


def _stated(options: argparse.Namespace) -> int:
    from analysis.claims.print import stated

    return _print(stated.ledger(_open(options)), as_csv=options.csv)


def _specifications(options: argparse.Namespace) -> int:
    import numpy as np

    from analysis.exhibits.specification import curve as specification_exhibits
    from analysis.questions.specification import choices as specification_choices
    from analysis.questions.specification import curve as specification

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
    from analysis.forensics import audit

    tests = audit.of_file(options.file, alpha=options.alpha)
    if options.csv:
        sys.stdout.write(to_csv(tests))
    else:
        print(audit.words(tests))
    return 0 if audit.is_consistent(tests) else 1


def _print(rows: pd.DataFrame, *, as_csv: bool) -> int:
    import pandas as pd

    from analysis.tidy import prose

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
    from analysis.commands.checkout import project_root
    from analysis.report.examination import refuse_faults
    from analysis.report.replay import memory_of
    from analysis.report.site import render_site
    from analysis.tidy import prose

    if options.examine:
        refuse_faults(options.examine)
        print(f"{prose.plural(len(options.examine), 'page')} examined, no fault found.")
        return 0
    root = project_root()
    if options.data and not options.paper:
        raise AnalysisError(
            "The report reads what its parameters name, not --data.",
            "Name a directory with -P measurements:DIR (or -P published:DIR).",
        )
    project, place, parameters = root / "quarto", root / "reports" / "paper", {}
    if options.paper:
        project, place = project / "audit", options.paper / "report"
        sources = ";".join(str(path.resolve()) for path in options.data or [])
        parameters = {"folder": str(options.paper.resolve()), "measurements": sources}
    parameters |= dict(_parameter(text) for text in options.parameters)
    pages = render_site(
        project,
        options.out or place,
        parameters=parameters,
        engine=options.engine,
        only=options.pages,
        memory=None if options.paper else memory_of(root, parameters),
    )
    print(*pages, sep="\n")
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


def _init(options: argparse.Namespace) -> int:
    from analysis.commands.new_audit import lay_out

    print(*lay_out(options.folder), sep="\n")
    print(f"next: python -m analysis --paper {options.folder} claims", file=sys.stderr)
    print(f"then: python -m analysis --paper {options.folder} report", file=sys.stderr)
    return 0


def _compare(judged: pd.DataFrame, committed: Path) -> int:
    """Print the verdicts and numbers that differ from the committed ones; 1 if any does."""
    import pandas as pd

    from analysis.claims.verdict.committed import differences, read_verdicts

    before, after = read_verdicts(committed), pd.read_csv(io.StringIO(to_csv(judged)))
    found = differences(before, after)
    for line in found["difference"]:
        print(line)
    n_claims = len({*before["claim_id"], *after["claim_id"]})
    print(f"{found['claim_id'].nunique()} of {n_claims} claims differ from {committed.name}.")
    return 1 if len(found) else 0


def _overview(judged: pd.DataFrame) -> str:
    from analysis import claims
    from analysis.tidy import prose

    lines = []
    for row in judged.to_dict("records"):
        lines.append(f"{row['claim_id']:>3}  {row['verdict']:<21} {row['statement']}")
        counts = _design(row)
        lines.append(f"     {_numbers(row)}; {counts}")
    counted = judged["verdict"].value_counts()
    total = ", ".join(f"{counted.get(name, 0)} {name}" for name in claims.VERDICTS)
    number = prose.plural(len(judged), "claim")
    return "\n".join([*lines, "", f"{number}: {total}."])


_VERBS: Mapping[str, Verb] = {
    "claims": _claims,
    "claim": _claim,
    "sql": _sql,
    "l-star": _l_star,
    "signs": _signs,
    "specifications": _specifications,
    "stated": _stated,
    "forensics": _forensics,
    "report": _report,
    "init": _init,
}

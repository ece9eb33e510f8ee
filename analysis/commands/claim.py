"""The verb `claim`: one claim, check by check."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from analysis.commands.colour import coloured
from analysis.commands.sources import claims_of, opened
from analysis.commands.tables import objects

if TYPE_CHECKING:
    import pandas as pd

    from analysis.audit import Check, Claim
    from analysis.audit.about import About
    from analysis.store import Store


def claim(options: argparse.Namespace) -> int:
    """Print one claim with its checks, and return the exit code."""
    from analysis.commands.checkout import refuse_unknown

    if not options.paper:
        refuse_unknown(options.claim_id)
    from analysis import audit as claims
    from analysis.tidy import prose

    registry = claims_of(options)
    one = claims.claim(options.claim_id, registry)
    store = opened(options)
    claims.statement(store, one.claim_id)
    made = claims.examined(one, store)
    judged = claims.judge(store, one.claim_id, registry, made=made)
    if options.paper:
        tell_doubtful({one.claim_id: made}, registry)
    remark = str(judged["property_remark"])
    checks = claims.check_rows(made, one.kind)
    if options.json:
        print(_claim_json(judged, checks))
        return 0
    print(f"Claim {one.claim_id}: {judged['statement']} ({judged['place']})")
    print(_count(checks))
    how = f": {judged['reading']}" if judged["reading"] else ""
    print(
        f"Verdict:  {coloured(str(judged['verdict']))}{how}\n"
        f"Estimand: {one.estimand}.\nRule:     {one.rule}"
    )
    if of_print := claims.testable.printed_remark(judged):
        print(f"Judged:   {of_print}".replace(prose.NO_BREAK, " "))
    if remark:
        print(f"Property: {remark}")
    print()
    from analysis.audit.about import read

    about = read(options.paper)
    for part, readings in checks.groupby("term", sort=False):
        print(
            f"- {part}",
            *(_check_lines(row, about) for row in readings.to_dict("records")),
            sep="\n",
        )
    print(_caveat_lines(store, checks), _rate_lines(store, one.claim_id), sep="", end="")
    return 0


def tell_doubtful(made: Mapping[int, Sequence[Check]], registry: Mapping[int, Claim]) -> None:
    """Say which checks of another paper fail although their interval cannot tell."""
    from analysis.audit import evidence

    for number, checks in made.items():
        for check in checks:
            if check.decides and (why := evidence.across(check, registry[number].kind)):
                place = f"claim {number}, {check.part} ({check.condition})"
                print(f"warning: {place}: {why}. See evidence.significant.", file=sys.stderr)


def _count(checks: pd.DataFrame) -> str:
    """Return how many of the readings that decide hold, are undecided and lack data."""
    from analysis.tidy import prose

    deciding = checks[checks["decides"].astype(bool)]
    is_open, has_data = deciding["holds"].isna(), deciding["has_data"].astype(bool)
    n_hold = deciding["holds"].tolist().count(True)
    parts = [f"{prose.share_of(n_hold, len(deciding))} readings hold"]
    others = {"undecided": int((is_open & has_data).sum()), "without data": int((~has_data).sum())}
    parts += [f"{n} {word}" for word, n in others.items() if n]
    return ", ".join(parts).replace(prose.NO_BREAK, " ")


def _caveat_lines(store: Store, checks: pd.DataFrame) -> str:
    """Return what each known defect is called that some check names."""
    codes = sorted({code for named in checks["caveats"] for code in str(named).split()})
    titles = store.query("SELECT caveat_id, title FROM caveat").set_index("caveat_id")["title"]
    lines = [f"    {code}: {titles.get(code, 'not explained')}\n" for code in codes]
    return f"\nKnown defects of the files:\n{''.join(lines)}" if lines else ""


def _rate_lines(store: Store, claim_id: int) -> str:
    """Return how often the rule says what of papers with planted truths, if it was simulated."""
    from analysis.audit import weight

    rates = weight.rates(store, claim_id)
    lines = []
    for (truth, is_wrong), rows in rates.groupby(["truth", "wrong_labels"]):
        rates_text = ", ".join(
            f"{row['verdict']} {row['probability']:.3f}"
            for row in rows.to_dict("records")
            if row["probability"] > 0
        )
        lines.append(f"    {truth} rules{', wrong labels' if is_wrong else ''}: {rates_text}\n")
    if not lines:
        return ""
    n_papers = int(rates["n_papers"].iloc[0])
    return f"\nHow often this rule says what of {n_papers:,} simulated papers:\n{''.join(lines)}"


def _claim_json(judged: Mapping[str, object], checks: pd.DataFrame) -> str:
    """Return a claim's row as one JSON object, its checks in the list `checks`."""
    import pandas as pd

    (row,) = objects(pd.DataFrame([judged]))
    row["checks"] = objects(checks)
    return json.dumps(row, indent=2, ensure_ascii=False)


def _check_lines(row: Mapping[Any, Any], about: About) -> str:
    answer = _answer(row)
    lines = [
        f"    read as: {row['condition']}\n    {answer}: {numbers(row)}"
        f" ({row['method'] or 'comparison'}; {models_behind(row, about)})",
        f"    from {row['evidence']}" if row["evidence"] else "",
        f"    caveats {row['caveats']}" if row["caveats"] else "",
        f"    {row['note']}" if row["note"] else "",
    ]
    return "\n".join(line for line in lines if line)


def _answer(row: Mapping[Any, Any]) -> str:
    """Return what a check says of its part, and whether it moves the verdict."""
    if not row["has_data"]:
        return coloured("no data")
    outcome = {True: "holds", False: "fails", None: "undecided"}[row["holds"]]
    if row["decides"]:
        return f"{row['kind']}, {coloured(outcome)}"
    return (
        f"{coloured(outcome)}, beside the verdict" if row["beside"] else "shown, moves no verdict"
    )


def numbers(row: Mapping[Any, Any]) -> str:
    """Return estimate, interval and p of one row, as far as it has them."""
    from analysis.tidy import prose

    parts = [prose.number(row["estimate"], 4)]
    if not math.isnan(row["conf_low"]):
        parts.append(prose.interval(row["conf_low"], row["conf_high"], 4))
    if not math.isnan(row["p_value"]):
        parts.append(prose.p_value(row["p_value"]))
    # Compared as printed: 1 less a rounding error is no other p than 1.
    p_value, p_holm = prose.p_value(row["p_value"]), row.get("p_holm", math.nan)
    if not math.isnan(p_holm) and prose.p_value(p_holm) != p_value:
        parts.append(f"{prose.p_value(p_holm)} adjusted over the readings")
    return ", ".join(parts).replace(prose.NO_BREAK, " ")


def models_behind(row: Mapping[Any, Any], about: About) -> str:
    """Return how many units, groups and, in another paper, rows entered."""
    from analysis.audit.about import About

    # How many rows a model of our own paper has is the method's to say.
    rows = int(row["n_obs"]) if about != About() else 0
    return about.counted(int(row["n_models"]), int(row["n_suites"]), rows)

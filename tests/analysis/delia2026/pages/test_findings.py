"""Numbers in the finding above a chart are counts of the rows that the chart draws."""

import itertools
import re

import numpy as np
import pandas as pd
import pytest

from analysis.delia2026.public import charts as public_charts
from analysis.delia2026.public import tokens
from analysis.delia2026.sign.claims_density import BAND
from analysis.delia2026.tournament import calibration, calibration_pages
from analysis.store import open_store
from tests.analysis.delia2026.pages import figures
from tests.analysis.places import ROOT

OF = re.compile(r"(\d+) of (\d+)")


@pytest.fixture(scope="module")
def public():
    return open_store(ROOT / "data" / "public")


#: Figures whose finding says shares that no rows have ("95 of 100"); each has a test of its own.
COUNTED_APART = {"fig-rules", "recipes-by-growth"}


def counts(spec):
    """Return the sizes of all groups of drawn rows: by their words, and by side of 1 or bound.

    Rows are counted, models, and models of which some rows lie on either side.
    """
    sizes = {0}
    for frame in frames(spec):
        every, models = pd.DataFrame(keys(frame), index=frame.index), names(frame)
        sizes |= {len(frame), models.nunique()}
        for size in (1, 2, 3):
            for chosen in itertools.combinations(every.columns, size):
                groups = models.groupby([every[it] for it in chosen], dropna=False)
                sizes |= {*groups.size(), *groups.nunique()}
        for key in every:
            sizes.add(
                sum(len(found) > 1 for _, found in every[key].groupby(models).unique().items())
            )
    return {int(size) for size in sizes}


def names(frame):
    """Return which model each row is of; where none is named, each is its own."""
    named = frame.get("model_id", frame.get("model"))
    return pd.Series(range(len(frame)), frame.index) if named is None else named


def keys(frame):
    """Return what rows may be grouped by: words of few kinds, and the side that they lie on."""
    kept = {name: frame[name] for name in frame if frame[name].map(type).eq(str).all()}
    kept = {name: key for name, key in kept.items() if 1 < key.nunique() <= 8}
    for name in {"gain_mean", "gain", "value"} & {*frame}:
        kept[f"{name}<1"] = frame[name] < 1
    for name in {"gain_mean", "gain"} & {*frame} if "bound" in frame else ():
        kept["exceeds"] = frame[name] > frame["bound"]
    if "relative_depth" in frame:
        kept["late"] = frame["relative_depth"] > 0.75
    if "rho" in frame:  # below the claimed band, in it, above it
        kept["band"] = (frame["rho"] >= BAND[0]).astype(int) + (frame["rho"] > BAND[1])
    if "norm_position" in frame:
        kept["post"] = frame["norm_position"] == "post"
    if "lab" in frame:
        kept["ours"] = frame["lab"] == "EleutherAI"
    return kept


def frames(spec):
    """Return the rows that are drawn; those of several panels as one frame, too."""
    alone = [pd.DataFrame(rows) for rows in spec["datasets"].values()]
    by_columns = {}
    for frame in alone:
        by_columns.setdefault(tuple(frame), []).append(frame)
    return alone + [pd.concat(several) for several in by_columns.values() if len(several) > 1]


def pairs(spec):
    said = spec["usermeta"]["finding"].replace("\xa0", " ")
    shares = [(int(x), int(y)) for x, y in OF.findall(said)]
    return shares, counts(spec) if shares else set()


def test_shares_in_a_finding_are_counts_of_what_is_drawn():
    every = figures.specs()
    assert every.keys() >= COUNTED_APART
    checked = 0
    for label in every.keys() - COUNTED_APART:
        shares, sizes = pairs(every[label])
        checked += len(shares)
        assert {n for share in shares for n in share} <= sizes, label
    assert checked >= 18


def test_the_finding_on_prompt_sets_counts_every_mark(public):
    gains = tokens.gains(public)
    chart = public_charts.chart_sets(gains).to_dict()
    shares, _ = pairs(chart)
    drawn = pd.concat(map(pd.DataFrame, chart["datasets"].values()))
    drawn = drawn[drawn.get("metric").notna()] if "metric" in drawn else drawn
    by_metric = drawn.groupby("metric")["gain"]
    expected = {(int((it < 1).sum()), len(it)) for _, it in by_metric}
    assert set(shares) == expected
    assert sum(n for _, n in shares) == len(drawn)


def test_power_is_crossed_where_the_line_drawn_crosses_it():
    rows = {"statement": "a", "source": "lab", "share": [0.0, 0.5, 0.9], "power": [0.1, 0.4, 0.9]}
    assert "82" in calibration_pages.finding(pd.DataFrame(rows))  # .5 + .4 (.8 - .4) / .5
    other = pd.DataFrame(rows).assign(statement="b", power=[0.1, 0.4, 0.8])  # a line of its own
    both = calibration_pages.finding(pd.concat([pd.DataFrame(rows), other]))
    assert "2 of 2" in both
    assert "82" in both
    low = pd.DataFrame(rows).assign(power=0.2)
    assert "at no percentage up to 90" in calibration_pages.finding(low)


def test_what_would_be_shown_is_drawn_as_the_table_has_it(shipped_store):
    rates = shipped_store.query("FROM calibrated_rate WHERE family = 'curve' AND truth = 'yes'")
    rows = calibration_pages.shown(calibration.curves(shipped_store))
    assert len(rows) == len(calibration_pages.SCENARIOS)
    for row in rows.to_dict("records"):
        cells = rates[(rates["statement"] == row["statement"]) & (rates["world"] == row["source"])]
        if row["source"] != "claimed order":
            cells = cells[cells["share"] == 0.8]
        assert row["bound"] == cells.loc[cells["rule"] == "bound", "share_yes"].item()
        assert row["power"] in cells.loc[cells["rule"] != "bound", "share_yes"].tolist()
        assert row["power"] <= row["bound"]
    chart = calibration_pages.chart_shown(rows).to_dict()
    said = [int(it) for it in re.findall(r"(\d+)\s%", chart["usermeta"]["finding"])]
    claimed = rows[rows["source"] == "claimed order"]
    assert said == [round(100 * claimed[name].max()) for name in ("power", "bound")]


def test_the_rule_never_confirms_the_ranking_but_does_deny_it(shipped_store):
    rates = shipped_store.query("FROM verdict_rate WHERE claim_id = 20 AND NOT wrong_labels")
    said = calibration_pages.answers(shipped_store)
    n_true = rates.loc[rates["verdict"] == "reproduced", "probability"].gt(0).sum()
    assert n_true == 0
    assert said["truths"].replace("\xa0", " ") == f"none of the {rates['truth'].nunique()}"
    denied = rates[rates["verdict"] == "contradicted"].sort_values("probability").iloc[-1]
    assert said["contradicted"].startswith(f"{100 * denied['probability']:.0f}")
    assert (denied["truth"], said["where"]) == ("density", "head density")


def test_what_no_test_shows_is_what_the_table_of_least_shares_lacks(shipped_store):
    least = calibration.least_shares(calibration.curves(shipped_store))
    assert calibration_pages.never(least) == "lab over geometry if labs explain the gain"
    assert calibration_pages.never(least.assign(share_bound=0.5)) == "none"


def titles(node):
    """Yield every title of an axis that has several lines."""
    if isinstance(node, dict):
        if isinstance(title := node.get("title"), list):
            yield title
        for name, value in node.items():
            yield from titles(value) if name != "datasets" else ()
    elif isinstance(node, list):
        for value in node:
            yield from titles(value)


def test_axes_of_gain_say_what_one_is():
    sided = [it for spec in figures.specs().values() for it in titles(spec)]
    sided = [it for it in sided if any("shorter" in line for line in it)]
    assert len(sided) >= 5
    assert all("1: length unchanged" in it for it in sided)


def test_gauges_are_counted():
    from analysis.delia2026.measured.gauge_charts import finding, together

    rows = [
        {"gauge": name, "layer": layer, "norm": float(np.exp(slope * layer))}
        for name, slope in (("a", 1.0), ("b", 2.0), ("c", -1.0))
        for layer in (0, 1)
    ]
    said = finding(pd.DataFrame(rows)).replace("\xa0", " ")
    assert "3 gauges" in said
    assert "shrinks in 1" in said
    assert "grows in 2" in said
    assert "level" not in said
    apart = pd.DataFrame(rows).assign(net=[1.0, 2, 1, 2, 1, 2])
    assert together(apart, "net", "net of it") == "Net of it all lie on one line."
    apart.loc[0, "net"] = 1.25
    assert "25.0 %" in together(apart, "net", "net of it").replace("\xa0", " ")


def test_real_models_beyond_the_bound_are_counted_once_each():
    from analysis.delia2026.reported.words import exceeding

    rows = pd.DataFrame(
        {"model_id": ["a", "a", "b", "c"], "gain": [1.3, 1.0, 1.2, 0.9], "bound": [1.1] * 4}
    ).assign(pooling="last_token")
    assert "1 of 3" in exceeding(rows)
    others = rows.assign(pooling=["last_token", "mean_norm", "last_token", "mean_norm"])
    assert "2 of 2" in exceeding(others)

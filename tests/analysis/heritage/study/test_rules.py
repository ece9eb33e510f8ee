"""Each registered rule on rows that lie just on either side of it, made without a store."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import hadamard

from analysis.heritage.study import registered
from analysis.heritage.study.verdict import HELD, MISSED, UNTOLD, verdict_on_heritage
from analysis.store import Store

RNG = np.random.default_rng(0)

#: Judges a statement on frames of runs by the name of the study.
Judge = Callable[..., registered.Outcome]


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> Judge:
    """Return what judges a statement by runs, or by a table of shares, that are given."""
    computed = {one.claim_id: one.compute for one in registered.PREDICTIONS}
    store: Any = None

    def judge(
        claim_id: str, runs: dict[str, pd.DataFrame], shares: pd.DataFrame | None = None
    ) -> registered.Outcome:
        def responses(_store: Store, study: str, **_where: str) -> pd.DataFrame:
            return runs[study]

        monkeypatch.setattr(registered.horizons, "responses", responses)
        for name in ("fleet_shares", "inherited_shares"):
            monkeypatch.setattr(registered, name, lambda *_: shares)
        return computed[claim_id](store, "equal steps", RNG)

    return judge


def shares_of(**ends: tuple[float, float, float]) -> pd.DataFrame:
    """Return a table of shares: estimate, both ends of the joint interval and df by source."""
    rows = pd.DataFrame(ends.values(), columns=["estimate", "conf_low", "conf_high"])
    return rows.assign(term=list(ends), method="F inversion, joint", df=7)


@pytest.mark.parametrize(
    ("claim_id", "first", "second", "holds"),
    [
        ("S1", (0.7, 0.51, 0.8), (0.2, 0.1, 0.50), True),
        ("S1", (0.7, 0.51, 0.8), (0.2, 0.1, 0.52), False),
        ("S1", (0.7, 0.49, 0.8), (0.2, 0.1, 0.30), False),
        ("S2", (0.7, 0.49, 0.8), (0.2, 0.1, 0.30), False),
        ("S3", (0.4, 0.30, 0.49), (0.2, 0.1, 0.3), True),
        ("S3", (0.4, 0.30, 0.51), (0.2, 0.1, 0.3), False),
        ("S3", (0.4, 0.30, 0.51), (0.41, 0.1, 0.6), True),
    ],
)
def test_shares_of_recipe_and_geometry_decide(
    judged: Judge,
    claim_id: str,
    first: tuple[float, float, float],
    second: tuple[float, float, float],
    holds: bool,
) -> None:
    table = shares_of(recipe=first, geometry=second)
    assert judged(claim_id, {}, table)[1] is holds


def test_birth_must_lie_above_the_upper_limit_of_upbringing(judged: Judge) -> None:
    table = shares_of(birth=(0.6, 0.5, 0.7), upbringing=(0.3, 0.2, 0.49))
    assert judged("S9", {}, table) == (
        {"estimate": 0.6, "conf_low": 0.5, "conf_high": 0.7, "n_groups": 8, "null_value": 0.49},
        True,
    )
    table = shares_of(birth=(0.6, 0.5, 0.7), upbringing=(0.3, 0.2, 0.51))
    assert not judged("S9", {}, table)[1]


def test_the_widest_bootstrap_interval_decides_whether_the_fleet_is_exact(judged: Judge) -> None:
    joint = shares_of(recipe=(0.5, 0.2, 0.8))
    drawn = shares_of(recipe=(0.5, 0.47, 0.53), geometry=(0.5, 0.46, 0.55))
    table = pd.concat([joint, drawn.assign(method="parametric bootstrap")])
    numbers, holds = judged("S11", {}, table)
    assert numbers["estimate"] == pytest.approx(0.045)
    assert holds
    assert not judged("S11", {}, table.assign(conf_high=0.6))[1]


@pytest.mark.parametrize(("p_values", "n_cells"), [((0.004, 0.006), 1), ((0.004, 0.0049), 2)])
def test_two_cells_must_be_negative_at_half_the_level_for_each_response(
    judged: Judge, monkeypatch: pytest.MonkeyPatch, p_values: tuple[float, ...], n_cells: int
) -> None:
    tables = {
        name: pd.DataFrame({"level": [cell, "other"], "p_adjusted": [p_value, 1.0]})
        for name, cell, p_value in zip(("excess", "last_log_gain"), "ab", p_values, strict=True)
    }
    monkeypatch.setattr(registered.signs, "negative_cells", lambda _runs, name: tables[name])
    runs = pd.DataFrame({"block": ["documented"]})
    assert judged("S6", {"packages": runs}) == (
        {"estimate": float(n_cells), "null_value": 2.0},
        n_cells > 1,
    )


@pytest.mark.parametrize("of_check", [True, False])
def test_the_five_largest_effects_must_foretell_other_cells(judged: Judge, of_check: bool) -> None:
    factors = list(registered.LOW.index)
    signs = np.tile(hadamard(32)[:, 1 : len(factors) + 1], (2, 1))
    levels = np.where(signs < 0, registered.LOW.to_numpy(), "high")
    effects = signs[:, :5] @ np.array([1.0, -1.1, 1.2, -1.3, 1.4])
    chance = np.tile(np.random.default_rng(0).normal(0, 0.01, 32), 2) + np.repeat([0.01, -0.01], 32)
    screened = pd.DataFrame(levels, columns=factors).assign(excess=effects + chance)
    others = screened[:8].assign(excess=effects[:8] if of_check else -effects[:8])
    numbers, holds = judged("S7", {"ingredients": screened, "ingredients_check": others})
    # Against the negative of what happens the squared error is that of twice the effects.
    expected = 1.0 if of_check else 1 - 4 * (effects[:8] ** 2).mean() / effects[:8].var()
    assert numbers["estimate"] == pytest.approx(expected, abs=0.05)
    assert holds is of_check


@pytest.mark.parametrize(("of_rate", "holds"), [(0.065, True), (0.062, False), (-0.065, False)])
def test_the_rate_must_make_half_of_the_published_slope(
    judged: Judge, of_rate: float, holds: bool
) -> None:
    signs = np.array(list(product((-1.0, 1.0), repeat=3)))
    depth, rate, decay = np.exp(signs).T
    noise = 1e-6 * signs.prod(axis=1)
    runs = pd.DataFrame({"n_layers": depth, "learning_rate": rate, "decay_turns": decay})
    runs["penultimate_log_gain"] = -signs[:, 0] + of_rate * signs[:, 1] + noise
    numbers, found = judged("S8", {"depth_and_rate": runs})
    # Suites lower ln(rate) by 1.2 for each unit of ln(depth); half of -0.153 is -0.0765.
    assert numbers["estimate"] == pytest.approx(-1.2 * of_rate)
    assert found is holds


def test_one_length_of_the_ladder_that_is_enough_suffices(judged: Judge) -> None:
    def rung(name: str, moved: float) -> list[dict[str, object]]:
        same = {"length": name, "of_recipe": "a", "reached": True}
        plain = [{**same, "sigma": "as said", "excess": value} for value in (0.0, 0.2)]
        return [*plain, {**same, "sigma": "half", "excess": moved}]

    # Two seeds 0.2 apart have a standard deviation of 0.141; the plain mean is 0.1.
    runs = pd.DataFrame(rung("t_50", 0.1 + 0.29) + rung("t_100", 0.1 - 0.28))
    numbers, holds = judged("S10", {"ladder": runs})
    assert numbers["estimate"] == pytest.approx(0.28 / 0.02**0.5)
    assert holds
    assert not judged("S10", {"ladder": runs[runs["length"] == "t_50"]})[1]


@pytest.mark.parametrize(
    ("order", "estimate", "holds"), [((1, 2, 3, 9, 4), 0.9, True), ((2, 1, 5, 4, 3), 0.5, False)]
)
def test_recipes_must_keep_their_ranks_on_another_text(
    judged: Judge, order: tuple[int, ...], estimate: float, holds: bool
) -> None:
    same = {"geometry": "l3d64", "heads": "w16", "status": "documented"}
    rows = [
        {**same, "recipe": recipe, "text": text, "excess": float(value)}
        for text, values in (("kjv", range(1, 6)), ("jargon", order))
        for recipe, value in zip("abcde", values, strict=True)
    ]
    strangers = [
        {**rows[0], name: "another", "excess": 100.0} for name in ("geometry", "heads", "status")
    ]
    numbers, found = judged("S12", {"packages": pd.DataFrame(rows + strangers)})
    assert numbers["estimate"] == pytest.approx(estimate)
    assert found is holds


@pytest.mark.parametrize(("shift", "holds"), [(-0.28, True), (-0.29, False), (0.29, False)])
def test_no_check_may_move_a_recipe_by_two_standard_deviations_between_seeds(
    judged: Judge, shift: float, holds: bool
) -> None:
    # Two seeds 0.2 apart in every cell have a standard deviation of 0.141.
    cells = product("ab", registered.SHAPES, (0, 1))
    packages = pd.DataFrame(cells, columns=["recipe", "geometry", "seed"])
    packages["excess"] = (packages["recipe"] == "b") + 0.2 * packages["seed"]
    rows = [("a", "plain", 0.0), ("a", "order", shift), ("b", "plain", 1.0), ("b", "order", 1.01)]
    threats = pd.DataFrame(rows, columns=["recipe", "check", "excess"])
    swept = packages.assign(block="swept", excess=100.0 * packages["seed"])
    both = pd.concat([packages.assign(block="documented"), swept])
    runs = {"packages": both, "threats": threats}
    numbers, found = judged("S13", runs)
    assert numbers["estimate"] == pytest.approx(abs(shift))
    assert numbers["null_value"] == pytest.approx(2 * 0.02**0.5)
    assert found is holds


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, [MISSED, HELD, MISSED, MISSED, UNTOLD]),
        ({"S4": [MISSED, MISSED]}, [HELD, MISSED, MISSED, MISSED, UNTOLD]),
        # Horizons that disagree confirm neither a statement nor its opposite.
        ({"S4": [HELD, MISSED]}, [MISSED, MISSED, MISSED, MISSED, UNTOLD]),
        ({"S2": [UNTOLD, HELD]}, [MISSED, UNTOLD, MISSED, MISSED, UNTOLD]),
        ({"S1": [UNTOLD, MISSED]}, [MISSED, MISSED, MISSED, MISSED, UNTOLD]),
        ({"S3": [HELD, HELD], "S7": [HELD, HELD]}, [MISSED, HELD, HELD, MISSED, HELD]),
        ({"S6": [MISSED, HELD]}, [MISSED, HELD, MISSED, MISSED, UNTOLD]),
        ({"S6": [MISSED, UNTOLD]}, [MISSED, HELD, MISSED, UNTOLD, UNTOLD]),
        ({"S6": [MISSED, MISSED]}, [MISSED, HELD, MISSED, HELD, UNTOLD]),
    ],
)
def test_the_statements_together_say_what_was_registered(
    changed: dict[str, list[str]], expected: list[str]
) -> None:
    both = {"S1": HELD, "S2": HELD, "S3": MISSED, "S4": HELD, "S6": HELD, "S7": UNTOLD}
    verdicts = {name: [verdict] * 2 for name, verdict in both.items()} | changed
    table = pd.DataFrame(
        [(name, verdict) for name, of_both in verdicts.items() for verdict in of_both],
        columns=["claim_id", "verdict"],
    )
    # The lab decides; the recipe does; geometry as much; recipes move no sign; the mechanism.
    assert [verdict for _, verdict in verdict_on_heritage(table)] == expected

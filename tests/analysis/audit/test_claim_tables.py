"""Tables of claims and quoted numbers are whole; numbers of a check are those of its rows."""

import importlib
import pickle
import re
import tomllib
from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis import audit as claims
from analysis.audit import claim_tables, evidence
from analysis.audit.claim import Claim, Line
from analysis.audit.evidence import checks, published, quoted
from analysis.audit.evidence.checks import Check, Label
from analysis.audit.examination import examined
from analysis.delia2026.declared import claim, claims_of
from analysis.delia2026.pages.register import CLAIMS
from analysis.delia2026.sign import readings
from analysis.forensics import rounding
from analysis.store import open_store
from analysis.tidy import numerals
from analysis.tidy.errors import AnalysisError, StoreError
from analysis.tidy.spreadsheet import to_csv
from tests.analysis.places import PUBLISHED, ROOT, SHARED

HOME = PUBLISHED
ONE = Claim(
    1,
    "mean",
    "It is 2.",
    lambda _: [],
    statement='"two, or so"',
    place="§1",
    lines=(Line("the mean", "mean gain", 2), Line("the mean", "p", 0.05, None, 0.1)),
)


def test_tables_that_are_absent_or_of_other_claims_are_named_and_written(tmp_path):
    assert claim_tables.differing(CLAIMS, HOME) == []
    assert len(claim_tables.tables(CLAIMS)) == 7
    assert claim_tables.tables({1: ONE}) == {
        "claim.csv": 'claim_id,statement,place\n1,"""two, or so""",§1\n',
        "claim_line.csv": "claim_id,part,measure,value,low,high\n"
        "1,the mean,mean gain,2,,\n1,the mean,p,0.05,,0.1\n",
    }
    assert claim_tables.differing({1: ONE}, tmp_path) == ["claim.csv", "claim_line.csv"]
    claim_tables.write({1: ONE}, tmp_path)
    assert claim_tables.differing({1: ONE}, tmp_path) == []
    assert claim_tables.differing({1: replace(ONE, place="§2")}, tmp_path) == ["claim.csv"]


def test_statements_that_only_the_table_has_are_not_overwritten(tmp_path):
    (tmp_path / "claim.csv").write_text("claim_id,statement,place\n2,three,\n")
    with pytest.raises(AnalysisError, match=r"without one: 2\."):
        claim_tables.write({1: ONE, 2: replace(ONE, claim_id=2, statement="")}, tmp_path)
    assert "three" in (tmp_path / "claim.csv").read_text()


ROOMS = ROOT / "analysis" / "delia2026"


def test_every_claim_has_words_and_a_function_once():
    modules = [path.relative_to(ROOT).with_suffix("") for path in ROOMS.glob("*/claims_*.py")]
    numbers = [
        one.claim_id
        for module in modules
        for one in claims_of(importlib.import_module(".".join(module.parts)))
    ]
    assert sorted(numbers) == [*CLAIMS]
    words = [tomllib.loads(path.read_text("utf-8")) for path in ROOMS.glob("*/claims.toml")]
    assert sorted(int(number) for room in words for number in room) == [*CLAIMS]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("", "missing: estimand, rule; unknown: none"),
        ('[1]\nestimand = "e"\nrule = "r"\nplac = "p"\n', "missing: none; unknown: plac"),
    ],
)
def test_words_that_are_missing_or_of_no_field_are_refused_with_their_file(tmp_path, words, named):
    (tmp_path / "claims.toml").write_text(words)
    module = ModuleType("claims_x")
    module.__file__ = str(tmp_path / "claims_x.py")

    def examine(_):
        return []

    examine.__module__ = module.__name__
    claim(1)(examine)
    with pytest.raises(AnalysisError, match=named) as refused:
        claims_of(module)
    assert str(tmp_path / "claims.toml") in refused.value.hint


PAPER = SHARED / "paper"

#: Printed inside the images, or counted in them, of which the text has only the captions.
IN_IMAGES = {"n_clipped"}

HEADER = "claim_id,place,quantity,subject,printed,unit,accuracy"


def test_every_quoted_row_belongs_to_a_claim_a_model_and_a_notebook(published_store):
    rows = quoted.quoted(published_store)
    known = set(published_store.query("FROM raw.claim")["claim_id"])
    assert set(rows["claim_id"]) <= known
    assert not rows.duplicated(["place", "quantity", "subject", "printed"]).any()
    words = ["notebook", "excluded_positional_scheme", "file_verdict", "file_test"]
    is_name = rows["quantity"].isin([*words, "layers_without_number"])
    for value in rows.loc[~is_name & (rows["printed"] != ""), "printed"]:
        rounding.read(value)
    rows = quoted.quoted(published_store)
    models = set(published_store.query("FROM raw.model")["model_id"])
    assert {name for name in rows["subject"] if "/" in name} <= models
    notebooks = set(published_store.query("FROM published_file")["notebook"].dropna())
    assert set(rows.loc[rows["quantity"] == "notebook", "printed"]) <= notebooks
    bars = quoted.at(published_store, "Fig. 2")
    assert (bars["accuracy"] > 0).all()
    assert quoted.text(published_store, "§5.5", "gain", "google/gemma-7b") == "2.32"


@pytest.mark.parametrize(("source", "n_elsewhere"), [("quotations", 12), ("documents", 0)])
def test_what_is_quoted_is_printed_in_the_paper(published_store, source, n_elsewhere):
    """Of the quotations that are shipped some numbers stand in another sentence or table."""
    if source == "documents" and not PAPER.is_dir():
        pytest.skip(f"the paper's text is not at {PAPER}")
    text = "\n".join(published_store.query("FROM claim_quotation")["quotation"])
    if source == "documents":
        text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(PAPER.glob("*.md")))
    plain = re.sub(r"[\\${}]", "", numerals.plain(text)).replace(" times", "×")
    rows = quoted.quoted(published_store)
    in_a_file = rows["place"].str.endswith(".json")
    printed = rows[rows["accuracy"].isna() & ~rows["quantity"].isin(IN_IMAGES) & ~in_a_file]
    digits = printed["printed"].map(lambda value: numerals.plain(value).rstrip("× "))
    assert len(digits) > 60
    assert sum(each not in plain for each in digits) == n_elsewhere


def test_a_store_without_them_has_no_quoted_number(tiny_store):
    assert quoted.quoted(tiny_store).empty
    with pytest.raises(LookupError, match=r"the p_value printed in §4.2 is not in the store"):
        quoted.text(tiny_store, "§4.2", "p_value")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("claim_id,place\n1,x\n", "columns of table quoted_number; missing: quantity, subject"),
        (f"{HEADER}\none,x,y,z,1,1,\n", "invalid value 'one'"),
        (
            f"{HEADER}\n1,x,y,z,1,1,-0.5\n",
            "CHECK constraint .accuracy > 0. not met by the row of claim_id 1",
        ),
    ],
)
def test_a_damaged_file_is_refused(tmp_path, content, reason):
    (tmp_path / "quoted_number.csv").write_text(content)
    with pytest.raises(StoreError, match=reason):
        open_store(tmp_path)


@pytest.fixture(scope="module")
def store_raw(imported):
    store = open_store(PUBLISHED, ROOT / "data/sample", imported)
    yield store
    store.connection.close()


def test_with_the_raw_files_every_check_comes_out_alike(store_raw, judged, made):
    again = claims.examine(store_raw, CLAIMS)
    assert to_csv(claims.evaluate(store_raw, CLAIMS, made=again)) == to_csv(judged)
    assert repr(again) == repr(made)
    read, imported = (
        store_raw.query(f"SELECT file, path, value FROM {table} ORDER BY ALL")
        for table in ("raw_value", "published_value")
    )
    pd.testing.assert_frame_equal(read, imported)


def test_shipped_values_name_their_claims_and_three_of_25_change_sides(published_store):
    gains = evidence.raw_values(published_store, "gain_last_block", [evidence.TWINS])
    expands = gains.set_index(["model_id", "prompt_id"])["value"] > 1
    base, tuned = "mistralai/Mistral-7B-v0.1", "mistralai/Mistral-7B-Instruct-v0.2"
    assert len(expands[base]) == 25
    assert int((expands[base] != expands[tuned]).sum()) == 3
    named = published_store.query("SELECT DISTINCT claims FROM published_excerpt")["claims"]
    assert {int(number) for joined in named for number in joined.split(",")} <= set(CLAIMS)


ROWS = pd.DataFrame(
    {"model_id": list("aabc"), "suite": list("xxxy"), "file": "f", "caveats": ["B2,B10", *"   "]}
)


@pytest.mark.parametrize("null", [0.0, 2.0])
def test_the_interval_and_the_p_of_a_mean_are_those_of_t(null):
    values = pd.Series([0.3, 1.7, -0.4, 2.2, 0.9])
    expected = stats.ttest_1samp(values, null)
    ends = expected.confidence_interval(0.95)
    result = checks.mean_of(values, null)
    assert result["estimate"] == pytest.approx(0.94)
    assert result["p_value"] == pytest.approx(expected.pvalue, rel=1e-12)
    assert (result["conf_low"], result["conf_high"]) == pytest.approx((ends.low, ends.high))


def test_intervals_of_means_are_those_of_t_where_there_are_any():
    one = checks.mean_of(pd.Series([0.5]), 0.0)
    assert np.isnan([one["conf_low"], one["conf_high"], one["p_value"]]).all()
    equal = checks.mean_of(pd.Series([0.5, 0.5]), 0.0)
    assert (equal["conf_low"], equal["conf_high"]) == (0.5, 0.5)
    assert np.isnan(equal["p_value"])
    gains = pd.DataFrame(
        {"gain_mean": [1.2, 0.9], "gain_sd": [0.1, None], "n_prompts": [25, 25]}
    ).astype({"gain_sd": float})
    result = published.with_interval(gains)
    # The 97.5 % point of t with 24 degrees of freedom is 2.0639.
    half = 2.0638985616 * 0.1 / 5
    assert result["conf_low"].iloc[0] == pytest.approx(1.2 - half, rel=1e-9)
    assert result["conf_high"].iloc[0] == pytest.approx(1.2 + half, rel=1e-9)
    assert result[["conf_low", "conf_high"]].iloc[1].isna().all()


def test_a_share_has_an_interval_only_as_a_sample():
    made = [
        checks.share_check("p", "c", 4, ROWS, holds=True, method="m", is_sample=is_sample)
        for is_sample in (True, False)
    ]
    # All of four: the lower end is the fourth root of 0.025.
    assert (made[0].estimate, made[0].conf_low, made[0].conf_high) == pytest.approx(
        (1, 0.025**0.25, 1)
    )
    assert np.isnan([made[1].conf_low, made[1].conf_high]).all()
    assert [one.method for one in made] == [
        "m, Clopper-Pearson interval as if models were independent",
        "m",
    ]
    assert (made[0].n_obs, made[0].n_models, made[0].n_suites) == (4, 3, 2)
    assert made[0].caveats == ("B2", "B10")


@pytest.mark.parametrize(("in_paper", "holds"), [(True, True), (False, None)])
def test_a_check_on_ours_decides_where_all_models_are_theirs(in_paper, holds):
    rows = ROWS.assign(in_paper=[True, True, True, in_paper])
    result = checks.on_ours(checks.check("p", "c", True, rows, note="why."), rows)
    assert (result.holds, result.decides) == (holds, in_paper)
    assert (checks.NOT_THEIRS in result.note) is not in_paper
    assert result.note.startswith("why.")


def test_labels_join_words_and_ids_and_two_of_one_id_are_refused(published_store):
    joined = Label("fisher", "Fisher; ") + Label("hunt", "the hunt") + ", all"
    assert (joined, joined.id) == ("Fisher; the hunt, all", "fisher_hunt")
    again = pickle.loads(pickle.dumps(joined))
    assert (again, again.id) == (joined, joined.id)
    assert Check(Label("bound", "a bound"), joined, True).id == "bound_fisher_hunt"
    assert Check("a bound", "All models", True).id == "a_bound_all_models"
    twice = Claim(1, "q", "r", lambda _: [Check("p", "c", True), Check("p", "c", True)])
    with pytest.raises(AnalysisError, match="'p_c'"):
        examined(twice, published_store)


def gains(**of_models):
    return pd.DataFrame({"model_id": list(of_models), "gain_mean": list(of_models.values())})


def test_readings_with_the_same_rows_are_one_check_that_names_them():
    sets = {
        "all": gains(a=0.9, b=1.2),
        "all, in another order": gains(b=1.2, a=0.9),
        "fewer": gains(b=1.2),
        "other gains": gains(a=0.9, b=1.3),
    }
    judged = readings.each_once(
        sets, lambda condition, rows: Check("part", condition, True, note=f"{len(rows)} models.")
    )
    assert [(check.condition, check.note) for check in judged] == [
        ("all", "2 models. The same rows: all, in another order."),
        ("fewer", "1 models."),
        ("other gains", "2 models."),
    ]


@pytest.mark.parametrize("claim_id", [9, 22, 23])
def test_no_two_checks_of_a_claim_rest_on_the_same_models(shipped_store, claim_id):
    rows = claims.checks(shipped_store, claim_id, CLAIMS)
    counted = rows[~rows["condition"].str.startswith("beyond these models")]
    assert not counted.duplicated(["term", "method", "estimate", "n_models", "evidence"]).any()


def test_a_check_has_the_caveats_of_all_rows_it_used_and_each_is_explained(shipped_store, judged):
    explained = set(shipped_store.query("FROM caveat")["caveat_id"])
    named = {name for joined in judged["caveats"] for name in joined.split()}
    assert named
    assert named <= explained
    rows = pd.DataFrame(
        {"model_id": ["a", "b", "c"], "suite": ["s", "s", "t"], "file": ["f", "f", "g"]}
        | {"caveats": ["B3,B16", "B1", ""]}
    )
    result = evidence.check("part", "reading", True, rows)
    assert result.caveats == ("B1", "B3", "B16")
    assert evidence.check("part", "reading", True, rows.iloc[2:]).caveats == ()
    # B2 touches Pythia and BLOOM, whose fused matrices were cut in the wrong place.
    weights = evidence.figures(shipped_store, "weight_spectral_v")
    touched = weights["caveats"].str.contains("B2")
    suites = set(weights.loc[touched, "suite"])
    assert suites == {"Pythia", "BLOOM"}
    assert not suites & set(weights.loc[~touched, "suite"])

"""The verdict rule, the committed verdicts, and what models measured here may decide."""

import io

import numpy as np
import pandas as pd
import pytest

from analysis import audit as claims
from analysis.audit import committed, evidence
from analysis.audit.claim import (
    NOT_ROBUST,
    OPEN_BESIDE,
    OTHERWISE,
    adjusted,
    counted,
    reading,
    verdict,
)
from analysis.audit.evidence import quoted
from analysis.audit.evidence.checks import Check
from analysis.delia2026.depth import claims_law as depth
from analysis.delia2026.pages.register import CLAIMS
from analysis.delia2026.sign import claims_benchmark as benchmark
from analysis.delia2026.sign import claims_finetuning as finetuning
from analysis.delia2026.sign import claims_heritage as heritage
from analysis.delia2026.sign import threshold
from analysis.store import open_store
from analysis.tidy.errors import AnalysisError, StoreError
from analysis.tidy.spreadsheet import to_csv
from collect import schema
from collect.record.writer import write_table
from tests.analysis.places import ROOT

YES, NO, UNDECIDED = (
    Check("part", "reading", True),
    Check("part", "other reading", False),
    Check("part", "third reading", None),
)
OTHER_YES, OTHER_NO = Check("other", "reading", True), Check("other", "reading", False)


MISSING = evidence.missing("part", "fourth reading", "there is no file")
OTHER_MISSING = evidence.missing("other", "reading", "there is no file")
OTHER_UNDECIDED = Check("other", "reading", None)
SHOWN = evidence.descriptive(NO)


@pytest.mark.parametrize(
    ("checks", "expected", "how"),
    [
        ([], "no data", ""),
        ([MISSING], "no data", ""),
        ([YES], "reproduced", ""),
        ([NO], "contradicted", ""),
        ([UNDECIDED], "undecided", ""),
        # Readings of one part: the first is the stated one, and no other takes its place.
        ([YES, NO], "depends on the reading", NOT_ROBUST),
        ([NO, YES], "depends on the reading", OTHERWISE),
        ([UNDECIDED, YES], "depends on the reading", OTHERWISE),
        ([MISSING, NO, YES], "depends on the reading", OTHERWISE),
        ([YES, UNDECIDED], "reproduced", ""),
        ([YES, MISSING], "reproduced", ""),
        ([NO, UNDECIDED], "contradicted", ""),
        ([UNDECIDED, NO], "undecided", ""),
        ([YES, SHOWN], "reproduced", ""),
        ([SHOWN, YES], "reproduced", ""),
        ([SHOWN], "no data", ""),
        # Parts: the most telling one decides, and one that cannot be tested hides no other.
        ([YES, OTHER_YES], "reproduced", ""),
        ([YES, OTHER_NO], "contradicted", ""),
        ([UNDECIDED, OTHER_NO], "contradicted", ""),
        ([MISSING, OTHER_NO], "contradicted", ""),
        ([YES, NO, OTHER_NO], "contradicted", ""),
        ([YES, NO, OTHER_YES], "depends on the reading", NOT_ROBUST),
        # As stated: the stated reading of every part holds.
        ([YES, NO, OTHER_MISSING], "depends on the reading", OPEN_BESIDE),
        ([YES, NO, OTHER_UNDECIDED], "depends on the reading", OPEN_BESIDE),
        ([YES, NO, OTHER_MISSING, OTHER_YES], "depends on the reading", OTHERWISE),
        ([YES, NO, OTHER_MISSING, OTHER_NO], "depends on the reading", OPEN_BESIDE),
        ([MISSING, YES], "depends on the reading", OTHERWISE),
        ([MISSING, NO], "no data", ""),
        ([MISSING, NO, UNDECIDED], "no data", ""),
        # What is of another kind than the claim is said beside the verdict and moves nothing.
        ([YES, evidence.beside(NO, "not the number")], "reproduced", "not the number"),
        ([NO, evidence.beside(OTHER_YES, "but the law")], "contradicted", "but the law"),
        ([NO, YES, evidence.beside(OTHER_NO, "x")], "depends on the reading", f"{OTHERWISE}; x"),
        ([YES, OTHER_UNDECIDED], "undecided", ""),
        ([MISSING, OTHER_UNDECIDED], "undecided", ""),
        ([YES, OTHER_MISSING], "no data", ""),
    ],
)
def test_the_verdict_follows_from_parts_and_readings(checks, expected, how):
    assert verdict(checks) == expected
    assert reading(checks) == how


def with_p(condition, p_value, *, holds=True, kind=None):
    return Check("part", condition, holds, p_value=p_value, n_obs=9, kind=kind)


def test_a_reading_found_by_looking_often_does_not_hold():
    # Holm over three p: 3 x 0.02, then 0.3 and 0.5; one look alone would have held.
    looked = [with_p("a", 0.5, holds=None), with_p("b", 0.02), with_p("c", 0.3, holds=None)]
    assert adjusted(looked) == pytest.approx([0.6, 0.06, 0.6])
    assert verdict(looked) == "undecided"
    assert verdict(looked[:2]) == "depends on the reading"
    # The stated reading is looked at once, and a printed value is no test.
    assert verdict([looked[1], looked[0], looked[2]]) == "reproduced"
    assert verdict(looked, "value") == "depends on the reading"
    twice = [with_p("a", 0.02), with_p("b", 0.02), evidence.descriptive(with_p("c", 0.01))]
    assert adjusted(twice)[:2] == pytest.approx([0.02, 0.02])
    assert np.isnan(adjusted(twice)[2])
    assert np.isnan(adjusted([YES, NO])).all()


def test_a_reading_that_fails_by_looking_often_contradicts_nothing():
    # The stated reading fails with .02, which Holm over three p makes .06.
    stated = with_p("a", 0.02, holds=False)
    others = [with_p("b", 0.3, holds=None), with_p("c", 0.5, holds=None)]
    assert counted([stated, *others]) == [None, None, None]
    assert verdict([stated, *others]) == "undecided"
    # Alone, or against one other, it is beyond what looking twice could find.
    assert verdict([stated]) == verdict([stated, others[0]]) == "contradicted"
    # What is needed stands by itself: the same p for the claim holds, and another reading that
    # fails by looking often does not make it depend on the reading.
    assert verdict([with_p("a", 0.02), *others]) == "reproduced"
    failing = with_p("d", 0.03, holds=False)
    assert verdict([with_p("a", 0.02), *others, failing]) == "reproduced"
    # A fact about the models at hand fails with any p, and a printed value is no test.
    fact = with_p("e", 0.7, holds=False)
    assert verdict([fact, *others]) == "contradicted"
    assert verdict([stated, *others], "value") == "contradicted"
    readings = [with_p("a", 0.03, holds=False), with_p("b", 0.04, holds=None)]
    # Of a printed value the p is no test: what does not print as stated fails.
    assert claims.check_rows(readings, "value")["holds"].tolist() == [False, None]
    rows = claims.check_rows(readings, "difference")
    assert rows["holds"].tolist() == [None, None]
    assert rows["note"].tolist() == [
        "Alone it fails; one of many readings, it decides nothing at its adjusted p.",
        "",
    ]


def test_each_claim_has_one_row_whose_numbers_are_the_committed_ones_bit_for_bit(
    shipped_store, judged
):
    quoted = shipped_store.query("FROM raw.claim").set_index("claim_id")["statement"]
    assert judged["claim_id"].tolist() == list(CLAIMS)
    assert judged["statement"].tolist() == quoted[judged["claim_id"]].tolist()
    assert set(judged["verdict"]) <= set(claims.VERDICTS)
    pd.testing.assert_frame_equal(claims.evaluate(shipped_store, CLAIMS), judged, check_exact=True)
    committed = pd.read_csv(ROOT / "reports/claims.csv", keep_default_na=True)
    again = pd.read_csv(io.StringIO(to_csv(judged)))
    # The last digits of a bootstrap quantile may differ between machines.
    pd.testing.assert_frame_equal(again, committed, rtol=1e-6)


def test_an_unknown_claim_and_a_store_without_statements_are_refused(tiny_store):
    with pytest.raises(AnalysisError, match="999 is not") as refusal:
        claims.claim(999, CLAIMS)
    assert refusal.value.hint == f"Choose from 1 to {max(CLAIMS)}."
    with pytest.raises(StoreError, match="must hold the statement of claim 1"):
        claims.evaluate(tiny_store, CLAIMS)


def test_numbers_in_the_code_of_claims_are_those_quoted(shipped_store):
    printed = quoted.quoted(shipped_store)
    order = printed[(printed["claim_id"] == 18) & (printed["quantity"] == "gain")]
    order = order.sort_values("printed")
    assert [*benchmark.ORDER.items()] == [*zip(order["subject"], order["printed"], strict=True)]
    correlation, p_value = (
        quoted.text(shipped_store, "Fig. 1", name, "Pythia") for name in ("correlation", "p_value")
    )
    assert depth.QUOTED["estimate"] == correlation.replace("−", "-")
    assert depth.QUOTED["p_value"] == p_value.removeprefix("= ")


# The numbers below are counted by hand from the raw result files.


def test_base_models_keep_the_figure_over_most_prompts(shipped_store):
    rows = evidence.penultimate_or_last(shipped_store).set_index("model_id")
    assert rows.loc["EleutherAI/gpt-j-6b", "metric"] == "gain_penultimate_block"
    assert rows.loc["google/gemma-7b", "metric"] == "gain_last_block"
    assert rows.index.is_unique
    gains = evidence.base_gains(shipped_store, "gain_maximum")
    row = gains.set_index("model_id").loc["EleutherAI/pythia-6.9b"]
    assert (row["n_prompts"], row["file"]) == (25, evidence.PYTHIA)
    gains = evidence.published_gains(shipped_store, "gain_penultimate_block")
    chosen = evidence.base_models(gains).set_index("model_id")
    assert chosen.loc["EleutherAI/pythia-6.9b", "n_prompts"] == 25
    assert chosen.index.is_unique


def test_checks_name_files_of_the_store_and_the_least_p_of_a_reading(shipped_store, made):
    known = set(shipped_store.query("FROM published_file")["file"])
    for checks in made.values():
        named = [name for check in checks for name in check.evidence]
        files = {name for name in named if name.endswith((".json", ".csv"))}
        assert files <= known
    by_models, by_suites = heritage.least_p(shipped_store, "hunt")
    # Six of 16 dampen and five are of the lab: 6 of 4368 tables are as extreme as can be.
    assert by_models == pytest.approx(6 / 4368)
    # Three of seven suites are EleutherAI's: one of 35 assignments.
    assert by_suites == pytest.approx(1 / 35)
    rows = evidence.figures(shipped_store, "weight_spectral_v")
    models = rows.assign(size=rows["mean"], dampens=rows["lab"] == "EleutherAI")
    assert threshold.separation("part", "c", models).holds is not None
    shown = threshold.separation("part", "c", models, counts=False, tests=False)
    assert shown.holds is None
    assert shown.p_value != shown.p_value


def test_what_a_cancelling_sum_leaves_is_no_difference():
    def of(*estimates):
        return pd.DataFrame({"claim_id": range(len(estimates)), "estimate": estimates})

    before, after = of(2e-16, 1.0, 0.0, 0.02), of(0.0, 1.0 + 1e-9, 1e-9, 0.022)
    result = committed.differences(before, after, ["estimate"])
    assert result["claim_id"].tolist() == [2, 3]


BASE, TUNED, OTHER = "test/tiny", "test/tiny-it", "another/model"
TABLES = ("model", "residual_norm", "next_token", "run")


@pytest.fixture
def twins(tiny_copy):
    """Return a directory with a dampening model and a fine-tuned one, gains 0.5 and 0.6."""
    for table in TABLES:
        for path in sorted((tiny_copy / table).glob("*.parquet")):
            rows = pd.read_parquet(path)
            write_table(table, dampening(table, rows, 0.5), path)
            tuned = dampening(table, rows, 0.6).assign(model_id=TUNED)
            if table == "model":
                tuned["base_model_id"] = BASE
                tuned = pd.concat([tuned, rows.assign(model_id=OTHER)])
            if "run_id" in tuned:
                tuned["run_id"] += "-tuned"
            write_table(table, tuned, path.with_stem(f"{path.stem}-it"))
    return tiny_copy


def dampening(table, rows, gain):
    """Set the last block's gain at the last token to about the one named."""
    if table != "residual_norm":
        return rows.copy()
    last = (rows["site"] == "block_output") & (rows["layer"] == 2)
    # The last tokens of the two prompts are 6 and 1 long before the last block.
    lengths = rows["prompt_id"].map({"S:00": 6 * gain, "S:01": 1.01 * gain})
    return rows.assign(norm=rows["norm"].where(~last, lengths))


def with_figures_of(directory, model_id):
    columns = [column.name for column in schema.tables()["published_figure"].columns]
    row = {"model_id": model_id, "metric": "gain_last_block", "prompt_set": "S", "dtype": "fp32"}
    row |= {"file": "f", "path": "$", "mean": 0.5, "n": 2, "unit": "ratio", "caveats": ""}
    figures = pd.DataFrame([row]).reindex(columns=columns)
    figures.to_csv(directory / "published_figure.csv", index=False)
    return open_store(directory)


def measured(store):
    rows = claims.checks(store, 49, CLAIMS)
    return rows[rows["condition"] == "models measured here, gain of the last block"]


def test_a_measured_dampener_of_the_paper_decides_and_another_pair_is_shown_only(
    twins, shipped_store
):
    result = measured(with_figures_of(twins, BASE))
    assert result["term"].tolist() == [finetuning.DAMPENER]
    assert result["holds"].tolist() == [True]
    assert result["note"].tolist() == ["tiny-it 0.50 to 0.60."]
    assert result["evidence"].tolist() == [evidence.OURS]
    result = measured(with_figures_of(twins, OTHER))
    assert result["estimate"].tolist() == [1.0]
    assert result["holds"].tolist() == [None]
    assert result["note"].item().endswith(evidence.NOT_THEIRS)
    ours = evidence.measured_gains(shipped_store, "gain_last_block")
    assert len(ours) == 12
    assert not ours["in_paper"].any()
    both = evidence.measured_gains(with_figures_of(twins, BASE), "gain_last_block")
    assert dict(zip(both["model_id"], both["in_paper"], strict=True)) == {BASE: True, TUNED: False}


def test_an_invariant_gain_is_another_reading_only_where_it_differs():
    rows = pd.DataFrame(
        {"in_paper": True, "gain_mean": [0.9, 1.2, 0.8], "gain_primary": [1.1, 1.2, None]}
    )
    check = evidence.Check("part", "condition", True, note="Seen.")
    result = evidence.on_ours(check, rows)
    assert result.note.startswith("Seen. In 1 of 2 the gain that is a property of the network")
    assert evidence.on_ours(check, rows[1:]).note == "Seen."
    rows = pd.DataFrame({"gain_mean": [0.9, 1.2], "gain_mean_primary": [0.9 + 1e-12, 1.2]})
    assert list(evidence.definitions(rows, ["gain_mean"])) == [""]
    apart = rows.assign(gain_mean_primary=[1.1, None], gain_primary=1.0)
    read = evidence.definitions(apart, ["gain_mean"], words="partner")
    assert list(read) == ["partner", ""]
    assert read["partner"]["gain_mean"].tolist() == [1.1]
    assert "gain_primary" not in read["partner"]
    assert read[""] is apart
    spread = rows.assign(gain_sd=[0.1, 0.2], gain_sd_primary=[0.1, 0.3])
    assert list(evidence.definitions(spread, ["gain_mean", "gain_sd"])) == [evidence.INVARIANT, ""]


def layer_normed(directory, centred_after_tuning):
    """Make both models of `twins` LayerNorm networks, with other centred gains than raw ones.

    The centred gain of the last block is 0.9 in the base model and as given in the tuned one.
    """
    for path in (directory / "model").glob("*.parquet"):
        write_table("model", pd.read_parquet(path).assign(norm_kind="LayerNorm"), path)
    for path in (directory / "residual_norm").glob("*.parquet"):
        rows = pd.read_parquet(path)
        gain = centred_after_tuning if path.stem.endswith("-it") else 0.9
        last = (rows["site"] == "block_output") & (rows["layer"] == 2)
        # Centred, the last tokens of the two prompts are 3 and 1/2 long before the last block.
        lengths = rows["prompt_id"].map({"S:00": 3 * gain, "S:01": 0.505 * gain})
        write_table(
            "residual_norm",
            rows.assign(norm_centred=rows["norm_centred"].where(~last, lengths)),
            path,
        )
    return directory


def test_under_layer_norm_the_invariant_gain_is_read_first_and_the_published_one_beside_it(twins):
    store = with_figures_of(layer_normed(twins, 1.5), BASE)
    rows = claims.checks(store, 49, CLAIMS)
    result = rows[rows["condition"].str.startswith(finetuning.MEASURED)]
    assert result["condition"].tolist() == [
        finetuning.MEASURED + evidence.INVARIANT,
        finetuning.MEASURED,
    ]
    # From 0.9 to 1.5 a dampener turns; by the published gains, 0.5 and 0.6, it stays one.
    assert result["holds"].tolist() == [False, True]
    assert result["note"].tolist()[0].startswith("tiny-it 0.90 to 1.51")
    assert verdict(CLAIMS[49].examine(store), CLAIMS[49].kind) == "depends on the reading"


def test_measured_gains_are_read_with_their_invariant_partners(made, shipped_store):
    read = {
        claim_id
        for claim_id, checks in made.items()
        if any(evidence.INVARIANT.removeprefix(", ") in check.condition for check in checks)
    }
    # 19, 49, 54 and 56 are about models that are not in the sample.
    assert read == {13, 25, 57, 60}
    result = evidence.measured_gains(shipped_store, "gain_last_block").set_index("model_id")
    gains = shipped_store.query(
        """
        SELECT g.model_id, exp(g.log_gain_primary) AS gain
          FROM primary_gain AS g JOIN primary_run AS r USING (run_id)
         WHERE g.metric = 'gain_last_block'
        """
    ).groupby("model_id")["gain"]
    assert result["gain_mean_primary"].to_dict() == pytest.approx(gains.mean().to_dict(), rel=1e-12)
    assert result["gain_sd_primary"].to_dict() == pytest.approx(gains.std().to_dict(), rel=1e-9)

"""What models measured here may decide: only claims about models that the paper has too."""

import pandas as pd
import pytest

from analysis import audit as claims
from analysis.audit import evidence
from analysis.audit.claim import verdict
from analysis.heritage.pages.register import CLAIMS
from analysis.heritage.sign import claims_finetuning as finetuning
from analysis.store import open_store
from collect import schema
from collect.record.writer import write_table

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


def test_a_measured_dampener_of_the_paper_decides_and_another_pair_is_shown_only(twins):
    result = measured(with_figures_of(twins, BASE))
    assert result["term"].tolist() == [finetuning.DAMPENER]
    assert result["holds"].tolist() == [True]
    assert result["note"].tolist() == ["tiny-it 0.50 to 0.60."]
    assert result["evidence"].tolist() == [evidence.OURS]
    result = measured(with_figures_of(twins, OTHER))
    assert result["estimate"].tolist() == [1.0]
    assert result["holds"].tolist() == [None]
    assert result["note"].item().endswith(evidence.NOT_THEIRS)


def test_measured_gains_tell_whose_models_they_are(shipped_store, twins):
    ours = evidence.measured_gains(shipped_store, "gain_last_block")
    assert len(ours) == 12
    assert not ours["is_theirs"].any()
    both = evidence.measured_gains(with_figures_of(twins, BASE), "gain_last_block")
    assert dict(zip(both["model_id"], both["is_theirs"], strict=True)) == {BASE: True, TUNED: False}


def test_a_note_says_where_the_invariant_gain_lies_on_the_other_side():
    rows = pd.DataFrame(
        {"is_theirs": True, "gain_mean": [0.9, 1.2, 0.8], "gain_primary": [1.1, 1.2, None]}
    )
    check = evidence.Check("part", "condition", True, note="Seen.")
    result = evidence.on_ours(check, rows)
    assert result.note.startswith("Seen. In 1 of 2 the gain that is a property of the network")
    assert evidence.on_ours(check, rows[1:]).note == "Seen."


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
    (claim,) = (one for one in finetuning.CLAIMS if one.claim_id == 49)
    assert verdict(claim.examine(store), claim.kind) == "depends on the reading"


def test_definitions_that_agree_are_one_reading():
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

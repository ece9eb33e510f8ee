"""What models measured here may decide: only claims about models that the paper has too."""

import pandas as pd
import pytest

from analysis import claims, evidence
from analysis.claims.sign import finetuning
from analysis.store import open_store
from collect import schema
from collect.record.writer import write_table

BASE, TUNED = "test/tiny", "test/tiny-it"
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
    rows = claims.checks(store, 49)
    return rows[rows["condition"] == "models measured here, gain of the last block"]


def test_a_dampener_of_the_paper_that_was_measured_decides(twins):
    found = measured(with_figures_of(twins, BASE))
    assert found["term"].tolist() == [finetuning.DAMPENER]
    assert found["holds"].tolist() == [True]
    assert found["note"].tolist() == ["tiny-it 0.50 to 0.60."]
    assert found["evidence"].tolist() == [evidence.OURS]


def test_a_pair_the_paper_does_not_have_is_shown_only(twins):
    found = measured(with_figures_of(twins, "another/model"))
    assert found["estimate"].tolist() == [1.0]
    assert found["holds"].tolist() == [None]
    assert found["note"].item().endswith(evidence.NOT_THEIRS)


def test_a_store_without_pairs_says_nothing_of_them(shipped_store):
    assert measured(shipped_store).empty


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
    found = evidence.on_ours(check, rows)
    assert found.note.startswith("Seen. In 1 of 2 the gain that is a property of the network")
    assert evidence.on_ours(check, rows[1:]).note == "Seen."

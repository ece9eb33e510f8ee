"""The values shipped of the paper's raw files decide as the raw files themselves do."""

from pathlib import Path

import pandas as pd
import pytest

from analysis import audit as claims
from analysis.audit import evidence
from analysis.heritage.pages.register import CLAIMS
from analysis.store import open_store
from analysis.tidy.spreadsheet import to_csv

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def store_raw(imported):
    store = open_store(ROOT / "data/published", ROOT / "data/sample", imported)
    yield store
    store.connection.close()


def test_with_the_raw_files_every_claim_comes_out_alike(store_raw, judged):
    assert to_csv(claims.evaluate(store_raw, CLAIMS)) == to_csv(judged)


def test_an_imported_file_stands_in_for_what_is_shipped_of_it(store_raw):
    read, imported = (
        store_raw.query(f"SELECT file, path, value FROM {table} ORDER BY ALL")
        for table in ("raw_value", "published_value")
    )
    pd.testing.assert_frame_equal(read, imported)


def test_shipped_values_decide_what_means_alone_leave_open(judged):
    verdicts = judged.set_index("claim_id")["verdict"]
    assert not {"no data", "undecided"} & set(verdicts[[28, 30]])


def test_three_of_25_prompts_of_mistral_change_sides_by_tuning(published_store):
    gains = evidence.raw_values(published_store, "gain_last_block", [evidence.TWINS])
    expands = gains.set_index(["model_id", "prompt_id"])["value"] > 1
    base, tuned = "mistralai/Mistral-7B-v0.1", "mistralai/Mistral-7B-Instruct-v0.2"
    assert len(expands[base]) == 25
    assert int((expands[base] != expands[tuned]).sum()) == 3


def test_each_shipped_value_names_a_claim_that_can_be_judged(published_store):
    named = published_store.query("SELECT DISTINCT claims FROM published_excerpt")["claims"]
    assert {int(number) for joined in named for number in joined.split(",")} <= set(CLAIMS)

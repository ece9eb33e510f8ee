"""The lengths that are shipped: made from their folders, with licences, in one convention."""

import pandas as pd
import pytest

from analysis.store import open_store
from collect.published.reported import description, import_reported
from tests.analysis.places import ROOT

DATA = ROOT / "data" / "reported"
SOURCES = sorted(path for path in (DATA / "sources").iterdir())
WITH_LENGTHS = [path for path in SOURCES if (path / description.LENGTHS).is_file()]

#: What the paper's files say of the same model: metric, and the gain there [ratio].
BESIDE = [
    ("logos_in_layers", "mistralai/Mistral-7B-v0.1", "gain_body", 1.180),
    ("llama_scope", "meta-llama/Llama-3.1-8B", "gain_body", 1.154),
    ("social_intuition", "meta-llama/Llama-3.1-8B-Instruct", "gain_body", 1.154),
]


def shipped(table):
    return pd.read_parquet(DATA / f"{table}.parquet")


def test_the_tables_are_what_the_folders_give(tmp_path):
    import_reported(WITH_LENGTHS, tmp_path / "out")
    names = [path.name for path in WITH_LENGTHS]
    assert len(names) == 3
    for table in ("reported_norm", "reported_figure", "reported_source"):
        again = pd.read_parquet(tmp_path / "out" / f"{table}.parquet")
        ours = shipped(table)
        kept = ours[ours["source_id"].isin(names)].reset_index(drop=True)
        pd.testing.assert_frame_equal(again, kept)


def test_lengths_are_shipped_of_sources_with_a_licence_alone():
    sources = shipped("reported_source").set_index("source_id")
    assert sorted(sources.index) == [path.name for path in SOURCES]
    licensed = sources.index[sources["licence"].notna()]
    assert (
        {*licensed}
        == {path.name for path in WITH_LENGTHS}
        == {*shipped("reported_norm")["source_id"]}
    )
    assert (sources.loc[licensed, "licence"] == "MIT").all()
    few = shipped("reported_figure").groupby(["source_id", "model_id"]).size()
    assert few.max() <= 8
    for path in SOURCES:
        source, models = description.read(path)
        assert source.token == sources.loc[path.name, "token"]
        assert {*models} == {*few[path.name].index}


def test_the_three_sources_stand_side_by_side():
    counts = open_store().query(
        "SELECT source, count(DISTINCT model_id) AS n FROM gain_by_model GROUP BY 1"
    )
    n = counts.set_index("source")["n"].to_dict()
    assert sorted(n) == ["measured", "published", "reported"]
    assert n["reported"] == 22


@pytest.mark.parametrize(("source_id", "model_id", "metric", "theirs"), BESIDE)
def test_a_model_of_the_papers_files_has_nearly_its_gain(source_id, model_id, metric, theirs):
    rows = shipped("reported_figure").set_index(["source_id", "model_id", "metric"])
    assert rows.loc[(source_id, model_id, metric), "mean"] == pytest.approx(theirs, abs=0.01)

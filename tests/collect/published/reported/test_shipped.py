"""The lengths that are shipped: made from their folders, with licences, in one convention."""

import pandas as pd
import pytest

from analysis.store import open_store
from collect.published.reported import description, import_reported
from tests.analysis.places import ROOT

DATA = ROOT / "data" / "reported"
SOURCES = sorted(path for path in (DATA / "sources").iterdir())
WITH_LENGTHS = [path for path in SOURCES if (path / description.LENGTHS).is_file()]

#: Largest difference of a source's gain from that of the paper's files [ratio]; where a mean of
#: lengths has the first token too, it is larger.
CLOSE, WITH_FIRST_TOKEN = 0.01, 0.03


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


def test_a_model_of_the_papers_files_has_nearly_its_gain():
    both = open_store().query(
        """
        SELECT ours.file AS source_id, ours.pooling, ours.gain_mean AS ours,
               theirs.gain_mean AS theirs
          FROM gain_by_model AS ours
          JOIN gain_by_model AS theirs USING (model_id, metric)
         WHERE metric = 'gain_body' AND ours.source = 'reported' AND theirs.source = 'published'
        """
    )
    expected = {"llama_scope", "logos_in_layers", "riskaverse", "social_intuition"}
    assert {*both["source_id"]} == expected
    for row in both.itertuples():
        margin = WITH_FIRST_TOKEN if row.pooling == "mean_of_lengths" else CLOSE
        assert row.ours == pytest.approx(row.theirs, abs=margin), row

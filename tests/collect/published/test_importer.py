"""The import refuses what is wrong and reports what is odd."""

import hashlib

import pytest

from collect import published
from collect.errors import InputError, OutputError
from collect.published import importer
from tests.collect.commands.test_refusals import no_file_beyond

SUMMARY = "restriction_map_summary_20260105_202448.csv"


def test_the_import_writes_both_tables_and_counts_them(results, tmp_path):
    assert published.import_results(results, tmp_path) == {
        "published_value": 13_297,
        "published_file": 26,
    }
    written = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*")}
    assert written == {"published_file/results.parquet", "published_value/results.parquet"}


def test_published_file_is_what_lies_in_the_directory(results, facts):
    described = importer.published_files(results, importer.present(results))
    for row in described.itertuples():
        content = (results / str(row.file)).read_bytes()
        assert row.sha256 == hashlib.sha256(content).hexdigest()
        assert row.n_bytes == len(content)
    expected = facts("published_file").astype(str)
    assert described.fillna("").astype(str).to_dict("list") == expected.to_dict("list")


def test_a_missing_or_foreign_directory_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"must lie in a directory; .* is not one"):
        published.import_results(tmp_path / "absent", tmp_path / "out")
    with pytest.raises(InputError, match="none of the 26 is there, for example 4model_valid"):
        published.import_results(tmp_path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_broken_file_leaves_nothing_behind(tmp_path):
    (tmp_path / SUMMARY).write_text("Model,Lab\npythia-160m\n")
    with pytest.raises(InputError, match=SUMMARY):
        published.import_results(tmp_path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_changed_missing_and_unknown_files_are_reported_and_the_rest_imported(tmp_path, capsys):
    (tmp_path / SUMMARY).write_text("Model,W_V Mean\npythia-160m,1.5\n")
    (tmp_path / "own.json").write_text("{}")
    (tmp_path / "figure.png").write_bytes(b"")
    assert published.import_results(tmp_path, tmp_path / "out")["published_value"] == 2
    printed = capsys.readouterr().err.splitlines()
    assert "own.json: not a published file, ignored" in printed
    assert f"{SUMMARY}: checksum differs from the pinned commit; imported as it is" in printed
    assert sum("published but not here" in line for line in printed) == 25
    assert len(printed) == 27


def test_tables_that_cannot_grow_are_refused_and_none_is_left_half_written(results, tmp_path):
    with no_file_beyond(8_000), pytest.raises(OutputError, match=r"writable; .*File too large"):
        published.import_results(results, tmp_path)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []

"""The values shipped of the raw files are those of the raw files, each with its file's hash."""

from pathlib import Path

from collect import published
from collect.published import excerpt

FACTS = Path(__file__).resolve().parents[3] / "data" / "published"


def test_the_committed_values_come_from_the_raw_files_byte_for_byte(results, tmp_path):
    (n_rows,) = published.write_excerpt(results, tmp_path).values()
    content = (tmp_path / f"{excerpt.TABLE}.csv").read_bytes()
    assert content == (FACTS / f"{excerpt.TABLE}.csv").read_bytes()
    assert content.count(b"\n") == n_rows + 1


def test_kept_are_whole_sets_of_prompts(facts):
    kept = facts(excerpt.TABLE)
    of_prompts = kept[kept["prompt_id"] != ""]
    sizes = of_prompts.groupby(["file", "metric", "model_id"])["prompt_id"].nunique()
    assert set(sizes) == {25}
    assert len(sizes) == 8 + 6 + 2 * (4 + 3 + 1)

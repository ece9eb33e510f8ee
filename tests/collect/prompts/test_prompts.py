"""Prompt sets: the paper's sets verbatim, one's own files, and clear refusals."""

import errno
import json
from pathlib import Path

import pytest

from collect.errors import InputError
from collect.prompts import sets as prompts
from collect.record.writer import conforming
from collect.schema import tables

REFERENCE = Path(__file__).parents[4] / "shared" / "reference" / "prompts.json"


@pytest.mark.skipif(not REFERENCE.is_file(), reason=f"{REFERENCE} is not here")
def test_the_files_equal_the_reference_verbatim():
    reference = json.loads(REFERENCE.read_text(encoding="utf-8"))
    assert prompts.names() == sorted(reference)
    for name, content in reference.items():
        shipped = prompts.load(name).prompts
        if isinstance(content, dict):
            by_category = shipped.groupby("category", sort=False)["text"].agg(list)
            assert by_category.to_dict() == content
            assert list(by_category.index) == list(content)
        else:
            assert shipped["text"].tolist() == content


def test_thirteen_sets_hold_89_prompts_and_satisfy_the_contract():
    sets = [prompts.load(name).prompts for name in prompts.names()]
    assert len(sets) == 13
    assert sum(len(rows) for rows in sets) == 89
    names = [column.name for column in tables()["prompt"].columns]
    assert all(conforming("prompt", rows).column_names == names for rows in sets)


@pytest.mark.parametrize("name", ["A_grand_unified", "B_pythia_sweep"])
def test_sets_a_and_b_have_five_prompts_of_each_category_with_the_authors_codes(name):
    rows = prompts.load(name).prompts
    codes = rows.groupby("category")["complexity"].agg(["count", "min", "max"])
    expected = {"Factual": 1, "Cliche": 2, "Nonsense": 3, "Novel": 4, "Syntactic": 5}
    assert codes["min"].to_dict() == codes["max"].to_dict() == expected
    assert codes["count"].tolist() == [5] * 5


def test_prompts_are_numbered_from_00_and_have_codes_where_they_have_categories():
    rows = prompts.load("A_grand_unified").prompts
    assert rows["prompt_id"].tolist()[:2] == ["A_grand_unified:00", "A_grand_unified:01"]
    assert rows["prompt_id"].tolist()[-1] == "A_grand_unified:24"
    assert rows["text"][7].startswith("The professor, having reviewed")
    assert prompts.load("L2_opt_anomaly").prompts[["category", "complexity"]].isna().all(axis=None)


def test_a_file_of_ones_own_is_read_with_its_escapes_line_by_line(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_bytes(
        b"\xef\xbb\xbf## a remark\r\n# Code\r\n\\# not a heading\r\na\\nb \\\\ c\\t\r\n\r\n"
    )
    rows = prompts.load(path).prompts
    assert rows["text"].tolist() == ["# not a heading", "a\nb \\ c\t"]
    assert rows["category"].tolist() == ["Code", "Code"]
    assert rows["prompt_set"].tolist() == ["mine", "mine"]
    path.write_text("one\u2028still one\x0b \ntwo ", encoding="utf-8")
    assert prompts.load(path).prompts["text"].tolist() == ["one\u2028still one\x0b ", "two "]


def test_the_hash_changes_with_the_content_only(tmp_path):
    path = tmp_path / "mine.txt"

    def sha256(text):
        path.write_text(text)
        return prompts.load(path).sha256

    assert sha256("a\nb") == sha256("## remark\n\na\nb\n")
    assert len({sha256("a\nb"), sha256("b\na"), sha256("# X\na\nb"), sha256("a b")}) == 4


def test_more_than_a_hundred_prompts_are_still_in_order(tmp_path):
    path = tmp_path / "many.txt"
    path.write_text("\n".join(f"prompt {place}" for place in range(101)))
    identifiers = prompts.load(path).prompts["prompt_id"].tolist()
    assert identifiers == sorted(identifiers)
    assert identifiers[0] == "many:000"


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("empty.txt", b"", "must hold at least one prompt.*\nhint: Write one prompt per line"),
        ("blank.txt", b"## only a remark\n\n  \n", "must hold at least one prompt"),
        ("latin.txt", b"caf\xe9", "not UTF-8, at byte 3"),
        ("escape.txt", b"fine\nC:\\dir", r"found \\d .*line 2"),
        ("last.txt", b"ends in a backslash\\", r"must be one of \\n, \\t"),
        ("a@b.txt", b"text", "name of a prompt file may hold letters a to z, digits"),
        ("A_grand_unified.txt", b"other prompts", "must not have the name of a shipped set"),
    ],
)
def test_an_ill_formed_file_is_refused(tmp_path, name, content, sentence):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=sentence):
        prompts.load(path)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Z_7", "A_grand_unified, B_pythia_sweep"),
        ("A_grand_unifed", "The nearest is A_grand_unified."),
        *((f"missing.{kind}", "Check the path. The sets are") for kind in ("txt", "parquet")),
    ],
)
def test_a_name_of_nothing_is_refused_with_what_there_is(name, hint):
    with pytest.raises(InputError, match=f"'{name}' is neither") as refusal:
        prompts.load(name)
    assert hint in refusal.value.hint


@pytest.mark.parametrize("name", ["mine.txt", "mine.jsonl"])
def test_a_file_that_may_not_be_read_is_refused_with_what_to_do(tmp_path, monkeypatch, name):
    def refused(path):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    (tmp_path / name).write_text('"a"')
    monkeypatch.setattr(Path, "read_bytes", refused)
    with pytest.raises(InputError, match=f"{name} .Permission denied") as refusal:
        prompts.load(tmp_path / name)
    assert "that you may read it" in refusal.value.hint

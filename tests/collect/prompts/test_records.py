"""Prompts as people have them: records of files, with identifiers, categories and metadata."""

import csv
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from collect.errors import InputError
from collect.prompts.entry import entry
from collect.prompts.sets import given, load
from collect.record.writer import conforming
from collect.schema.marks import prompts_sha256

RECORDS = [
    {"id": "sky", "category": "Factual", "text": "The sky is", "source": "web", "score": 0.5},
    {"id": "two", "category": "Novel", "text": 'Two, "and"\ntwo', "source": "book", "score": None},
]


def write(path, kind):
    """Write the records as a file of some kind, and return its path."""
    file = path / f"mine.{kind}"
    if kind == "jsonl":
        file.write_text("\n\n".join(map(json.dumps, RECORDS)), encoding="utf-8")
    elif kind == "json":
        file.write_text(json.dumps(RECORDS), encoding="utf-8")
    elif kind == "parquet":
        pq.write_table(pa.Table.from_pylist(RECORDS), file)
    else:
        cells = [[f'"{r[n]}"'.replace('"and"', '""and""') for n in RECORDS[0]] for r in RECORDS]
        lines = [list(RECORDS[0]), *[["" if c == '"None"' else c for c in row] for row in cells]]
        separator = "," if kind == "csv" else "\t"
        file.write_text("\n".join(map(separator.join, lines)) + "\n", encoding="utf-8-sig")
    return file


def save_dataset(path, rows, *, n_files=1):
    """Lay out rows as `datasets.save_to_disk` does: Arrow streams that state.json lists."""
    path.mkdir(parents=True)
    names = [f"data-{n:05d}-of-{n_files:05d}.arrow" for n in range(n_files)]
    for n, name in enumerate(names):
        part = pa.Table.from_pylist(rows[n::n_files])
        with pa.ipc.new_stream(str(path / name), part.schema) as stream:
            stream.write_table(part)
    (path / "state.json").write_text(json.dumps({"_data_files": [{"filename": n} for n in names]}))
    (path / "dataset_info.json").write_text("{}")
    return path


def test_a_frame_as_pandas_reads_it_keeps_numbers_and_lists_and_no_missing_value(tmp_path):
    records = [
        {"text": "a", "id": 1, "category": "u", "seen": [*range(2000)], "score": 2.5},
        {"text": "b", "id": None, "category": None, "seen": None, "score": None},
    ]
    pq.write_table(pa.Table.from_pylist(records), tmp_path / "mine.parquet")
    backend = {"dtype_backend": "numpy_nullable"}
    for frame in (pd.read_parquet(tmp_path / "mine.parquet", **how) for how in ({}, backend)):
        rows = given(frame.astype({"score": "Float32"} if frame["id"].hasnans else {}), "own")
        assert rows.prompts["prompt_id"].tolist()[1] == "own:01"
        assert rows.prompts["category"].tolist()[0] == "u"
        assert rows.prompts["category"].isna().tolist() == [False, True]
        kept = json.loads(rows.prompts["metadata"][0])
        assert kept == {"seen": [*range(2000)], "score": 2.5}
        assert rows.prompts["metadata"].isna().tolist() == [False, True]
    kept = given([{"text": "a", "n": np.float32(2.5), "none": np.float32("nan")}], "own").prompts
    assert json.loads(kept["metadata"][0]) == {"n": 2.5}


@pytest.mark.parametrize("kind", ["jsonl", "json", "csv", "tsv", "parquet", "dataset"])
def test_records_keep_identifier_category_and_metadata(tmp_path, kind):
    path = save_dataset(tmp_path / "mine", RECORDS) if kind == "dataset" else write(tmp_path, kind)
    result = load(path)
    rows = result.prompts
    assert rows["prompt_id"].tolist() == ["mine:sky", "mine:two"]
    assert rows["category"].tolist() == ["Factual", "Novel"]
    assert rows["complexity"].tolist() == [1, 4]
    assert rows["text"].tolist() == [record["text"] for record in RECORDS]
    score = "0.5" if kind in ("csv", "tsv") else 0.5
    assert json.loads(rows["metadata"][0]) == {"source": "web", "score": score}
    assert json.loads(rows["metadata"][1]) == {"source": "book"}
    stored = conforming("prompt", rows).to_pylist()
    assert prompts_sha256(stored[::-1]) == result.sha256


def test_what_is_known_of_a_prompt_is_part_of_the_hash_of_its_set(tmp_path):
    def sha256(*records):
        path = tmp_path / "mine.jsonl"
        path.write_text("\n".join(map(json.dumps, records)))
        return load(path).sha256

    text = tmp_path / "mine.txt"
    text.write_text("a\nb")
    assert sha256("a", "b") == sha256({"text": "a"}, {"prompt": "b"}) == load(text).sha256
    different = [
        sha256({"id": "x", "text": "a"}, "b"),
        sha256({"text": "a", "source": "web"}, "b"),
        sha256({"token_ids": [1]}, "b"),
        sha256({"messages": [{"role": "user", "content": "a"}]}, "b"),
        sha256("a", "b"),
    ]
    assert len(set(different)) == 5


def test_turns_and_token_ids_are_kept_as_json(tmp_path):
    turns = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}]
    path = tmp_path / "mine.jsonl"
    records = [{"messages": turns}, {"input_ids": [5, 6]}, {"prompt": turns}, turns, [7]]
    path.write_text("\n".join(map(json.dumps, records)))
    rows = load(path).prompts
    assert rows["format"].tolist() == ["turns", "tokens", "turns", "turns", "tokens"]
    assert [json.loads(text) for text in rows["text"]] == [turns, [5, 6], turns, turns, [7]]
    table = tmp_path / "mine.csv"
    table.write_text('id,token_ids\na,"[5, 6]"\n')
    assert load(table).prompts["text"].tolist() == ["[5, 6]"]


def test_a_split_of_a_data_set_bears_the_name_of_both(tmp_path):
    rows = [{"text": f"prompt {place}"} for place in range(4)]
    save_dataset(tmp_path / "qa" / "test", rows, n_files=2)
    (tmp_path / "qa" / "dataset_dict.json").write_text('{"splits": ["test"]}')
    result = load(tmp_path / "qa" / "test")
    assert result.name == "qa-test"
    assert sorted(result.prompts["text"]) == [row["text"] for row in rows]
    with pytest.raises(InputError, match=r"must be one split; .*qa has test") as refusal:
        load(tmp_path / "qa")
    assert str(tmp_path / "qa" / "test") in refusal.value.hint


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("x.txt", '{"text": "a"}\n', "one prompt per line; .* begins with a JSON object"),
        ("x.jsonl", "not json", "must be readable JSON; .*line 1 is not"),
        ("x.jsonl", "3", "must be text, turns, token ids or a record.*line 1 is int"),
        ("x.jsonl", '{"texts": "a"}', "under one of text, prompt, messages.*holds texts"),
        ("x.jsonl", '{"text": "a", "token_ids": [1]}', "holds text and token_ids"),
        ("x.jsonl", '{"text": ""}', "not be empty; .* line 1 has nothing under text"),
        ("x.csv", "text,category\na,b\n,c", "not be empty; .* line 3 has nothing under text"),
        ("x.jsonl", '{"text": null}', "not be empty; .* line 1 has nothing under text"),
        ("x.csv", "text,token_ids\n,", "not be empty; .* nothing under text and token_ids"),
        ("x.jsonl", '{"token_ids": [1, -2]}', "whole numbers of 0 or more"),
        ("x.jsonl", '{"token_ids": [true]}', "whole numbers of 0 or more"),
        ("x.jsonl", '{"messages": []}', "not be empty; .* nothing under messages"),
        ("x.jsonl", '{"messages": [{"role": "user"}]}', "a role and a content"),
        ("x.jsonl", '{"id": "a", "text": "a"}\n{"id": "a", "text": "b"}', "x:a comes up twice"),
        ("x.jsonl", '{"id": "a\\n", "text": "a"}', "printable characters"),
        ("x.jsonl", "", "must hold at least one prompt.*\nhint: Write one record per prompt"),
        ("x.json", '{"text": "a"}', "must be a list of them; .* is one dict"),
        ("x.csv", "id,text\na\n", "Every row must have 2 cells"),
        ("x.csv", "text,text\na,b\n", "has 'text' twice"),
        ("x.csv", 'text\n"a', "must be a well-formed table"),
        ("x.parquet", "none", "written as its name says; .*\nhint: Write the file again"),
        ("x.parquet", "", "written as its name says; they are not .Parquet file size is 0 bytes"),
        ("x.jsonl", b"caf\xe9", "not UTF-8, at byte 3"),
        ("x.jsonl", r'{"text": "a\ud800"}', r"UTF-8 can write; .*line 1 holds '\\ud800'"),
        ("x.jsonl", r'{"text": "a", "m": "\ud800"}', r"UTF-8 can write; .*line 1 holds '\\ud800'"),
        ("A_grand_unified.jsonl", '"other"', "must not have the name of a shipped set"),
    ],
)
def test_an_ill_formed_record_is_refused_with_its_place(tmp_path, name, content, sentence):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=sentence):
        load(path)


def test_a_directory_without_a_list_of_files_or_one_of_them_is_refused(tmp_path):
    path = save_dataset(tmp_path / "mine", RECORDS)
    for part in path.glob("*.arrow"):
        part.unlink()
    with pytest.raises(InputError, match="mine must be readable; No such file or directory"):
        load(path)
    (path / "state.json").write_text("{}")
    with pytest.raises(InputError, match="must list the files of the set"):
        load(path)
    with pytest.raises(InputError, match=r"must be a data set that .* is not one"):
        load(tmp_path)


def test_one_record_is_a_prompt_and_not_the_names_of_its_entries():
    assert given({"text": "The sky"}, "own").prompts["text"].tolist() == ["The sky"]
    with pytest.raises(InputError, match=r"under one of text, .* holds train"):
        given({"train": ["a"], "test": ["b"]}, "own")  # splits of a data set


def test_arrays_are_lists_too_and_the_name_of_prompts_is_text():
    assert entry({"input_ids": np.array([3, 4])}, "here").text == "[3, 4]"
    of_tensor = given(torch.tensor([[3, 4], [5, 6]]), "own").prompts
    assert of_tensor["text"].tolist() == ["[3, 4]", "[5, 6]"]
    with pytest.raises(InputError, match=r"name of a prompt set .* found None"):
        given(["a"], None)


def test_a_cell_of_a_table_may_be_a_long_document(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("id,text\na," + "x" * 200_000 + "\n", encoding="utf-8")
    limit = csv.field_size_limit()
    assert [len(text) for text in load(path).prompts["text"]] == [200_000]
    assert csv.field_size_limit() == limit


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32-le"])
@pytest.mark.parametrize("kind", ["txt", "jsonl", "json", "csv", "tsv"])
def test_wide_text_without_a_mark_is_refused_in_every_kind_of_file(tmp_path, codec, kind):
    path = tmp_path / f"mine.{kind}"
    text = {"txt": "hello world\n", "csv": "text\nhello\n", "tsv": "text\nhello\n"}
    path.write_bytes(text.get(kind, '[{"text": "hello"}]').encode(codec))
    with pytest.raises(InputError, match="NUL at character"):
        load(path)


@pytest.mark.parametrize("record", [{"text": "a\0b"}, {"turns": [{"role": "u", "content": "\0"}]}])
def test_nul_within_a_prompt_is_refused_wherever_it_comes_from(tmp_path, record):
    (tmp_path / "mine.jsonl").write_text(json.dumps(record))
    pq.write_table(pa.Table.from_pylist([record]), tmp_path / "mine.parquet")
    for kind in ("jsonl", "parquet"):
        with pytest.raises(InputError, match="NUL"):
            load(tmp_path / f"mine.{kind}")
    with pytest.raises(InputError, match="NUL"):
        given([record], "mine")


@pytest.mark.parametrize(
    "line", ['{"text": "a", "text": "b"}', '{"text": "a", "m": {"k": 1, "k": 2}}']
)
def test_a_key_that_comes_twice_is_refused(tmp_path, line):
    for kind, content in (("jsonl", f'{{"text": "first"}}\n{line}'), ("json", f"[{line}]")):
        path = tmp_path / f"mine.{kind}"
        path.write_text(content)
        with pytest.raises(InputError, match="comes twice"):
            load(path)


@pytest.mark.parametrize(
    "text", ["# Title\nA line\n## Part\nAnother\n", "### Deep\nA line\n", "A line\n##no space\n"]
)
def test_headings_of_markdown_are_not_lost_as_remarks(tmp_path, text):
    path = tmp_path / "mine.md"
    path.write_text(text)
    with pytest.raises(InputError, match=r"line \d reads '##"):
        load(path)
    path.write_text("## A remark\n# Title\nA line\n\\## Part\n")
    assert load(path).prompts["text"].tolist() == ["A line", "## Part"]

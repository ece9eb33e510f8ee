"""Units: identity, marks, completeness, and what may not stand beside what."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from collect.errors import InputError
from collect.record.units import Mark, Unit, is_complete, read_mark, refuse_mixtures, run_file
from collect.schema.marks import file_sha256

OF_MODEL = {
    "model_id": "a/b",
    "revision": None,
    "weights_sha256": "0" * 64,
    "config_sha256": "1" * 64,
    "adapter": "gpt2",
    "dtype_weights": "float32",
    "schema_version": 2,
    "measurement_version": 1,
    "torch_version": "2",
    "transformers_version": "5",
}
OF_WEIGHTS = {"kind": "weights", "prompt_set": None, "dtype_compute": "float32", "device": "cpu"}
OF_PROMPTS = {
    "kind": "prompts",
    "prompt_set": "S",
    "prompt_set_sha256": "2" * 64,
    "rendering": "plain",
    "dtype_compute": "float32",
    "device": "cpu",
    "attention_implementation": "eager",
}


def weights(**changes):
    return Unit({**OF_MODEL, **OF_WEIGHTS, **changes}, {"lab": None})


def prompts(**changes):
    return Unit({**OF_MODEL, **OF_PROMPTS, **changes}, {"lab": None})


def put_down(unit: Unit, out: Path) -> Path:
    """Write a run file with the unit's mark, and the one file of one row that it lists."""
    path = run_file(out, unit)
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = {f"model/{unit.stem}.parquet": 1}
    mark = Mark(dict(unit.determinants), dict(unit.labels), rows, {})
    table = pa.table({"x": [1]})
    (out / "model").mkdir(exist_ok=True)
    pq.write_table(table, out / f"model/{unit.stem}.parquet")
    pq.write_table(table.replace_schema_metadata(mark.metadata), path)
    return path


def change_mark(path: Path, name: str, content: object) -> None:
    """Replace one part of the mark in a run file."""
    metadata = {**pq.read_schema(path).metadata, name.encode(): json.dumps(content).encode()}
    pq.write_table(pa.table({"x": [1]}).replace_schema_metadata(metadata), path)


def test_the_files_of_a_unit_say_what_it_is():
    assert weights().stem == "a--b"
    assert prompts().stem == "a--b@S"
    assert prompts(rendering="chat").stem == "a--b@S+chat"
    assert prompts(rendering="chat").title == "a/b, S in chat"
    assert (weights().title, prompts().title) == ("a/b, weights", "a/b, S")


def test_every_determinant_is_part_of_the_identity_and_no_label_is():
    assert weights().run_id == Unit({**OF_MODEL, **OF_WEIGHTS}, {"lab": "other"}).run_id
    changed = {prompts(**{name: "else"}).run_id for name in {**OF_MODEL, **OF_PROMPTS}}
    assert len(changed) == len({**OF_MODEL, **OF_PROMPTS})
    assert prompts().run_id not in changed


def test_a_mark_is_read_as_it_was_written(tmp_path):
    mark = read_mark(put_down(prompts(), tmp_path))
    assert mark == Mark(
        dict(prompts().determinants), {"lab": None}, {"model/a--b@S.parquet": 1}, {}
    )


def test_a_mark_without_hashes_comes_from_an_earlier_version(tmp_path):
    path = put_down(prompts(), tmp_path)
    metadata = dict(pq.read_schema(path).metadata)
    del metadata[b"sha256"]
    pq.write_table(pa.table({"x": [1]}).replace_schema_metadata(metadata), path)
    assert read_mark(path).sha256 == {}


def test_a_unit_is_complete_with_its_mark_and_all_rows(tmp_path):
    assert not is_complete(prompts(), tmp_path)
    put_down(prompts(), tmp_path)
    assert is_complete(prompts(), tmp_path)
    assert not is_complete(prompts(rendering="chat"), tmp_path)
    pq.write_table(pa.table({"x": [1, 2]}), tmp_path / "model" / "a--b@S.parquet")
    assert not is_complete(prompts(), tmp_path)


def test_a_unit_measured_otherwise_is_refused_with_each_difference(tmp_path):
    put_down(prompts(), tmp_path)
    with pytest.raises(InputError, match="weights_sha256 is 00000000 there and 33333333 here"):
        is_complete(prompts(weights_sha256="3" * 64), tmp_path)
    with pytest.raises(InputError, match="lab is None there and ours here"):
        is_complete(Unit({**OF_MODEL, **OF_PROMPTS}, {"lab": "ours"}), tmp_path)


@pytest.mark.parametrize(
    ("new", "sentence"),
    [
        (prompts(prompt_set="T", weights_sha256="3" * 64), "weights_sha256 is"),
        (prompts(prompt_set="T", dtype_compute="bfloat16"), "dtype_compute is float32 there"),
        (prompts(model_id="c/d", prompt_set_sha256="3" * 64), "prompt_set_sha256 is"),
        (weights(config_sha256="3" * 64), "config_sha256 is 11111111 there"),
        (weights(measurement_version=2), "measurement_version is 1 there and 2 here"),
    ],
)
def test_what_contradicts_a_neighbour_is_refused(tmp_path, new, sentence):
    put_down(prompts(), tmp_path)
    with pytest.raises(InputError, match=rf"a--b@S\.parquet was measured .* {sentence}"):
        refuse_mixtures([new], tmp_path)


@pytest.mark.parametrize(
    "new",
    [
        prompts(rendering="chat"),
        prompts(prompt_set="T", quantities="stream"),
        prompts(model_id="c/d", weights_sha256="3" * 64, dtype_compute="bfloat16"),
        weights(dtype_compute="bfloat16", device="cuda"),
    ],
)
def test_what_does_not_contradict_may_stand_beside(tmp_path, new):
    put_down(prompts(), tmp_path)
    refuse_mixtures([new], tmp_path)


def test_a_unit_that_is_replaced_contradicts_nothing(tmp_path):
    put_down(prompts(), tmp_path)
    refuse_mixtures([prompts(weights_sha256="3" * 64)], tmp_path)


def test_a_frame_is_no_mark(tmp_path):
    pd.DataFrame({"x": [1]}).to_parquet(tmp_path / "x.parquet")
    assert read_mark(tmp_path / "x.parquet") is None
    (tmp_path / "y.parquet").write_bytes(b"no parquet")
    assert read_mark(tmp_path / "y.parquet") is None


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("rows", ["model/a--b@S.parquet"]),
        ("rows", {"model/a--b@S.parquet": "1"}),
        ("sha256", None),
        ("sha256", {"model/a--b@S.parquet": 1}),
        ("determinants", {"model_id": "a/b"}),
        ("labels", 1),
    ],
)
def test_a_mark_of_other_types_is_none(tmp_path, name, content):
    change_mark(path := put_down(prompts(), tmp_path), name, content)
    assert read_mark(path) is None
    assert not is_complete(prompts(), tmp_path)
    refuse_mixtures([weights(config_sha256="3" * 64)], tmp_path)


def test_a_unit_whose_content_changed_is_not_complete(tmp_path):
    path = put_down(prompts(), tmp_path)
    name = "model/a--b@S.parquet"
    change_mark(path, "sha256", {name: file_sha256(tmp_path / name)})
    assert is_complete(prompts(), tmp_path)
    pq.write_table(pa.table({"x": [2]}), tmp_path / name)
    assert not is_complete(prompts(), tmp_path)

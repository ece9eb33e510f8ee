"""Units: identity, names, marks, version; what an output holds, and what may stand beside it."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from collect.errors import InputError
from collect.record import provenance
from collect.record.inventory import Complete, Inventory, refuse_mixtures
from collect.record.units import Unit, file_stem, run_file, run_id, variant_of
from collect.schema.marks import Mark, file_sha256, read_mark

SAMPLE = Path(__file__).parents[3] / "data/sample"


OF_MODEL = {"model_id": "a/b", "revision": None, "revision_name": None, "adapter": "gpt2"}
OF_MODEL |= {"weights_sha256": "0" * 64, "config_sha256": "1" * 64, "dtype_weights": "float32"}
OF_MODEL |= {"schema_version": 3, "measurement_version": 1}
OF_MODEL |= {"torch_version": "2", "transformers_version": "5"}
COMPUTED = {"dtype_compute": "float32", "device": "cpu"}


OF_WEIGHTS = {"kind": "weights", "prompt_set": None, "quantities": "weights", **COMPUTED}


OF_PROMPTS = {"kind": "prompts", "prompt_set": "S", "prompt_set_sha256": "2" * 64, **COMPUTED}
OF_PROMPTS |= {"rendering": "plain", "special_tokens": "default", "quantities": "stream,attention"}
OF_PROMPTS["attention_implementation"] = "eager"


#: What a run is the same without: what was asked for, and where its weights were found.
APART = {"quantities", "revision", "revision_name", "dtype_weights"}


def is_complete(unit, out):
    return isinstance(Inventory(out).missing(unit), Complete)


def weights(**changes):
    return Unit({**OF_MODEL, **OF_WEIGHTS, **changes}, {"lab": None})


def prompts(**changes):
    return Unit({**OF_MODEL, **OF_PROMPTS, **changes}, {"lab": None})


def put_down(unit, out):
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


def change_mark(path, name, content):
    """Replace one part of the mark in a run file."""
    metadata = {**pq.read_schema(path).metadata, name.encode(): json.dumps(content).encode()}
    pq.write_table(pa.table({"x": [1]}).replace_schema_metadata(metadata), path)


@pytest.mark.parametrize(
    ("unit", "stem", "title"),
    [
        (weights(), "a--b", "a/b, weights"),
        (prompts(), "a--b@S", "a/b, S"),
        (prompts(rendering="chat"), "a--b@S+chat", "a/b, S in chat"),
        (weights(revision_name="step10"), "a--b~step10", "a/b at step10, weights"),
        (
            prompts(revision_name="refs/pr/1", dtype_compute="bfloat16", special_tokens="never"),
            "a--b~refs--pr--1@S+special-never+bfloat16",
            "a/b at refs/pr/1, S in special-never and bfloat16",
        ),
        (prompts(device="cuda: NVIDIA H200"), "a--b@S+cuda-NVIDIA-H200", None),
        (
            prompts().part(["predictions", "legacy"], is_later=True),
            "a--b@S,predictions,legacy",
            "a/b, S, predictions and legacy",
        ),
    ],
)
def test_the_files_of_a_unit_say_what_it_is(unit, stem, title):
    assert unit.stem == stem
    assert title in (None, unit.title)
    assert variant_of(stem) == unit.variant


def test_every_determinant_but_quantity_and_place_is_part_of_the_identity_and_no_label_is():
    assert weights().run_id == Unit({**OF_MODEL, **OF_WEIGHTS}, {"lab": "other"}).run_id
    names = {**OF_MODEL, **OF_PROMPTS}.keys()
    changed = {prompts(**{name: "else"}).run_id for name in names - APART}
    assert len(changed) == len(names - APART)
    assert prompts().run_id not in changed
    assert {prompts(**{name: "else"}).run_id for name in APART} == {prompts().run_id}


def test_a_run_measured_by_an_earlier_version_keeps_its_identity():
    earlier = prompts(schema_version=2).determinants
    assert run_id(earlier) != run_id({**earlier, "quantities": "stream"})
    sample = read_mark(SAMPLE / "run/thermoscope--gpt2-l4-adamw.parquet")
    assert run_id(sample.determinants) == "6aa99426f2fa36a0"


def test_a_quantity_that_is_there_is_not_measured_again(tmp_path):
    put_down(prompts(), tmp_path)
    inventory = Inventory(tmp_path)
    asked = prompts(quantities="stream,attention,predictions")
    pending = inventory.missing(asked)
    assert (pending.stem, pending.run_id) == ("a--b@S,predictions", prompts().run_id)
    put_down(pending, tmp_path)
    assert isinstance(inventory.missing(asked), Complete)
    assert isinstance(inventory.missing(prompts(quantities="predictions")), Complete)


def test_a_broken_unit_is_measured_again_with_all_it_held(tmp_path):
    put_down(prompts(), tmp_path)
    put_down(prompts().part(["predictions"], is_later=True), tmp_path)
    (tmp_path / "model/a--b@S.parquet").unlink()
    pending = Inventory(tmp_path).missing(prompts(quantities="stream,predictions"))
    assert pending.stem == "a--b@S"
    assert pending.determinants["quantities"] == "stream,attention"
    assert pending.replaces == (tmp_path / "run/a--b@S.parquet",)


def test_measuring_again_loses_no_quantity_of_the_units_that_it_replaces(tmp_path):
    put_down(prompts(), tmp_path)
    put_down(prompts().part(["predictions"], is_later=True), tmp_path)
    again = Inventory(tmp_path).instead(prompts(quantities="stream"))
    assert again.determinants["quantities"] == "stream,attention"
    assert [path.stem for path in again.replaces] == ["a--b@S"]
    later = Inventory(tmp_path).instead(prompts(quantities="predictions"))
    assert later.stem == "a--b@S,predictions"


def test_a_unit_is_complete_with_its_mark_all_rows_and_their_content(tmp_path):
    assert not is_complete(prompts(), tmp_path)
    path, name = put_down(prompts(), tmp_path), "model/a--b@S.parquet"
    assert is_complete(prompts(), tmp_path)
    assert not is_complete(prompts(rendering="chat"), tmp_path)
    change_mark(path, "sha256", {name: file_sha256(tmp_path / name)})
    assert is_complete(prompts(), tmp_path)
    pq.write_table(pa.table({"x": [2]}), tmp_path / name)
    assert not is_complete(prompts(), tmp_path)
    put_down(prompts(), tmp_path)
    pq.write_table(pa.table({"x": [1, 2]}), tmp_path / name)
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
        (prompts(revision_name="step1", torch_version="3"), "torch_version is 2 there"),
        (prompts(model_id="c/d", prompt_set_sha256="3" * 64), "prompt_set_sha256 is"),
        (weights(config_sha256="3" * 64), "config_sha256 is 11111111 there"),
        (weights(measurement_version=2), "measurement_version is 1 there and 2 here"),
    ],
)
def test_what_contradicts_a_neighbour_is_refused(tmp_path, new, sentence):
    put_down(prompts(), tmp_path)
    with pytest.raises(InputError, match=rf"a--b@S\.parquet was measured .* {sentence}"):
        refuse_mixtures([new], Inventory(tmp_path))


@pytest.mark.parametrize(
    "new",
    [
        prompts(rendering="chat"),
        prompts(prompt_set="T", quantities="stream"),
        prompts(prompt_set="T", dtype_compute="bfloat16", device="cuda"),
        prompts(revision_name="step1", weights_sha256="3" * 64, config_sha256="3" * 64),
        prompts(model_id="c/d", weights_sha256="3" * 64, dtype_compute="bfloat16"),
        weights(dtype_compute="bfloat16", device="cuda"),
    ],
)
def test_what_does_not_contradict_may_stand_beside(tmp_path, new):
    put_down(prompts(), tmp_path)
    refuse_mixtures([new], Inventory(tmp_path))


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
    refuse_mixtures([weights(config_sha256="3" * 64)], Inventory(tmp_path))


def test_a_worker_bears_the_version_of_the_command_that_began_it(monkeypatch):
    monkeypatch.setattr(provenance, "_of_driver", None)
    of_this_process = provenance.code_version()
    provenance.take_version_of_driver("1.2.3+g0123456789ab")
    assert provenance.versions()["code_version"] == "1.2.3+g0123456789ab"
    provenance.take_version_of_driver(None)
    assert provenance.code_version() == of_this_process


@pytest.mark.parametrize(
    "model_id", ["a" * 300, "é" * 150, "a\x00b", "a\nb", "a\ud800b", "a\\b", ""]
)
def test_a_name_that_no_file_can_have_is_refused(model_id):
    with pytest.raises(InputError, match="must make a file name: at most 200 bytes of UTF-8"):
        file_stem(model_id)

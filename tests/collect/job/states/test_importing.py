"""Units written one after another: what it costs does not grow with what lies there."""

from dataclasses import replace

import pytest

from collect.errors import InputError
from collect.job.states import files
from collect.job.states.declared import declared
from collect.job.states.importing import import_states, opened
from collect.record import inventory
from collect.record.integrity import faults
from tests.collect.job.states.dumps import PROMPTS, entered_and_left, stored


@pytest.fixture(scope="module")
def source(model, tmp_path_factory):
    tokens = PROMPTS[0]
    states = entered_and_left(model, tokens)[1:].contiguous()
    path = stored("npz", states, tokens, tmp_path_factory.mktemp("states"))
    how = declared("jax", "block_output")
    return opened([files.head(path, how)], how, str(model), prompts=None)


def named(source, model_id):
    return replace(source, checkpoint=replace(source.checkpoint, model_id=model_id))


def test_one_more_unit_opens_no_run_file_of_another_model(source, tmp_path, monkeypatch):
    read, n_read = inventory.read_mark, []
    monkeypatch.setattr(inventory, "read_mark", lambda path: n_read.append(path) or read(path))
    for number in range(5):
        import_states(named(source, f"acme/m{number}"), tmp_path)
    assert n_read == []
    inventory._read.cache_clear()
    name, n_rows = import_states(named(source, "acme/m3"), tmp_path)
    assert n_rows == 0
    assert [path.stem for path in n_read] == [name]
    assert list(faults(tmp_path)) == []


def test_a_prompt_set_of_one_name_and_other_prompts_is_refused_whatever_model_has_it(
    source, model, tmp_path
):
    import_states(named(source, "acme/one"), tmp_path)
    tokens = PROMPTS[2]
    path = stored("npz", entered_and_left(model, tokens)[1:].contiguous(), tokens, tmp_path)
    how = declared("jax", "block_output")
    other = opened([files.head(path, how)], how, str(model), prompts=None)
    with pytest.raises(InputError, match=r"acme--one--jax@states.*prompt_set_sha256"):
        import_states(named(other, "acme/two"), tmp_path)
    assert list(faults(tmp_path)) == []

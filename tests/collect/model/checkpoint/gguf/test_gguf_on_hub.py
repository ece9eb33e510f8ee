"""GGUF files of a hub repository: listed, chosen by name, judged by the header, then fetched."""

import hashlib
import shutil

import huggingface_hub
import pandas as pd
import pytest

import collect
from collect.errors import InputError, UnreachableError
from collect.job.resolve import resolve
from collect.model.checkpoint.gguf import on_hub
from collect.model.checkpoint.location import locate
from tests.collect.gguf_files import tiny, write
from tests.collect.model.checkpoint.gguf.test_keys import BASE, LLAMA3
from tests.collect.model.checkpoint.local_hub import commit_of

NAME = "tiny-Q8_0.gguf"


@pytest.fixture
def repository(local_hub, offer):
    """A repository of two GGUF files and no other weights; rotary factors lie among the tensors."""
    directory = offer("tiny-GGUF")
    for path in directory.iterdir():
        path.unlink()
    scaled = {"rope_parameters": {**BASE, **LLAMA3}}
    write("llama", tiny("llama", **scaled), directory / NAME)
    shutil.copy(directory / NAME, directory / "tiny-again.gguf")
    return directory


def test_a_file_that_is_not_named_or_not_there_is_refused_with_those_that_are(repository):
    with pytest.raises(InputError, match=r"config\.json") as caught:
        locate("acme/tiny-GGUF")
    assert f"acme/tiny-GGUF/{NAME}" in caught.value.hint
    assert "acme/tiny-GGUF/tiny-again.gguf" in caught.value.hint
    with pytest.raises(InputError, match=r"no file other\.gguf") as caught:
        locate("acme/tiny-GGUF/other.gguf")
    assert NAME in caught.value.hint


def test_a_file_is_judged_by_its_header_alone(repository, local_hub, prompt_file, monkeypatch):
    monkeypatch.setattr(on_hub, "_FIRST", 512)
    job = resolve([f"acme/tiny-GGUF/{NAME}"], [prompt_file], None, quiet=True)
    checkpoint = job.subjects[0].checkpoint
    assert checkpoint.weight_files == ()
    assert checkpoint.download_bytes == (repository / NAME).stat().st_size
    assert (checkpoint.model_id, checkpoint.revision) == (
        f"acme/tiny-GGUF/{NAME}",
        commit_of(repository),
    )
    assert not local_hub.fetched(NAME)


def test_a_chosen_file_is_fetched_and_measured_as_here(repository, prompt_file, tmp_path):
    named = [f"acme/tiny-GGUF/{NAME}", str(repository / NAME)]
    result = []
    for place, model in enumerate(named):
        out = tmp_path / f"out{place}"
        collect.run([model], [prompt_file], out, quiet=True)
        (file,) = (out / "residual_norm").iterdir()
        result.append(pd.read_parquet(file).drop(columns=["run_id", "model_id"]))
        (run_file,) = (out / "run").glob("*@*")
        digest = hashlib.sha256((repository / NAME).read_bytes()).hexdigest()
        assert pd.read_parquet(run_file)["weights_sha256"].tolist() == [digest]
    pd.testing.assert_frame_equal(*result, check_exact=True)


def test_a_file_in_the_cache_is_found_without_the_hub(repository, monkeypatch):
    here = locate(f"acme/tiny-GGUF/{NAME}")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    result = locate(f"acme/tiny-GGUF/{NAME}")
    assert (result.weight_files, result.revision) == (here.weight_files, here.revision)
    assert result.weights_sha256() == here.weights_sha256()
    with pytest.raises(UnreachableError):
        locate("acme/tiny-GGUF/tiny-again.gguf")

"""Training: reproducible bit for bit, complete or absent, never on the held-out bytes."""

from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

import collect.training.train
from collect.errors import InputError
from collect.training.descent import fit
from collect.training.recipe import read_recipe
from collect.training.text import cut_windows
from collect.training.train import train
from tests.collect.record.written import contents, flip
from tests.collect.training.trained import TEXT, table, toml

KV_HEADS = {"llama": {"n_kv_heads": 1}}


def micro_recipe(directory, family="gpt2", **more):
    directory.mkdir(exist_ok=True)
    (directory / "text.txt").write_bytes(TEXT)
    path = directory / "micro.toml"
    path.write_text(toml(table(family, initializer_range=0.02, **more)), encoding="utf-8")
    return path


@pytest.fixture
def recipe(tmp_path):
    return micro_recipe(tmp_path / "recipes")


@pytest.fixture
def out(tmp_path):
    return tmp_path / "checkpoints"


@pytest.mark.parametrize("optimiser", ["adamw", "muon"])
@pytest.mark.parametrize("family", ["gpt2", "gpt_neox", "llama"])
def test_the_same_recipe_gives_the_same_files_bit_for_bit(tmp_path, family, optimiser):
    more = {"optimiser": {"name": optimiser}, "geometry": KV_HEADS.get(family, {})}
    path = micro_recipe(tmp_path / "recipes", family, **more)
    first = contents(train(path, tmp_path / "first", quiet=True))
    torch.manual_seed(99)
    second = contents(train(path, tmp_path / "second", quiet=True))
    assert first == second
    assert len(first["model.safetensors"]) > 10_000


def test_training_leaves_the_state_of_torch_as_it_was(recipe):
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        state = torch.random.get_rng_state()
        fit(read_recipe(recipe), TEXT)
        assert torch.equal(torch.random.get_rng_state(), state)
        assert torch.get_num_threads() == 2
        assert not torch.are_deterministic_algorithms_enabled()
    finally:
        torch.set_num_threads(threads)


def test_the_checkpoint_is_an_ordinary_one(recipe, out):
    checkpoint = train(recipe, out, quiet=True)
    model = AutoModelForCausalLM.from_pretrained(checkpoint)
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    text = "It came to pass – naïvely."
    tokens = tokenizer(text, return_tensors="pt")
    assert tokens.input_ids[0].tolist() == list(text.encode("utf-8"))
    assert model(**tokens).logits.shape == (1, len(text.encode("utf-8")), 256)
    assert tokenizer.decode(tokens.input_ids[0]) == text


def test_a_complete_checkpoint_is_not_trained_again(recipe, out, monkeypatch):
    before = contents(train(recipe, out, quiet=True))
    monkeypatch.setattr(collect.training.train, "fit", None)
    assert contents(train(recipe, out, quiet=True)) == before


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: flip(path, -1)])
def test_a_checkpoint_with_a_file_missing_or_changed_is_trained_again(recipe, out, damage):
    whole = contents(train(recipe, out, quiet=True))
    damage(out / "micro" / "model.safetensors")
    assert contents(train(recipe, out, quiet=True)) == whole


@pytest.mark.parametrize("changed", ["recipe", "text"])
def test_a_checkpoint_of_another_training_is_refused_unless_overwritten(recipe, out, changed):
    old = contents(train(recipe, out, quiet=True))
    if changed == "recipe":
        micro_recipe(recipe.parent, optimiser={"learning_rate": 2e-3})
    else:
        (recipe.parent / "text.txt").write_bytes(TEXT[::-1])
    with pytest.raises(InputError, match="must come from this recipe and text") as caught:
        train(recipe, out, quiet=True)
    assert "--overwrite" in caught.value.hint
    assert contents(out / "micro") == old
    new = contents(train(recipe, out, overwrite=True, quiet=True))
    assert new["model.safetensors"] != old["model.safetensors"]
    assert [path.name for path in out.iterdir()] == ["micro"]


def test_a_directory_that_is_no_checkpoint_is_never_replaced(recipe, out):
    (out / "micro").mkdir(parents=True)
    (out / "micro" / "thesis.txt").write_text("years of work", encoding="utf-8")
    with pytest.raises(InputError, match=r"found no thermoscope\.json in it"):
        train(recipe, out, overwrite=True, quiet=True)
    assert (out / "micro" / "thesis.txt").read_text(encoding="utf-8") == "years of work"


#: 16 slabs of 40 bytes, the last 2 of which are held out; each part has a byte of its own.
SLABS = b"".join(bytes([slab] * 38 + [100 + slab] * 2) for slab in range(16))


def test_training_and_held_out_windows_lie_in_their_own_part_of_one_slab():
    windows = cut_windows(SLABS, context=1)
    assert windows.training.shape == (16, 37, 2)
    assert windows.held_out.tolist() == [[100 + slab] * 2 for slab in range(16)]
    for slab in range(16):
        assert windows.training[slab].unique().tolist() == [slab]


def test_held_out_windows_do_not_overlap():
    text = bytes(index % 251 for index in range(16 * 200))
    held_out = cut_windows(text, context=4).held_out
    assert held_out.shape == (32, 5)
    assert held_out[:2].flatten().tolist() == list(text[190:200])
    assert cut_windows(text, context=4).training[1, 3].tolist() == list(text[203:208])


def test_a_text_too_short_to_hold_out_a_window_is_refused():
    assert len(cut_windows(SLABS, context=1).held_out) == 16
    with pytest.raises(InputError, match="at least 640 bytes for a context of 1; found 639"):
        cut_windows(SLABS[:-1], context=1)

"""Settings: what there is to choose from, and what excludes what."""

from __future__ import annotations

import pytest
import torch

from collect.errors import InputError
from collect.job.run import run
from collect.job.settings import Settings


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


@pytest.mark.parametrize(
    ("options", "sentence", "hint"),
    [
        ({"dtype": "int8"}, "one of float32, bfloat16, float16; found 'int8'", "--dtype float32"),
        ({"dtype": "BF16"}, "found 'BF16'", "--dtype bfloat16"),
        ({"too_long": "truncated"}, "found 'truncated'", "--too-long truncate"),
        ({"batch_size": 0}, "a whole number of 1 or more, .*; found 0", "--batch-size 1"),
        ({"batch_size": 1.5}, "a whole number of 1 or more, .*; found 1.5", "--batch-size 1"),
        ({"batch_size": True}, "a whole number of 1 or more, .*; found True", "--batch-size 1"),
        ({"batch_size": 2**63}, "below 2.63; found 9223372036854775808", "--batch-size 1"),
        ({"device": "abacus"}, "must be cpu, cuda .*, or auto; found 'abacus'", "--device cpu"),
        ({"device": "meta"}, "must be cpu, cuda .*, or auto; found 'meta'", "--device cpu"),
        ({"device": "cuda:-1"}, "must be cpu, .* found 'cuda:-1'", "--device cpu"),
        ({"device": "cpu:1"}, "which has 1 cpu device; found 'cpu:1'", "--device cpu:0"),
        ({"special_tokens": "some"}, "one of default, never, always; found 'some'", "default"),
        ({"rendering": "chat", "special_tokens": "never"}, "place the special tokens", "one of"),
        ({"stream": True, "device": "auto"}, "must run on one device", "--device cuda"),
        ({"quantities": ["steam"]}, "A quantity must be one of .* found 'steam'", "is stream"),
        ({"quantities": ["stream"]}, "Prompts must be given for stream", "--prompts"),
        ({"device": "cuda:999"}, "cuda devices?; found 'cuda:999'", "--device cpu"),
    ],
)
def test_settings_that_make_no_sense_are_refused(out, options, sentence, hint):
    with pytest.raises(InputError, match=sentence) as refusal:
        run(["anything"], [], out, **options)
    assert hint in refusal.value.hint
    assert not out.exists()


def test_a_number_is_counted_among_the_devices_there_are(out, monkeypatch):
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    with pytest.raises(InputError, match="which has 2 cuda devices; found 'cuda:2'") as refusal:
        run(["anything"], [], out, device="cuda:2")
    assert refusal.value.hint == "Use --device cuda:0 or --device cpu."
    assert Settings(device="cuda:1").device == "cuda:1"


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is an accelerator here")
def test_a_device_that_is_not_there_is_refused(out):
    with pytest.raises(InputError, match="which has no cuda device; found 'cuda'"):
        run(["anything"], [], out, device="cuda")


def test_the_hint_to_a_chat_template_is_one_that_is_taken(tmp_path):
    import collect

    with pytest.raises(InputError) as refused:
        collect.run("x", [], tmp_path, chat_template=True)
    assert refused.value.hint == 'Give rendering="chat".'
    assert Settings.given({"rendering": "chat"}).rendering == "chat"

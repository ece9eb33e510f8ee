"""Settings: what there is to choose from, and what excludes what."""

import pytest

from collect.errors import InputError
from collect.job.run import run
from collect.job.settings import Settings


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


@pytest.mark.parametrize(
    ("options", "sentence", "hint"),
    [
        ({"dtype": "BF16"}, "found 'BF16'", "--dtype bfloat16"),
        ({"too_long": "truncated"}, "found 'truncated'", "--too-long truncate"),
        ({"batch_size": 0}, "found 0", "--batch-size 1"),
        ({"batch_size": True}, "found True", "--batch-size 1"),
        ({"device": "meta"}, "found 'meta'", "--device cpu"),
        ({"device": "cuda:999"}, "found 'cuda:999'", "--device cpu"),
        ({"rendering": "chat", "special_tokens": "never"}, "never", "one of"),
        ({"stream": True, "device": "auto"}, "auto", "--device cuda"),
        ({"quantities": ["steam"]}, "found 'steam'", "is stream"),
        ({"quantities": ["stream"]}, "Prompts must be given for stream", "--prompts"),
    ],
)
def test_settings_that_make_no_sense_are_refused(out, options, sentence, hint):
    with pytest.raises(InputError, match=sentence) as refusal:
        run(["anything"], [], out, **options)
    assert hint in refusal.value.hint
    assert not out.exists()


def test_a_number_is_counted_among_the_devices_there_are(out, monkeypatch):
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    with pytest.raises(InputError, match="cuda:2"):
        run(["anything"], [], out, device="cuda:2")
    assert Settings(device="cuda:1").device == "cuda:1"

"""Settings: what there is to choose from, and what excludes what."""

import pytest

from collect.errors import InputError
from collect.job.run import run
from collect.job.settings import Settings


@pytest.mark.parametrize(
    ("options", "sentence", "hint"),
    [
        ({"dtype": "BF16"}, "found 'BF16'", "--dtype bfloat16"),
        ({"too_long": "truncated"}, "found 'truncated'", "--too-long truncate"),
        ({"batch_size": 0}, "found 0", "--batch-size 1"),
        ({"batch_size": True}, "found True", "--batch-size 1"),
        ({"device": "meta"}, "found 'meta'", "--device cpu"),
        ({"device": "cuda:2"}, "found 'cuda:2'", "--device cpu"),
        ({"rendering": "chat", "special_tokens": "never"}, "never", "one of"),
        ({"stream": True, "device": "auto"}, "auto", "--device cuda"),
        ({"quantities": ["steam"]}, "found 'steam'", "is stream"),
        ({"quantities": ["stream"]}, "Prompts must be given for stream", "--prompts"),
    ],
)
def test_settings_that_make_no_sense_are_refused(tmp_path, monkeypatch, options, sentence, hint):
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    assert Settings(device="cuda:1").device == "cuda:1"
    with pytest.raises(InputError, match=sentence) as refusal:
        run(["anything"], [], tmp_path / "out", **options)
    assert hint in refusal.value.hint
    assert not (tmp_path / "out").exists()

"""A text far beyond the context is judged by its beginning, before the whole is made tokens."""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from collect.errors import InputError
from collect.job.run import run
from collect.prompts.fitting import too_long_texts
from collect.record.integrity import faults
from tests.collect.conftest import tiny_tokenizer
from tests.collect.record.written import frame

ROOT = Path(__file__).parents[3]


class Counting:
    """A tokenizer that notes the longest text that it was given."""

    def __init__(self):
        self.tokenizer, self.longest = tiny_tokenizer(), 0

    def __call__(self, text, **how):
        self.longest = max(self.longest, len(text))
        return self.tokenizer(text, **how)


@pytest.mark.parametrize("kind", ["text", "turns"])
def test_the_beginning_of_a_long_text_is_enough(kind):
    tokenizer, text = Counting(), "ab " * 1_000_000
    content = text if kind == "text" else f'[{{"role": "user", "content": "{text}"}}]'
    prompts = pd.DataFrame({"prompt_id": ["long", "short"], "text": [content, "ab"]})
    prompts["format"] = [kind, "text"]
    long = too_long_texts(prompts, tokenizer, 64)
    assert [*long] == ["long"]
    assert 128 < long["long"] <= tokenizer.longest < 100_000
    assert too_long_texts(prompts, tokenizer, None) == {}
    assert too_long_texts(prompts, tokenizer, 10_000_000) == {}


def test_signs_that_give_no_token_do_not_count():
    class Blank:
        def __call__(self, text, **_):
            return {"input_ids": [1] * len(text.split())}

    prompts = pd.DataFrame({"prompt_id": ["blank"], "text": ["a" + " " * 1_000_000 + "b"]})
    assert too_long_texts(prompts, Blank(), 64) == {}


def test_a_long_prompt_is_refused_or_left_out_and_the_others_are_read(save_tiny, tmp_path):
    prompts, out = tmp_path / "own.txt", tmp_path / "out"
    prompts.write_text("a short one\n" + "x" * 300_000 + "\n")
    directory = str(save_tiny("gpt2"))
    with pytest.raises(InputError, match=r"own:01 has more than 65536"):
        run([directory], [prompts], out, quiet=True)
    run([directory], [prompts], out, quiet=True, too_long="skip", quantities=["stream"])
    assert set(frame(out, "residual_norm")["prompt_id"]) == {"own:00"}
    reasons = frame(out, "not_measured")["reason"]
    assert reasons.str.contains("more than 65536 tokens").any()
    assert list(faults(out)) == []


LIMITED = """
import resource, sys
from pathlib import Path
from collect.commands.cli import main
import torch, transformers
pages = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (pages + (1 << 30),) * 2)
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["run", "plan"])
def test_a_line_of_many_megabytes_takes_no_memory_of_its_own(verb, save_tiny, tmp_path):
    prompts = tmp_path / "own.txt"
    prompts.write_text("x" * 20_000_000 + "\n")
    typed = [verb, str(save_tiny("gpt2")), "--prompts", str(prompts), "--out", str(tmp_path / "o")]
    ended = subprocess.run(
        [sys.executable, "-c", LIMITED, *typed],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2, ended.stderr[-2000:]
    assert "context of 64 tokens" in ended.stderr

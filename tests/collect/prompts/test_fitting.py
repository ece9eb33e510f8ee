"""A text far beyond the context is judged by its beginning, before the whole is made tokens."""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from collect.errors import InputError
from collect.job.run import run
from collect.prompts.fitting import fitted
from collect.prompts.tokens import encode
from collect.record.integrity import faults
from tests.collect.conftest import tiny_tokenizer
from tests.collect.record.written import frame

ROOT = Path(__file__).parents[3]


class Counting:
    """A tokenizer that notes the longest text that it was given."""

    def __init__(self):
        self.tokenizer, self.longest = tiny_tokenizer(), 0
        self.tokenizer.chat_template = "{% for m in messages %}{{ m['content'] }}{% endfor %}"

    def __call__(self, text, **how):
        self.longest = max(self.longest, len(text))
        return self.tokenizer(text, **how)

    def __getattr__(self, name):
        return getattr(self.tokenizer, name)


@pytest.mark.parametrize("rendering", ["plain", "chat"])
def test_the_beginning_of_a_long_text_is_enough(rendering):
    tokenizer, text = Counting(), "ab " * 1_000_000
    prompts = pd.DataFrame({"prompt_id": ["long", "short"], "text": [text, "ab"]})
    long, short = encode(prompts, tokenizer, rendering=rendering, n_wanted=64)
    assert (long.is_beginning, short.is_beginning) == (True, False)
    assert 128 < len(long) <= tokenizer.longest < 200_000
    assert fitted([long, short], 64, 300, policy="skip").too_long == {"long": len(long)}


def test_signs_that_give_no_token_do_not_count():
    class Blank:
        def __call__(self, text, **_):
            texts = [text] if isinstance(text, str) else text
            ids = [[1] * len(each.split()) for each in texts]
            return {"input_ids": ids[0] if isinstance(text, str) else ids,
                    "special_tokens_mask": ids}  # fmt: skip

    prompts = pd.DataFrame({"prompt_id": ["blank"], "text": ["a" + " " * 1_000_000 + "b"]})
    (found,) = encode(prompts, Blank(), n_wanted=64)
    assert (len(found), found.is_beginning) == (2, False)


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
resource.setrlimit(resource.RLIMIT_AS, (pages + (7 << 29),) * 2)
sys.exit(main(sys.argv[1:]))
"""


#: Verb, kind of model, what is done with a long prompt; exit code and what is said.
LONG = [
    *((verb, "gpt2", "refuse", 2, "context of 64 tokens") for verb in ("run", "plan")),
    *((verb, "gpt2", "truncate", 0, "") for verb in ("run", "plan")),
    ("run", "gpt2", "extend", 2, "cannot read beyond its context of 64 tokens"),
    ("run", "llama", "extend", 2, "must fit into memory; own:00 has about 20"),
]


@pytest.mark.slow
@pytest.mark.parametrize("case", LONG, ids=lambda case: "-".join(case[:3]))
def test_a_line_of_many_megabytes_takes_no_memory_of_its_own(case, save_tiny, tmp_path):
    verb, kind, policy, code, said = case
    prompts = tmp_path / "own.txt"
    prompts.write_text("x" * 20_000_000 + "\n")
    out = tmp_path / "out"
    typed = [verb, str(save_tiny(kind)), "--prompts", str(prompts), "--out", str(out)]
    ended = subprocess.run(
        [sys.executable, "-c", LIMITED, *typed, "--too-long", policy],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == code, ended.stderr[-2000:]
    assert said in ended.stderr
    if (verb, code) == ("run", 0):
        assert not frame(out, "residual_norm").empty


def test_a_long_prompt_is_cut_after_the_first_tokens_of_the_whole(save_tiny, tmp_path):
    text = "The sky is blue; " * 30_000
    found = []
    for name, content in (("whole", text), ("begun", text[:64])):
        prompts = tmp_path / name / "own.txt"
        prompts.parent.mkdir()
        prompts.write_text(content + "\n")
        out = tmp_path / f"{name}_out"
        how = {"quiet": True, "too_long": "truncate", "quantities": ["stream"]}
        run([str(save_tiny("gpt2"))], [prompts], out, **how)
        found.append(frame(out, "residual_norm").drop(columns=["run_id"]))
    columns = [name for name in found[0] if name != "prompt_id"]
    pd.testing.assert_frame_equal(found[0][columns], found[1][columns])
    reasons = frame(tmp_path / "whole_out", "not_measured")["reason"]
    assert reasons.str.contains("more than 65536 tokens").any()

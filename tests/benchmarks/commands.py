"""CPU time of whole commands, beside a bare import and a script that runs the same batches.

Run: python -m tests.benchmarks.commands [CHECKPOINT] [--rounds 5] [--code FOLDER ...]
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from pathlib import Path

from tests.benchmarks.times import ROOT, spent

RECIPE = "data/sample/recipes/llama-l4-adamw.toml"
PROMPTS = ("--prompts", "A_grand_unified")

#: What nobody who runs a model of transformers can do without.
LIBRARIES = "import torch, transformers"
MODEL_CLASS = "import torch; from transformers import LlamaForCausalLM"
#: What `plan` imports that is not ours: the table and the store, a tokenizer, a class of models.
NEEDED = (
    "import gc; gc.disable(); import torch, pandas, duckdb; "
    "from transformers import AutoTokenizer, LlamaForCausalLM"
)
SCRIPT = """
import sys, torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from collect.prompts.sets import load
from collect.model.forward.passes import buckets
from collect.prompts.tokens import encode
model = AutoModelForCausalLM.from_pretrained(sys.argv[1], attn_implementation="eager").eval()
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
encoded = encode(load("A_grand_unified").prompts, tokenizer)
from collect.prompts.tokens import right_padded
with torch.inference_mode():
    for batch in buckets(encoded, 8):
        padded = right_padded(batch, torch.device("cpu"))
        model.base_model(padded["input_ids"], attention_mask=padded["attention_mask"])
"""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint", nargs="?", help="what to measure; else one is trained")
    parser.add_argument("--rounds", type=int, default=5, help="how often each takes its turn (5)")
    parser.add_argument(
        "--code", nargs="+", default=[ROOT], type=Path, help="checkouts to compare (this one)"
    )
    given = parser.parse_args()
    given.code = [folder.resolve() for folder in given.code]
    with tempfile.TemporaryDirectory() as directory:
        here = Path(directory)
        if given.checkpoint is None:
            spent(["-m", "collect", "train", RECIPE, "--out", str(here), "--quiet"], ROOT)
        checkpoint = str(Path(given.checkpoint or here / "llama-l4-adamw").resolve())
        times: dict[str, list[float]] = {}
        for words, code in commands(checkpoint, given.code, here).values():  # compiles
            shutil.rmtree(here / "out", ignore_errors=True)
            spent(words, code)
        for _ in range(given.rounds):
            for name, (words, code) in commands(checkpoint, given.code, here).items():
                shutil.rmtree(here / "out", ignore_errors=True)
                times.setdefault(name, []).append(spent(words, code))
    print("| command | CPU s | least | most |\n|---|--:|--:|--:|")
    for name, result in times.items():
        median = statistics.median(result)
        print(f"| {name} | {median:.2f} | {min(result):.2f} | {max(result):.2f} |")


def commands(
    checkpoint: str, checkouts: list[Path], here: Path
) -> dict[str, tuple[list[str], Path]]:
    """Return what runs, by name, as the words after the interpreter and the code's folder."""
    bare = {
        LIBRARIES: (["-c", LIBRARIES], ROOT),
        MODEL_CLASS: (["-c", MODEL_CLASS], ROOT),
        NEEDED: (["-c", NEEDED], ROOT),
        "load and run the body": (["-c", SCRIPT, checkpoint], ROOT),
    }
    to = [*PROMPTS, "--out", str(here / "out")]
    few = [*to, "--quiet", "--quantities"]
    verbs = {
        "plan": ["plan", checkpoint, *to],
        "run": ["run", checkpoint, *to, "--quiet"],
        "run, stream and attention": ["run", checkpoint, *few, "stream", "attention"],
        "run, and geometry": ["run", checkpoint, *few, "stream", "attention", "geometry"],
    }
    ours = {
        verb + (f", {code.name}" if len(checkouts) > 1 else ""): (["-m", "collect", *words], code)
        for verb, words in verbs.items()
        for code in checkouts
    }
    return {**bare, **ours}


if __name__ == "__main__":
    main()

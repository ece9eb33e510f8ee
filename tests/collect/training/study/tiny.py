"""A design of eight small networks that train in seconds."""

from __future__ import annotations

from pathlib import Path

from tests.collect.training.trained import TEXT

TINY = """\
name = "tiny"
lab = "thermoscope"
year = 2026
seeds = [0, 1]
n_held_out = 8
n_measured = 4

[base]
family = "gpt_neox"
text = "text.txt"
geometry = { n_layers = 2, d_model = 16, n_heads = 2, context = 32 }
optimiser = { name = "adamw", learning_rate = 3e-3, decay_turns = 0.5 }
schedule = { steps = 6, warm_up = 2, batch_size = 2, checkpoints = [0, 3, 6] }

[factors.recipe]
pythia = { initial = { inner = 0.632, embedding = 0.632, residual = "wang" } }
bloom = { family = "bloom" }

[factors.depth]
two = {}
three = { geometry = { n_layers = 3 } }

[labels.lab.recipe]
pythia = "EleutherAI"
bloom = "BigScience"
"""


def written(directory: Path, content: str) -> Path:
    (directory / "text.txt").write_bytes(TEXT)
    path = directory / "design.toml"
    path.write_text(content, encoding="utf-8")
    return path

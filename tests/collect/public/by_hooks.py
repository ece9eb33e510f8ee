"""Numbers of a public model by hooks of our own on transformers' own reading of its GGUF file.

Nothing of the project is imported. ``python tests/collect/public/by_hooks.py FILE.gguf PROMPTS.txt
OUT.csv`` wrote each table here, one prompt at a time; sums in float64.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

COLUMNS = (*("prompt", "layer", "first", "last", "whole", "attention", "ffn", "entropy", "sink"),)


def prompts(path):
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def first_of(output):
    return (output[0] if isinstance(output, tuple) else output)[0].double()


def watch(model, seen):
    def keep(name):
        def hook(_module, _args, output):
            seen[name] = first_of(output)

        return hook

    def keep_input(_module, args):
        seen["entered"] = args[0][0].double()

    blocks = model.model.layers
    blocks[0].register_forward_pre_hook(keep_input)
    for layer, block in enumerate(blocks):
        block.register_forward_hook(keep(("left", layer)))
        is_sandwich = hasattr(block, "post_feedforward_layernorm")
        attention = block.post_attention_layernorm if is_sandwich else block.self_attn
        ffn = block.post_feedforward_layernorm if is_sandwich else block.mlp
        attention.register_forward_hook(keep(("attention", layer)))
        ffn.register_forward_hook(keep(("ffn", layer)))


def row(prompt, layer, seen, maps):
    """Return norms of the stream behind a block (-1: before the first), and of what it adds."""
    stream = seen["entered"] if layer < 0 else seen["left", layer]
    norms = stream.norm(dim=-1)
    result = {
        "prompt": prompt,
        "layer": layer,
        "first": float(norms[0]),
        "last": float(norms[-1]),
        "whole": float(norms.norm()),
    }
    if layer >= 0:
        attention = maps[layer][0].double()
        log = torch.where(attention > 0, attention.clamp_min(1e-300).log(), 0)
        result["attention"] = float(seen["attention", layer][-1].norm())
        result["ffn"] = float(seen["ffn", layer][-1].norm())
        result["entropy"] = float(-(attention * log).sum())
        result["sink"] = float(attention[..., 0].sum())
    return result


def main(file, texts, out):
    torch.set_num_threads(1)
    model = AutoModelForCausalLM.from_pretrained(
        file.parent, gguf_file=file.name, dtype=torch.float32, attn_implementation="eager"
    ).eval()
    tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
    seen = {}
    watch(model, seen)
    with out.open("w", encoding="utf-8", newline="") as target:
        writer = csv.DictWriter(target, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for place, text in enumerate(prompts(texts)):
            ids = tokenizer(text, return_tensors="pt").input_ids
            with torch.inference_mode():
                maps = model(ids, output_attentions=True, use_cache=False).attentions
            for layer in range(-1, len(maps)):
                writer.writerow(row(place, layer, seen, maps))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))

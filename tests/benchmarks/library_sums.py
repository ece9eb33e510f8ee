"""What other libraries call the output of attention and feed-forward: does it sum to the stream?

    python -m tests.benchmarks.library_sums save DIR
    OTHER/bin/python tests/benchmarks/library_sums.py transformer_lens DIR
    OTHER/bin/python tests/benchmarks/library_sums.py nnterp DIR
    python -m tests.benchmarks.library_sums ours DIR

`save` writes the tiny random models of our tests with a tokenizer; OTHER is an environment that
holds the library and nothing of this project. Printed are the versions and, per model type, the
largest norm of stream + attention + feed-forward - next, over the norm of next, of any token and
block. TransformerLens: ``hook_attn_out`` and ``hook_mlp_out`` of `TransformerBridge`; nnterp:
``attentions_output`` and ``mlps_output``; ours: the property ``block_adds_up`` of `collect verify`.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

TYPES = ("llama", "olmo2", "olmo3", "gemma2", "gemma3_text", "glm4", "granite", "bloom", "mpt")
PROMPT = " ".join(f"t{token}" for token in (5, 44, 71, 12, 90, 33, 8, 60, 27))
PACKAGES = {
    "transformer_lens": ("transformer_lens", "transformers", "torch"),
    "nnterp": ("nnterp", "nnsight", "transformers", "torch"),
    "ours": ("transformers", "torch"),
}


def save(directory: Path) -> None:
    """Write the tiny model of every type, with a tokenizer of words."""
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers

    from tests.collect import families

    words = Tokenizer(models.WordLevel({f"t{i}": i for i in range(97)}, unk_token="t0"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="t0", bos_token="t1", eos_token="t2"
    )
    for name in TYPES:
        tokenizer.save_pretrained(families.save_family(name, directory / name))


def loaded(directory: Path) -> tuple[Any, Any]:
    """Return the model of a directory in float32, and its tokenizer."""
    import torch
    import transformers

    model = transformers.AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32)
    return model.eval(), transformers.AutoTokenizer.from_pretrained(directory)


def transformer_lens(directory: Path) -> float:
    """Return the deviation of TransformerLens."""
    import torch
    from transformer_lens.model_bridge import TransformerBridge

    model, tokenizer = loaded(directory)
    bridge = TransformerBridge.boot_transformers(
        str(directory), hf_model=model, tokenizer=tokenizer, device="cpu", dtype=torch.float32
    )
    with torch.inference_mode():
        _, cache = bridge.run_with_cache(tokenizer(PROMPT, return_tensors="pt")["input_ids"])
    sites = ("hook_resid_pre", "hook_attn_out", "hook_mlp_out", "hook_resid_post")
    layers = range(bridge.cfg.n_layers)
    return max(deviation(*(cache[f"blocks.{layer}.{it}"] for it in sites)) for layer in layers)


def nnterp(directory: Path) -> float:
    """Return the deviation of nnterp."""
    import torch
    from nnterp import StandardizedTransformer

    model = StandardizedTransformer(str(directory), dtype=torch.float32)
    worst = 0.0
    for layer in range(model.num_layers):
        with model.trace(PROMPT):
            before = model.layers_input[layer].save()
            attention = model.attentions_output[layer].save()
            mlp = model.mlps_output[layer].save()
            after = model.layers_output[layer].save()
        worst = max(worst, deviation(before, attention, mlp, after))
    return worst


def ours(directory: Path) -> float:
    """Return the deviation of `collect verify`."""
    from collect.library.verification import verify

    findings = {it.property: it for it in verify(str(directory)).findings}
    return float(findings["block_adds_up"].deviation)


def deviation(before: Any, attention: Any, mlp: Any, after: Any) -> float:
    """Return the largest relative error of a token's sum; states have shape (1, tokens, d)."""
    error = (before + attention + mlp - after).double().norm(dim=-1)
    return float((error / after.double().norm(dim=-1)).max())


def main(how: str, directory: str) -> None:
    """Save the models, or print what one library says of each."""
    if how == "save":
        save(Path(directory))
        return
    measure = {"transformer_lens": transformer_lens, "nnterp": nnterp, "ours": ours}[how]
    print(f"{how}:", ", ".join(f"{it} {version(it)}" for it in PACKAGES[how]))
    for name in TYPES:
        try:
            print(f"  {name}: {measure(Path(directory) / name):.1e}")
        except Exception as error:
            print(f"  {name}: {type(error).__name__}: {str(error)[:150]}")


if __name__ == "__main__":
    main(*sys.argv[1:])

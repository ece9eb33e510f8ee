"""Quantised weights: which types are released so by their makers, and what can be done."""

from __future__ import annotations

#: Types whose makers release quantised weights and none in plain floats, with the format.
RELEASED = {
    "deepseek_v3": "FP8",
    "deepseek_v32": "FP8",
    "gpt_oss": "MXFP4",
    "minimax_m2": "FP8",
}

#: By ``quant_method``: the class of transformers that dequantises weights as they are loaded.
_DEQUANTISED_BY = {"fp8": "FineGrainedFP8Config", "mxfp4": "Mxfp4Config"}

_BASE = "Use the checkpoint in plain floats that it was quantised from, or a GGUF file of the model"


def hint(method: str | None) -> str:
    """Return what to do about a quantised checkpoint.

    Parameters
    ----------
    method
        Its ``quant_method``, where that is known.

    >>> hint("gptq")
    'Use the checkpoint in plain floats that it was quantised from, or a GGUF file of the model.'
    """
    by = _DEQUANTISED_BY.get(method or "")
    if by is None:
        return f"{_BASE}."
    return (
        f"{_BASE}. Otherwise dequantise it: from_pretrained(DIRECTORY, dtype='bfloat16', "
        f"quantization_config=transformers.{by}(dequantize=True)), then save_pretrained(OUT, "
        "save_original_format=False), and measure OUT, or give the model itself to "
        "collect.measure; numbers are those of the rounded weights."
    )

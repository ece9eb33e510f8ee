"""Checkpoints that read images or sound beside text: where the language model lies within them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from collect.adapters.adapter import Adapter

_BESIDE = "model.language_model"
_ALONE = "model"

#: By ``model_type``: path to the language model, and the type of its text where ``config.json``
#: names none. transformers loads some with the text part alone.
PLACES = {
    "dots3_note": (_ALONE, "dots3_note_text"),
    "emu3": ("model.text_model", "llama"),
    "fuyu": (_BESIDE, "persimmon"),
    "gemma3": (_BESIDE, "gemma3_text"),
    "gemma4": (_BESIDE, "gemma4_text"),
    "gemma4_unified": (_BESIDE, "gemma4_unified_text"),
    "got_ocr2": (_BESIDE, "qwen2"),
    "llama4": (_ALONE, "llama4_text"),
    "llava": (_BESIDE, "llama"),
    "mistral3": (_BESIDE, "mistral"),
    "moss_transcribe_diarize": (_BESIDE, "qwen3"),
    "phi4_multimodal": (_ALONE, "phi3"),
    "qwen2_5_vl": (_BESIDE, "qwen2"),
    "qwen2_vl": (_BESIDE, "qwen2"),
    "qwen3_5": (_ALONE, "qwen3_5_text"),
    "qwen3_5_moe": (_ALONE, "qwen3_5_moe_text"),
    "qwen3_vl": (_BESIDE, "qwen3"),
    "qwen3_vl_moe": (_BESIDE, "qwen3_moe"),
}

#: Types whose class of the text alone does not know the names of a whole checkpoint.
WHOLE = frozenset(("emu3",))

#: Types of text that have the layout of another type.
ALIKE = {
    "emu3_text_model": "llama",
    "qwen2_5_vl_text": "qwen2",
    "qwen2_vl_text": "qwen2",
    "qwen3_vl_moe_text": "qwen3_moe",
    "qwen3_vl_text": "qwen3",
}


def text_type(model_type: str, named: str | None) -> str:
    """Return the type of the text within a checkpoint.

    Parameters
    ----------
    model_type
        One of `PLACES`.
    named
        ``text_config.model_type`` of ``config.json``, where there is one.
    """
    inner = named or PLACES[model_type][1]
    return ALIKE.get(inner, inner)


def text_entry(config: Mapping[str, Any], name: str) -> Any:
    """Return an entry of ``text_config`` in ``config.json``; None where there is none."""
    of_text = config.get("text_config")
    return of_text.get(name) if isinstance(of_text, dict) else None


def placed(adapter: Adapter, model_type: str) -> Adapter:
    """Return the adapter of a text as it lies within a checkpoint of a type."""
    return moved(adapter, adapter.body, PLACES[model_type][0])


def moved(adapter: Adapter, start: str, path: str) -> Adapter:
    """Return an adapter whose body lies at another path.

    Parameters
    ----------
    adapter
        The layout.
    start
        First part of the path to its body.
    path
        What takes its place; empty where the model itself does.
    """
    if path == start:
        return adapter
    norm = adapter.final_norm
    return replace(
        adapter,
        forms=tuple(
            replace(form, adapter=moved(form.adapter, start, path)) for form in adapter.forms
        ),
        body=_move(adapter.body, start, path),
        blocks=_move(adapter.blocks, start, path),
        final_norm=None if norm is None else _move(norm, start, path),
    )


def _move(module: str, start: str, path: str) -> str:
    return f"{path}{module.removeprefix(start)}".removeprefix(".")

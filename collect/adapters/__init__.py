"""One declarative adapter per family of models, found by ``model_type``.

To add a family: write ``collect/adapters/<model_type>.py`` with one ``Adapter``, name it in
``ADAPTERS`` below, and add a tiny random model of it to ``tests/collect/conftest.py``; the
acceptance tests then run on it.
"""

from __future__ import annotations

from collect.adapters.adapter import Adapter
from collect.adapters.gpt2 import GPT2
from collect.adapters.gpt_neox import GPT_NEOX
from collect.adapters.layouts import Heads
from collect.adapters.llama import LLAMA
from collect.errors import UnsupportedModelError

__all__ = ["ADAPTERS", "Adapter", "Heads", "adapter_for"]

#: Every known family by its ``model_type``.
ADAPTERS = {adapter.model_type: adapter for adapter in (GPT2, GPT_NEOX, LLAMA)}


def adapter_for(model_type: str) -> Adapter:
    """Return the adapter of a family.

    Raises
    ------
    UnsupportedModelError
        If no adapter describes the family. Nothing is guessed.
    """
    if model_type not in ADAPTERS:
        raise UnsupportedModelError(
            f"The model must be of a family with an adapter; {model_type!r} has none. "
            f"Supported: {', '.join(sorted(ADAPTERS))}.",
            "To add one, describe it in one file under collect/adapters and name it in "
            "collect/adapters/__init__.py.",
        )
    return ADAPTERS[model_type]

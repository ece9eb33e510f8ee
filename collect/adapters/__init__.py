"""One declarative adapter per layout of models, found by ``model_type``; see README.md here."""

from __future__ import annotations

from collect.adapters.adapter import Adapter, AttentionCall, Form
from collect.adapters.cutting import cut, weight_names
from collect.adapters.layouts import Heads, HeadWeights
from collect.adapters.refused import REFUSED
from collect.adapters.register import ADAPTERS, LAYOUTS, adapter_for, nearest_types

__all__ = [
    "ADAPTERS",
    "LAYOUTS",
    "REFUSED",
    "Adapter",
    "AttentionCall",
    "Form",
    "HeadWeights",
    "Heads",
    "adapter_for",
    "cut",
    "nearest_types",
    "weight_names",
]

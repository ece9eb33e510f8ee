"""The adapter of every known ``model_type``; the others are refused with a reason."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from collect.adapters import families, nested
from collect.adapters.adapter import Adapter
from collect.adapters.refused import REFUSED
from collect.errors import UnsupportedModelError, nearest


def _layouts() -> tuple[Adapter, ...]:
    """Return every adapter of a public name in `families`, but for forms of another."""
    names = sorted(module.name for module in iter_modules(families.__path__))
    modules = [import_module(f"{families.__name__}.{name}") for name in names]
    defined = {
        id(value): value
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, Adapter) and value.model_types and not name.startswith("_")
    }
    forms = {id(form.adapter) for adapter in defined.values() for form in adapter.forms}
    return tuple(adapter for number, adapter in defined.items() if number not in forms)


LAYOUTS = _layouts()

#: The adapter of every known ``model_type``.
ADAPTERS = {model_type: layout for layout in LAYOUTS for model_type in layout.model_types}


def adapter_for(model_type: str, text_type: str | None = None) -> Adapter:
    """Return the adapter of a ``model_type``.

    Parameters
    ----------
    model_type
        As in ``config.json``.
    text_type
        ``text_config.model_type``, where a checkpoint reads more than text.

    Raises
    ------
    UnsupportedModelError
        If the type is known to be of another kind, or no adapter describes it. Nothing is
        guessed.
    """
    if model_type in nested.PLACES:
        of_text = adapter_for(nested.text_type(model_type, text_type))
        return nested.placed(of_text, model_type)
    if model_type in REFUSED:
        refusal = REFUSED[model_type]
        raise UnsupportedModelError(
            f"The model must be a decoder of its own text with one residual stream; "
            f"{model_type!r} is refused: {refusal.reason}.",
            refusal.hint,
        )
    if model_type not in ADAPTERS:
        raise UnsupportedModelError(
            f"The model must be of a type with an adapter; {model_type!r} has none. "
            f"Nearest in name: {', '.join(nearest_types(model_type))}.",
            "If it has the layout of one of these, add its type to that adapter; "
            "collect/adapters/README.md says how, and how to describe another layout.",
        )
    return ADAPTERS[model_type]


def nearest_types(model_type: str) -> list[str]:
    """Return the three supported types whose names are most like one."""
    return nearest(model_type, sorted({*ADAPTERS, *nested.PLACES}), 3, cutoff=0.0)

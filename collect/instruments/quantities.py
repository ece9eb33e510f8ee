"""What can be measured, by name: quantities that are built in, and those of one's own.

All are known by one registry, which the command line, the plan and the run go by.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from collect.errors import InputError, translate_errors, unknown_name
from collect.instruments.own.definition import OwnQuantity
from collect.measures.register import BUILT_IN

#: Tables of each quantity that is built in.
TABLES = {
    name: tuple(table.name for table in quantity.tables) for name, quantity in BUILT_IN.items()
}

DEFAULT = ("weights", "stream", "attention", "geometry")
ALL = "all"

#: Group of entry points under which a package offers quantities of its own.
GROUP = "thermoscope.quantities"

#: Examples that come with the project, and where they are defined; they are known as an entry
#: point of any other package is.
_SHIPPED = {
    "logit_lens_entropy": "collect.instruments.own.examples:LOGIT_LENS_ENTROPY",
    "last_states": "collect.instruments.own.examples:LAST_STATES",
}

_REGISTERED: dict[str, OwnQuantity] = {}

#: Quantities as a program names them: by name, themselves, or by their functions; one or several.
Named: TypeAlias = (
    "str | OwnQuantity | Callable[..., Any] | Iterable[str | OwnQuantity | Callable[..., Any]]"
)

_Function = TypeVar("_Function", bound=Callable[..., Any])


def register(quantity: OwnQuantity) -> OwnQuantity:
    """Make a quantity known by its name, and return it; one of the same name is replaced.

    Examples
    --------
    >>> from collect.instruments.own.examples import raw_vectors
    >>> _ = register(raw_vectors(name="last_vectors", positions=(-1,)))
    """
    _REGISTERED[quantity.name] = quantity
    return quantity


def quantity(
    name: str, *, unit: str, description: str, **where: Any
) -> Callable[[_Function], _Function]:
    """Return a decorator that makes a function known as a quantity.

    Parameters
    ----------
    name, unit, description, **where
        As attributes of `OwnQuantity`.

    Examples
    --------
    >>> @quantity("mean_size", unit="activation units", description="Mean absolute feature")
    ... def mean_size(site, layer, states, attention):
    ...     return states.abs().mean(-1)
    """

    def registered(function: _Function) -> _Function:
        register(OwnQuantity(name, unit, description, function, **where))
        return function

    return registered


def load(sources: str | Path | Iterable[str | Path]) -> None:
    """Run files or modules of Python, which register the quantities they define."""
    for source in files_of(sources):
        with translate_errors(
            f"A file that registers quantities must run; {source} does not:",
            "Name a file that ends in .py, or a module that Python can import.",
        ):
            _run(str(source))


def files_of(sources: str | Path | Iterable[str | Path]) -> list[str | Path]:
    """Return the files or modules that `load` is given, as one or as several."""
    from collect.schema.paths import several  # the options import this module, for their help

    hint = "Name files that end in .py, or modules that Python can import."
    return several(sources, "Files that register quantities", hint)


def _run(source: str) -> None:
    if not source.endswith(".py"):
        import_module(source)
        return
    from collect.schema.paths import expand_path

    path = expand_path(source).resolve()
    name = f"thermoscope_quantities_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where the source of its functions is looked up
    spec.loader.exec_module(module)


def custom(name: str) -> OwnQuantity | None:
    """Return the quantity of one's own of a name; None where nobody has registered any."""
    if name in _REGISTERED or name in BUILT_IN:
        return _REGISTERED.get(name)
    if name in _SHIPPED:
        module, _, attribute = _SHIPPED[name].partition(":")
        return register(getattr(import_module(module), attribute))
    for point in entry_points(group=GROUP, name=name):
        with translate_errors(
            f"The entry point {point.name} of {GROUP} must load; {point.value} does not:",
            "Correct the package that offers it, or leave its quantity out.",
        ):
            offered = point.load()
        registered = _REGISTERED.get(point.name)
        if registered is not None and registered.measure is offered:
            return registered
        if not isinstance(offered, OwnQuantity) or offered.name != point.name:
            raise InputError(
                f"The entry point {point.name} of {GROUP} must be a quantity of that name; "
                f"{point.value} is not.",
                "Let it name an OwnQuantity, or a function under "
                f"@collect.quantity('{point.name}').",
            )
        return register(offered)
    return None


def chosen(names: Named) -> tuple[str, ...]:
    """Return the quantities that some names ask for: those of `TABLES` in its order, then others.

    Parameters
    ----------
    names
        Names of quantities or ``all`` (that are built in), each alone or several joined by
        commas; or quantities of one's own themselves, or the functions that were registered; one
        or several. None at all means `DEFAULT`.
    """
    entries: tuple[Any, ...] = (names,)
    if isinstance(names, Iterable) and not isinstance(names, str):
        entries = tuple(names)
    given = {entry.name: entry for entry in entries if isinstance(entry, OwnQuantity)}
    twice = [
        e.name for e in entries if isinstance(e, OwnQuantity) and given[e.name].sha256 != e.sha256
    ]
    if twice:
        raise InputError(
            f"Two different quantities have the same name, {twice[0]}.",
            "Give each a name of its own.",
        )
    named = [_name(entry) for entry in entries]
    asked = [name.strip() for entry in named for name in entry.split(",") if name.strip()]
    for name in asked:
        if name not in BUILT_IN and name != ALL and custom(name) is None:
            known = [*BUILT_IN, ALL, *_SHIPPED]
            own_names = sorted({*_REGISTERED, *entry_points(group=GROUP).names} - {*known})
            raise unknown_name(
                "A quantity",
                name,
                [*known, *own_names],
                "Leave --quantities out for the default, or --register the file that defines it.",
            )
    if not asked:
        return DEFAULT
    built_in = [name for name in BUILT_IN if name in asked or ALL in asked]
    return (*built_in, *sorted({*asked} - {*BUILT_IN, ALL}))


def _name(entry: Any) -> str:
    """Return the name of a quantity that is given by it, as itself, or as its function."""
    if isinstance(entry, str):
        return entry
    if isinstance(entry, OwnQuantity):
        return register(entry).name
    for registered in _REGISTERED.values():
        if registered.measure is entry:
            return registered.name
    raise InputError(
        f"A quantity must be a name, or a quantity of one's own; found {entry!r}.",
        "Register a function with @collect.quantity first.",
    )


def of_prompts(quantities: Sequence[str]) -> tuple[str, ...]:
    """Return the quantities that need prompts: those of `TABLES` in its order, then others.

    >>> of_prompts(("weights", "legacy", "stream"))
    ('stream', 'legacy')
    """
    asked = [name for name in quantities if name != "weights"]
    return chosen(asked) if asked else ()


def own_among(names: Iterable[str]) -> list[OwnQuantity]:
    """Return those of some quantities that are one's own."""
    return [each for each in map(custom, names) if each is not None]


def about(name: str) -> str:
    """Return what a quantity is, in a line, with its unit where it has one."""
    definition = custom(name)
    if definition is not None:
        return f"{definition.description} [{definition.unit}]"
    return BUILT_IN[name].description

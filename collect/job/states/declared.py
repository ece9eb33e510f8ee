"""What is declared of states from another engine: who wrote them, and which place each is of.

No torch here: a declaration is refused before anything is imported.

vLLM writes one safetensors file a request, with ``hidden_states`` (n_tokens, n_layers, d) and
``token_ids`` (its page "Hidden State Extraction", and ``extract_hidden_states`` in its tests);
number j of its ``eagle_aux_hidden_state_layer_ids`` is what enters block j, and ``n_layers`` what
leaves the last block, before the final norm. That is site ``block_input`` here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from collect.errors import InputError, unknown_name
from collect.instruments.own.definition import SITES

#: Name of the array, and of the token ids beside it, that vLLM writes.
ARRAY, TOKENS = "hidden_states", "token_ids"

#: What engines are known to write: the order of the first two axes, and the site.
KNOWN = {"vllm": (True, "block_input")}

_ENGINE = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")


@dataclass(frozen=True, slots=True)
class Declared:
    """How files of states are to be read.

    Attributes
    ----------
    engine
        Who wrote them; part of the model's name.
    site
        Place of the stream, one of `definition.SITES`; of ``block_input`` the number n_layers is
        what leaves the last block.
    tokens_first
        Whether the axes of an array are (tokens, layers, d) and not (layers, tokens, d); columns
        of Parquet name theirs.
    layers
        Number of each entry along the layers; None for 0, 1, 2 and so on to the last block.
    array
        Name of the array in the files.
    """

    engine: str
    site: str
    tokens_first: bool = False
    layers: tuple[int, ...] | None = None
    array: str = ARRAY


def declared(
    engine: str,
    site: str | None,
    *,
    tokens_first: bool = False,
    layers: Sequence[int] | None = None,
    array: str = ARRAY,
) -> Declared:
    """Return a declaration, completed by what is known of an engine."""
    if not _ENGINE.fullmatch(engine):
        raise InputError(
            "An engine must be named in 1 to 40 of the signs a to z, 0 to 9, '.', '_' and '-'; "
            f"found {engine!r}.",
            "Give for example --engine vllm or --engine llama.cpp.",
        )
    known_first, known_site = KNOWN.get(engine, (False, None))
    chosen = site or known_site
    if chosen is None:
        raise InputError(
            f"The site of the states must be declared; nothing is known of {engine}.",
            f"Give --site, one of {', '.join(SITES)}.",
        )
    if chosen not in SITES:
        raise unknown_name("The site", chosen, SITES, "Use --site block_output.")
    given = None if layers is None else tuple(layers)
    if given is not None and (len({*given}) < len(given) or min(given, default=0) < 0):
        raise InputError(
            f"Layers must be different numbers from 0; found {' '.join(map(str, given))}.",
            "Give the number of each entry once, in the order of the file.",
        )
    return Declared(engine, chosen, tokens_first or known_first, given, array)


def places(
    how: Declared,
    n_entries: int,
    n_layers: int,
    where: str,
    stored: tuple[int, ...] | None = None,
) -> list[tuple[int, str]]:
    """Return the place of each entry along the layers, as (layer, site)."""
    last = n_layers if how.site == "block_input" else n_layers - 1
    full = {"embedding": [0], "final_norm": [n_layers - 1]}.get(how.site, [*range(last + 1)])
    given = how.layers if how.layers is not None else stored
    numbers = full if given is None else [*given]
    if given is None and how.site == "block_input" and n_entries == n_layers:
        numbers = full[:-1]
    if n_entries != len(numbers):
        raise InputError(
            f"There must be one entry for each of {len(numbers)} layers; {where} has {n_entries}.",
            _hint(how, n_entries, n_layers, has_axes=stored is None),
        )
    beyond = [number for number in numbers if number not in full]
    if beyond:
        raise InputError(
            f"A layer at site {how.site} must be from {full[0]} to {full[-1]}, as the model has "
            f"{n_layers} blocks; {where} is declared to hold {beyond[0]}.",
            "Correct --layers or --site.",
        )
    return [place_of(number, how.site) for number in numbers]


def _hint(how: Declared, n_entries: int, n_layers: int, *, has_axes: bool) -> str:
    if how.layers is None and how.site == "block_output" and n_entries == n_layers + 1:
        return "One more than blocks begins with what enters block 0: give --site block_input."
    hint = "Name the layer of each entry with --layers."
    return f"{hint} {order_hint(how)}" if has_axes else hint


def order_hint(how: Declared) -> str:
    """Return what is to be declared where the first two axes are the other way round.

    >>> order_hint(declared("vllm", None)), order_hint(declared("jax", "block_mid"))[-21:]
    ('If the file has (layers, tokens, d), name another --engine.', ' give --tokens-first.')
    """
    if KNOWN.get(how.engine, (False, ""))[0]:
        return "If the file has (layers, tokens, d), name another --engine."
    if how.tokens_first:
        return "If the file has (layers, tokens, d), leave --tokens-first out."
    return "If the file has (tokens, layers, d), give --tokens-first."


def place_of(number: int, site: str) -> tuple[int, str]:
    """Return a place as tables name it: what enters a block after 0 is the output before."""
    return (number - 1, "block_output") if site == "block_input" and number else (number, site)

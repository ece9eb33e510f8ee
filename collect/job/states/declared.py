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
        Whether the axes of an array are (tokens, layers, d) and not (layers, tokens, d).
    layers
        Number of each entry along the layers; None for 0, 1, 2 and so on to the last block.
    """

    engine: str
    site: str
    tokens_first: bool = False
    layers: tuple[int, ...] | None = None


def declared(engine: str, site: str | None, layers: Sequence[int] | None = None) -> Declared:
    """Return a declaration, completed by what is known of an engine."""
    if not _ENGINE.fullmatch(engine):
        raise InputError(
            "An engine's name must be 1 to 40 characters of a to z, 0 to 9, '.', '_' and '-'; "
            f"found {engine!r}.",
            "Give for example --engine vllm or --engine llama.cpp.",
        )
    tokens_first, known_site = KNOWN.get(engine, (False, None))
    chosen = site or known_site
    if chosen is None or chosen not in SITES:
        raise unknown_name("The site of the states", str(chosen), SITES, "Give --site.")
    return Declared(engine, chosen, tokens_first, None if layers is None else tuple(layers))


def places(how: Declared, n_entries: int, n_layers: int, where: str) -> list[tuple[int, str]]:
    """Return the place of each entry along the layers, as (layer, site).

    Parameters
    ----------
    n_entries, n_layers
        Length of the axis of layers, and blocks of the model.
    where
        The file, for messages.
    """
    last = n_layers if how.site == "block_input" else n_layers - 1
    full = {"embedding": [0], "final_norm": [n_layers - 1]}.get(how.site, [*range(last + 1)])
    numbers = full if how.layers is None else [*how.layers]
    if how.layers is None and how.site == "block_input" and n_entries == n_layers:
        numbers = full[:-1]
    if n_entries != len(numbers) or len({*numbers}) < len(numbers) or not {*numbers} <= {*full}:
        raise InputError(
            f"There must be one entry for each of {len(numbers)} different layers from {full[0]} "
            f"to {full[-1]} at site {how.site}; {where} has {n_entries}.",
            "Name the layer of each entry with --layers. One more than blocks begins with what "
            "enters block 0: give --site block_input.",
        )
    return [place_of(number, how.site) for number in numbers]


def place_of(number: int, site: str) -> tuple[int, str]:
    """Return a place as tables name it: what enters a block after 0 is the output before."""
    return (number - 1, "block_output") if site == "block_input" and number else (number, site)

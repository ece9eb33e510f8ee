"""The configuration of a checkpoint as transformers reads it, without any code of its model."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

import huggingface_hub
import transformers

from collect.adapters.configuration import of_text
from collect.errors import InputError, first_line
from collect.model.checkpoint.checkpoint import Checkpoint


def configuration(checkpoint: Checkpoint) -> Any:
    """Return what ``config.json`` describes, defaults of the model's type filled in.

    Raises
    ------
    InputError
        If it describes no model.
    """
    quieten()
    for path, value in _entries(checkpoint.config):  # of some types a list is made of the blocks
        name = path.rpartition(".")[2]
        if isinstance(value, (int, float)) and value > _LARGEST.get(name, value):
            raise _impossible(checkpoint, name, value)
    configurations: Any = transformers.AutoConfig
    try:
        if checkpoint.gguf is not None:
            config = configurations.for_model(**deepcopy(checkpoint.config))
        else:
            config = configurations.from_pretrained(
                checkpoint.directory, trust_remote_code=False, local_files_only=True
            )
    except Exception as error:
        raise not_the_model(checkpoint, error) from error
    _require_possible(checkpoint, of_text(config))
    return config


#: Largest sizes that are taken for a network; published ones lie a hundred times below.
_LARGEST = {
    "num_hidden_layers": 10_000,
    "num_attention_heads": 100_000,
    "num_key_value_heads": 100_000,
    "hidden_size": 1_000_000,
    "head_dim": 1_000_000,
    "intermediate_size": 100_000_000,
    "vocab_size": 100_000_000,
}

#: Shares of a head's width.
_SHARES = ("rotary_pct", "partial_rotary_factor")


def _require_possible(checkpoint: Checkpoint, config: Any) -> None:
    """Raise InputError for a size that no network has: building one would not end."""
    for name, largest in _LARGEST.items():
        is_depth = name == "num_hidden_layers"  # of other zeros the library says what they break
        for size in _values(config, name):
            if isinstance(size, (int, float)) and not is_depth <= size <= largest:
                raise _impossible(checkpoint, name, size)
    rotation = getattr(config, "rope_parameters", None)
    shares = dict(rotation) if isinstance(rotation, dict) else {}
    for name in _SHARES:
        share = getattr(config, name, shares.get(name))
        if isinstance(share, (int, float)) and not 0 <= share <= 1:
            raise InputError(
                f"A network's {name} is a share of the head's width and must be from 0 to 1; "
                f"config.json of {checkpoint.directory} makes it {share:.6g}.",
                "Copy or download it again, or check config.json.",
            )


def _impossible(checkpoint: Checkpoint, name: str, size: float) -> InputError:
    return InputError(
        f"A network's {name} must be from 1 to {_LARGEST[name]}; config.json of "
        f"{checkpoint.directory} makes it {size:.6g}.",
        "Copy or download it again, or check config.json.",
    )


def _values(config: Any, name: str) -> list[Any]:
    """Return an entry of a configuration, of each block where they differ; None where it lacks."""
    if name in (getattr(config, "per_layer_attributes", None) or ()):
        return [getattr(of_block, name, None) for of_block in config.per_layer_config]
    return [getattr(config, name, None)]


def not_the_model(checkpoint: Checkpoint, error: Exception) -> InputError:
    """Return the error that a checkpoint is not the model its ``config.json`` describes."""
    return InputError(
        f"The checkpoint {checkpoint.directory} must load as the model its config.json "
        f"describes; it does not: {cause(error, checkpoint.config)}",
        "Copy or download it again, or check config.json.",
    )


def cause(error: Exception, entries: Mapping[str, Any]) -> str:
    """Return why a file does not describe what it should, in words of its own where there are few.

    Parameters
    ----------
    error
        What the library raised.
    entries
        Content of the file.
    """
    if isinstance(error, ZeroDivisionError):
        zeros = [name for name, value in _entries(entries) if type(value) is int and value == 0]
        return f"it divides by zero, and {', '.join(zeros) or 'no entry'} is 0."
    if isinstance(error, RecursionError):
        return "its entries lie too deep in each other."
    if isinstance(error, json.JSONDecodeError):
        return f"one of its files must be readable JSON, and is not: {error}."
    name = _unknown(error)
    known = [other for other, value in _entries(entries) if value == name]
    if name is not None and known:
        return f"{', '.join(known)} is {name!r}, which the library does not know."
    if isinstance(error, KeyError) and error.args:
        return f"it must have an entry {name!r}, and has none."
    return _plain_message(first_line(error))


def _unknown(error: Exception) -> Any:
    """Return what the library looked up and did not find; None where it looked nothing up."""
    if isinstance(error, KeyError) and error.args:
        return error.args[0]
    return error.name if isinstance(error, AttributeError) else None


#: How libraries word what is wrong with an entry, and what is said instead.
_WORDINGS = (
    (
        r".*Field '(?P<name>\w+)' expected (?P<kind>.+), got \w+ \(value: (?P<value>.*)\)",
        r"\g<name> must be of type \g<kind>, and is \g<value>.",
    ),
    (r"Class validation error for validator '\w+': \w+: (.+?)\.?", r"\1."),
    (r"Model missing\. at line .*", "it must have an entry 'model', and has none."),
    (r"missing field `(\w+)` at line .*", r"it must have an entry '\1', and has none."),
    (
        r"data did not match any variant of untagged enum (?:Py)?(\w+?)(Wrapper|Untagged)? at .*",
        r"its \1 is of no kind that the library knows.",
    ),
)


def _plain_message(message: str) -> str:
    """Return a message without what it says of a library's inside, where its wording is known."""
    for pattern, plainly in _WORDINGS:
        match = re.fullmatch(pattern, message)
        if match:
            return match.expand(plainly)
    return message


def _entries(content: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the entries of a JSON object, and those of the objects in it by their paths."""
    for name, value in content.items():
        if isinstance(value, dict):
            yield from ((f"{name}.{inner}", of_inner) for inner, of_inner in _entries(value))
        else:
            yield name, value


def quieten() -> None:
    """Let the library say nothing but errors; whether the hub's client draws bars stays."""
    chatter: Any = transformers.logging
    of_hub: Any = huggingface_hub.utils
    draws_bars = not of_hub.are_progress_bars_disabled()
    chatter.set_verbosity_error()
    chatter.disable_progress_bar()
    if draws_bars:
        of_hub.enable_progress_bars()

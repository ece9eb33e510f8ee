"""The configuration that the header of a GGUF file states, as entries of ``config.json``.

What is taken of a header stands in `architectures`; what is not taken is refused.
"""

from __future__ import annotations

from typing import Any

from collect.errors import UnsupportedModelError
from collect.model.checkpoint.gguf.architecture import Number, Whole
from collect.model.checkpoint.gguf.architectures import architecture_of
from collect.model.checkpoint.gguf.header import TOKENS, Header, Length, is_whole_number
from collect.model.checkpoint.gguf.keys import INSTEAD, Keys

#: By key of a special token: the entry of the configuration.
_SPECIAL = {
    **{"bos_token_id": "bos_token_id", "eos_token_id": "eos_token_id"},
    "padding_token_id": "pad_token_id",
}


def configuration(header: Header) -> dict[str, Any]:
    """Return the configuration of a file's model.

    Parameters
    ----------
    header
        The file's header; of tensors only those of rotary factors are read.

    Raises
    ------
    UnsupportedModelError
        If files of its architecture are not read, or an entry cannot be carried over.
    InputError
        If an entry is absent or not what it must be.
    """
    architecture = architecture_of(header)
    keys = Keys(header)
    config = dict(architecture.fixed)
    for key, entry in architecture.entries.items():
        config[entry.field] = _taken(keys, key, entry, config)
    for rule in architecture.rules:
        rule(keys, config)
    table = header.tensor("token_embd.weight")
    if table is None:
        raise keys.wrong("vocab_size", None, "the rows of token_embd.weight, which is absent")
    stated = keys.whole("vocab_size", table.shape[0])
    if stated != table.shape[0]:
        raise keys.wrong("vocab_size", stated, f"{table.shape[0]}, the rows of token_embd.weight")
    n_listed = header.metadata.get(TOKENS)
    if isinstance(n_listed, Length) and n_listed > stated:
        raise keys.wrong("vocab_size", stated, f"at least {int(n_listed)}, the tokens listed")
    config["vocab_size"] = stated
    keys.stated(architecture.stated)
    keys.refuse_left()
    _refuse_foreign(header)
    return {
        "model_type": architecture.model_type,
        **config,
        **_special_tokens(header, config["vocab_size"]),
        "tie_word_embeddings": header.tensor("output.weight") is None,
    }


def _taken(keys: Keys, key: str, entry: Whole | Number, config: dict[str, Any]) -> int | float:
    if isinstance(entry, Number):
        number = keys.number(key, entry.default)
        if number < 0:
            raise keys.wrong(key, number, "at least 0")
        return number
    default = config[entry.default] if isinstance(entry.default, str) else entry.default
    return keys.whole(key, default, least=entry.least)


def _special_tokens(header: Header, n_tokens: int) -> dict[str, int | None]:
    """Return the special tokens that the vocabulary names."""
    stated = {name: header.metadata.get(f"tokenizer.ggml.{key}") for key, name in _SPECIAL.items()}
    is_token = {
        name: token is not None and is_whole_number(token) and 0 <= token < n_tokens
        for name, token in stated.items()
    }
    return {name: token if is_token[name] else None for name, token in stated.items()}


def _refuse_foreign(header: Header) -> None:
    """Refuse entries that change what is computed and are of another architecture, or of none.

    Notes of whoever made a file may stand there under names of their own.
    """
    from gguf import MODEL_ARCH_NAMES
    from gguf import Keys as Known

    kinds = (Known.Adapter, Known.xIELU, Known.Diffusion, Known.Clip, Known.ClipVision)
    starts = {
        str(value).partition(".")[0]
        for kind in kinds
        for name, value in vars(kind).items()
        if isinstance(value, str) and not name.startswith("_")
    }
    starts |= {*MODEL_ARCH_NAMES.values()} - {header.architecture}
    of_architectures = {
        value.removeprefix("{arch}.")
        for kind in vars(Known).values()
        for value in (vars(kind).values() if isinstance(kind, type) else ())
        if isinstance(value, str) and value.startswith("{arch}.")
    }
    split = {key: key.partition(".") for key in header.metadata}
    found = [
        key
        for key, (start, _, rest) in split.items()
        if start in starts or (start != header.architecture and rest in of_architectures)
    ]
    if found:
        raise UnsupportedModelError(
            f"The header of {header.path} says {', '.join(sorted(found))}, which a "
            f"{header.architecture} model does not have.",
            INSTEAD,
        )

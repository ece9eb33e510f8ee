"""Refuse a model, or numbers, that a correctly run decoder cannot produce.

Before its first number is kept a model runs a few synthetic tokens, and what it does is compared
with what its adapter promises (`examine`). The numbers of real prompts are checked as they come
(`check_attention`, `check_finite`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from pandas.api.types import is_float_dtype

from collect import schema
from collect.adapters.capability import GAIN, HEAD, HEADS, MAPS, PARTS
from collect.errors import ConformanceError
from collect.model.checkpoint.decoder import Decoder
from collect.model.conformance.examination import Examiner, Repeat
from collect.model.forward.passes import Batch, Watcher
from collect.prompts.tokens import Encoded

#: Runs batches through the body of a model: ``passes.whole`` or ``stream.streamed``, bound.
RunPass = Callable[[Sequence[Batch], Watcher], Iterator[int]]

#: Largest deviation that passes, by property and number format.
#:
#: A number of bfloat16 is rounded by up to 2^-9 = 2e-3 of itself, of float16 by 2^-12 = 2.4e-4,
#: of float32 by 6e-8; the checks repeat in float32 what the model rounds after every step.
#:
#: attention_rows: the entries of a softmax are rounded one by one, then summed in float32.
#: attention_causal: exactly zero, because the mask makes exp of a huge negative number.
#: heads_rebuild_attention: values, maps, weighted values and output are each rounded once.
#: block_adds_up: two sums of terms no larger than the scale are rounded, by three half units at
#: most; the tolerance is twice that. What enters a block is what left the one before, bit for bit.
#: norm_gain: the normed vector, the gain with its offset and their product may each be rounded;
#: the tolerance is twice those three half units. A gain without its offset is off by its size.
#: logits: the head's sums, a scale and the three steps of a soft cap may each be rounded, by four
#: half units together; the tolerance is twice that. In a short format a cap that bends the
#: logits by less than this is not seen.
#: batch_equals_single: other shapes sum in another order, and the softmax multiplies a rounding
#: of the scores by their size; a wrong mask or position moves what attention adds by about its
#: own size.
#: future_unseen: as for the batch.
#: finite: no number may fail to be one.
TOLERANCES = {
    "attention_rows": {"float32": 1e-4, "bfloat16": 3e-2, "float16": 4e-3},
    "attention_causal": {"float32": 0.0, "bfloat16": 0.0, "float16": 0.0},
    "heads_rebuild_attention": {"float32": 1e-5, "bfloat16": 3e-2, "float16": 4e-3},
    "block_adds_up": {"float32": 1e-6, "bfloat16": 1.2e-2, "float16": 1.5e-3},
    "norm_gain": {"float32": 1e-5, "bfloat16": 1.2e-2, "float16": 1.5e-3},
    "logits": {"float32": 1e-5, "bfloat16": 1.6e-2, "float16": 2e-3},
    "batch_equals_single": {"float32": 1e-4, "bfloat16": 5e-2, "float16": 1e-2},
    "future_unseen": {"float32": 1e-4, "bfloat16": 5e-2, "float16": 1e-2},
    "finite": {"float32": 0.0, "bfloat16": 0.0, "float16": 0.0},
}

#: What is wrong where a model fails a check, as far as the check itself can tell.
BLAMED = "The weights, the adapter or this version of transformers is wrong for it."

#: Tokens of the two synthetic prompts.
_LENGTHS = (12, 7)

_SEED = 20


#: Whether every stored tensor is used, which the files show and no pass does.
OF_FILES = "tensors_used"

#: Whether code of transformers is all that there is of the model, which ``config.json`` shows.
OF_CODE = "library_code"

#: Whether the model of a GGUF file computes by its header; no row of ``conformance`` has it, as a
#: model that does not is never measured.
OF_HEADER = "header_read"

#: Everything that is looked at before the first number is kept.
PROPERTIES = (*TOLERANCES, OF_FILES, OF_CODE)


#: Block and size of the largest deviation.
_Deviation = tuple[int | None, float]


@dataclass(frozen=True, slots=True)
class Finding:
    """What the examination found of one property; a row of table ``conformance``.

    Attributes
    ----------
    property
        One of `PROPERTIES`.
    layer
        Block of the largest deviation; None when it belongs to no block.
    deviation
        Largest deviation found; None when it could not be measured.
    tolerance
        Largest deviation that passes.
    is_met
        Whether the property holds; None when numbers that are not finite kept it from being
        checked, or the layout lacks what it is about.
    reason
        What was found, or why it could not be checked; None when the property holds.
    """

    property: str
    layer: int | None
    deviation: float | None
    tolerance: float
    is_met: bool | None
    reason: str | None


def examine(decoder: Decoder, run_pass: RunPass) -> list[Finding]:
    """Compare what a model does with synthetic tokens with what its adapter promises.

    Parameters
    ----------
    decoder
        The model; its parameters need only be there while the pass runs them.
    run_pass
        Runs batches through its body, loaded or streamed.

    Returns
    -------
    One finding per property, in the order of `TOLERANCES`.

    Raises
    ------
    ConformanceError
        If an attention module returns no map, so that nothing can be compared.
    """
    batches, repeats = trials(decoder)
    examiner = Examiner(decoder, [len(prompt) for prompt in batches[0]], repeats)
    for _ in run_pass(batches, examiner):
        pass
    dtype = str(decoder.model.dtype).removeprefix("torch.")
    worst = _block_deviations(examiner, len(decoder.blocks))
    gaps = {name: _gap(decoder, name) for name in TOLERANCES}
    return [
        _finding(name, TOLERANCES[name][dtype], worst.get(name), examiner.n_not_finite)
        if gap is None or _is_above(worst.get(name), TOLERANCES[name][dtype])
        else Finding(name, None, None, TOLERANCES[name][dtype], None, f"not defined: {gap}")
        for name, gap in gaps.items()
    ]


#: What a property is about, where a layout may lack it.
_ABOUT = {
    "attention_rows": (MAPS,),
    "attention_causal": (MAPS,),
    "heads_rebuild_attention": (HEADS, MAPS),
    "norm_gain": (PARTS, GAIN),
    "logits": (HEAD,),
}


def _is_above(deviation: _Deviation | None, tolerance: float) -> bool:
    """Return whether what is there of a property that is not defined as a whole contradicts it."""
    return deviation is not None and not deviation[1] <= tolerance


def _gap(decoder: Decoder, name: str) -> str | None:
    """Return why a property is not defined for a layout, or None where it is."""
    lacks = decoder.adapter.lacks
    return next((lacks[part] for part in _ABOUT.get(name, ()) if part in lacks), None)


def tensors_used(unused: Mapping[str, int] | None) -> Finding:
    """Return what the files show: whether each of their tensors makes up a parameter.

    That one does not says nothing against the numbers, so the model is not refused for it.

    Parameters
    ----------
    unused
        How many tensors are used nowhere, by name without numbers; None where there are no files.
    """
    if unused is None:
        return Finding(OF_FILES, None, None, 0.0, None, "a model in memory has no files")
    n_unused = float(sum(unused.values()))
    reason = f"used nowhere: {', '.join(sorted(unused))}" if unused else None
    return Finding(OF_FILES, None, n_unused, 0.0, None if unused else True, reason)


def library_code(own_code: Mapping[str, str]) -> Finding:
    """Return what ``config.json`` shows: whether the repository has code of its own for the model.

    That code is never run, so that the model may be another than the one that is measured. Code
    of its configuration or tokenizer alone says nothing against the numbers.

    Parameters
    ----------
    own_code
        By class of transformers: the code that stands for it, as ``auto_map`` has it.
    """
    of_model = [code for kind, code in own_code.items() if kind.startswith("AutoModel")]
    named = ", ".join(dict.fromkeys(of_model or own_code.values()))
    reason = f"code of the repository was not run: {named}" if own_code else None
    is_met = False if of_model else None if own_code else True
    return Finding(OF_CODE, None, float(len(of_model)), 0.0, is_met, reason)


def refuse_own_code(own_code: Mapping[str, str]) -> None:
    """Raise ConformanceError where a repository has code of its own for the model."""
    finding = library_code(own_code)
    if finding.is_met is False:
        raise ConformanceError(
            f"The model is not the class of transformers for its type: {finding.reason}. Its "
            "numbers may differ.",
            "Use a conversion of the model without such code; or, if the class of transformers "
            "computes the same, remove auto_map from config.json of a copy.",
        )


def refuse_misread(contradicted: Sequence[str]) -> None:
    """Raise ConformanceError where a model does not compute by the header of its GGUF file."""
    finding = header_read(contradicted)
    if finding.is_met is False:
        raise ConformanceError(
            "The model must compute what the header of its file says; it does not: "
            f"{finding.reason}.",
            "Take the safetensors files of the model.",
        )


def header_read(contradicted: Sequence[str]) -> Finding:
    """Return whether a model computes by what the header of its GGUF file says.

    Parameters
    ----------
    contradicted
        What `header_agreement.contradictions` returned.
    """
    reason = "; ".join(contradicted[:3]) or None
    return Finding(OF_HEADER, None, float(len(contradicted)), 0.0, not contradicted, reason)


def trials(decoder: Decoder) -> tuple[list[Batch], list[Repeat]]:
    """Return two prompts together, each alone, and the first with another last token."""
    config = decoder.config
    n_context = decoder.adapter.n_context(config) or max(_LENGTHS)
    generator = torch.Generator().manual_seed(_SEED)
    tokens = [
        torch.randint(config.vocab_size, (min(length, n_context),), generator=generator).tolist()
        for length in _LENGTHS
    ]
    changed = [*tokens[0][:-1], (tokens[0][-1] + 1) % config.vocab_size]
    long, short, other = (
        Encoded(f"synthetic:{place}", tuple(ids), (False,) * len(ids))
        for place, ids in enumerate([*tokens, changed])
    )
    repeats = [
        Repeat("batch_equals_single", 0, len(long), len(long)),
        Repeat("batch_equals_single", 1, len(short), len(short)),
        Repeat("future_unseen", 0, len(long) - 1, len(long)),
    ]
    return [(long, short), (long,), (short,), (other,)], repeats


def _block_deviations(examiner: Examiner, n_blocks: int) -> dict[str, _Deviation]:
    """Return the largest deviation of each property that every block, or the end, has shown."""
    blocks: set[int | None] = set(range(n_blocks))
    worst: dict[str, _Deviation] = {
        name: max(of_blocks.items(), key=lambda item: item[1])
        for name, of_blocks in examiner.deviations.items()
        if of_blocks.keys() == ({None} if name == "logits" else blocks)
    }
    counts = examiner.n_not_finite
    worst["finite"] = (_first(counts), float(sum(counts.values())))
    return worst


def _first(layers: Iterable[int | None]) -> int | None:
    """Return the first block among some; None when there is none."""
    return min((layer for layer in layers if layer is not None), default=None)


def _finding(
    name: str, tolerance: float, deviation: _Deviation | None, n_not_finite: dict[int | None, int]
) -> Finding:
    """Return the finding of a property, given the numbers by block that are not finite."""
    if deviation is None and not n_not_finite:
        part = "the final norm is not called" if name == "logits" else _NOT_CALLED
        return Finding(name, None, None, tolerance, False, part)
    if deviation is None:
        layer = _first(n_not_finite)
        where = "after the last block" if layer is None else f"from block {layer} on"
        reason = f"numbers are not finite {where}"
        return Finding(name, None, None, tolerance, None, reason)
    layer, size = deviation
    is_met = size <= tolerance
    return Finding(name, layer, size, tolerance, is_met, None if is_met else _WHAT_FAILS[name])


_NOT_CALLED = "a block did not call its parts"

_WHAT_FAILS = {
    "attention_rows": "rows of attention do not sum to 1",
    "attention_causal": "attention reaches later tokens",
    "heads_rebuild_attention": "the heads do not make up what attention returns",
    "block_adds_up": "what the parts of a block add does not make up its output",
    "norm_gain": "attention or feed-forward does not read the stream through the norm named",
    "logits": "final norm, head and scale do not give the logits of the model",
    "batch_equals_single": "a prompt in a batch gives other numbers than alone",
    "future_unseen": "a changed last token changes the states of tokens before it",
    "finite": "numbers are not finite",
}


def refuse(findings: Sequence[Finding], dtype: str = "float32") -> None:
    """Raise ConformanceError if a pass shows that a property does not hold."""
    failed = [each for each in findings if each.is_met is False and each.property != OF_CODE]
    if not failed:
        return
    first = failed[0]
    if first.property == "finite" and dtype == "float16":
        where = "after the last block" if first.layer is None else f"in block {first.layer}"
        raise ConformanceError(
            f"float16 overflows {where}: {first.deviation:g} numbers are not finite, and the "
            "largest that it holds is 65,504.",
            "Use --dtype bfloat16 or --dtype float32.",
        )
    place = "" if first.layer is None else f", largest in block {first.layer}"
    size = "not measured" if first.deviation is None else f"{first.deviation:.3g}"
    others = ", ".join(finding.property for finding in failed[1:])
    raise ConformanceError(
        f"The model must do what its adapter promises, but {first.reason}: the deviation of "
        f"{first.property} is {size}{place}, the tolerance {first.tolerance:g}"
        f"{f'; besides: {others}' if others else ''}.",
        BLAMED,
    )


def check_attention(attention: pd.DataFrame, dtype: str, *, has_sinks: bool = False) -> None:
    """Raise ConformanceError unless every map is causal and its mass is its number of tokens.

    Parameters
    ----------
    attention
        One row per (prompt_id, layer, head); the columns of table ``attention``.
    dtype
        Number format of the forward pass.
    has_sinks
        Whether rows may sum to less than 1, as with a learned sink.
    """
    tolerance = TOLERANCES["attention_rows"][dtype]
    mean_row = attention["mass"] / attention["n_tokens"]
    lowest = 0.0 if has_sinks else 1 - tolerance
    _check(
        attention,
        ~mean_row.between(lowest, 1 + tolerance),
        f"Rows of an attention map must sum to 1 within {tolerance:g}"
        f"{', or to less with a sink' if has_sinks else ''}",
        "mass",
    )
    _check(
        attention,
        ~(attention["above_diagonal"] == 0),
        "A causal attention map must be zero above the diagonal",
        "above_diagonal",
    )


def check_finite(table: str, rows: pd.DataFrame) -> None:
    """Raise ConformanceError unless every number is finite that the table demands."""
    demanded = {column.name for column in schema.tables()[table].columns if not column.nullable}
    for name in (name for name in rows.columns if name in demanded and is_float_dtype(rows[name])):
        _check(
            rows,
            ~np.isfinite(rows[name]),
            f"Every {name} of table {table} must be a finite number",
            name,
        )


def _check(rows: pd.DataFrame, is_wrong: pd.Series, rule: str, column: str) -> None:
    if not is_wrong.any():
        return
    first = rows[is_wrong].iloc[0]
    place = ", ".join(f"{name} {first[name]}" for name in _PLACE if name in rows.columns)
    raise ConformanceError(
        f"{rule}; {int(is_wrong.sum())} of {len(rows)} rows do not, the first at {place}: "
        f"{column} = {first[column]}.",
        "No numbers of this unit were kept. A half-precision format may have overflowed: try "
        "--dtype float32. Otherwise the weights or the adapter are wrong.",
    )


_PLACE = ("prompt_id", "layer", "head", "site", "part", "position", "matrix")

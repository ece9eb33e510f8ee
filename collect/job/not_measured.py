"""What a unit lacks, and why: rows of table ``not_measured``, most of them known beforehand."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from collect.adapters.capability import OWN_NEEDS, PARTS
from collect.instruments import quantities
from collect.job.task import Task
from collect.model.checkpoint.decoder import Decoder
from collect.model.description import Missing, missing, undefined


def lacking(
    task: Task,
    skeleton: Decoder,
    asked: Sequence[str],
    filled: Collection[str],
    *,
    unused: Mapping[str, int] | None = None,
    uniform: Mapping[str, float] | None = None,
    contradictions: Mapping[str, str] | None = None,
    is_first: bool = True,
) -> list[Missing]:
    """Return what could not be measured of a unit.

    Parameters
    ----------
    task, skeleton
        The unit, and its model, with or without its weights.
    asked
        All quantities that were asked for, also those that are not defined for the model.
    filled
        The tables that the unit has rows of.
    unused
        How many stored tensors make up no parameter, by name without numbers.
    uniform
        The number that fills a matrix, by the matrix; only the weights tell it.
    contradictions
        By attribute of a module: how it differs from the configuration; see
        `collect.model.conformance.configured`.
    is_first
        False when an earlier unit of the same run says what concerns the model and the prompts.
    """
    tables = {name: quantities.TABLES[name] for name in asked if name in quantities.TABLES}
    of_model = [*_model_gaps(unused or {}, uniform or {}, contradictions or {})]
    of_tokens = [gap for gap in _names(task) if gap.table in filled]
    of_task = [*of_model, *_places(task, skeleton), *of_tokens]
    of_layout = [gap for gap in missing(skeleton) if gap.table in {"model", *filled}]
    gaps = [*of_layout, *undefined(skeleton, tables), *of_task]
    if not is_first:
        return [gap for gap in gaps if gap.table != "model"]
    return [*gaps, *(Missing("prompt", *remark) for remark in task.remarks.items())]


def _model_gaps(
    unused: Mapping[str, int], uniform: Mapping[str, float], contradictions: Mapping[str, str]
) -> Iterator[Missing]:
    """Yield tensors without a use, matrices of one number, and what no configuration says."""
    for name, n in sorted(unused.items()):
        reason = (
            f"{n} of this name, a number for N, {'lies' if n == 1 else 'lie'} in the files and "
            f"{'is' if n == 1 else 'are'} used nowhere: "
            f"config.json describes no place for {'it' if n == 1 else 'them'}."
        )
        yield Missing("model", f"tensor {name}", reason)
    for name, number in sorted(uniform.items()):
        reason = (
            f"Every entry is {number:g}: never trained, pruned, or lost. It is measured as it is."
        )
        yield Missing("model", f"matrix {name}", reason)
    for name, how in sorted(contradictions.items()):
        reason = f"Measured as it is: {how}, so that the saved checkpoint gives other numbers."
        yield Missing("model", f"configuration of {name}", reason)


def _names(task: Task) -> Iterator[Missing]:
    """Yield what only a tokenizer tells of tokens, where there is none."""
    if task.prompt_set is not None and not task.is_decoded:
        reason = "Token ids were measured without a tokenizer, which decodes them."
        yield Missing("next_token", "top_token", reason)
        reason = "Token ids were measured without a tokenizer: none is marked as special."
        yield Missing("next_token", "n_special", reason)
        yield Missing("residual_norm", "is_special", reason)


def _places(task: Task, skeleton: Decoder) -> Iterator[Missing]:
    """Yield where quantities of one's own are to be taken and the model has no such place."""
    if task.prompt_set is None:
        return
    n_layers = len(skeleton.blocks)
    without = {
        "block_mid": not skeleton.adapter.has(PARTS) or skeleton.sites(0).mid is None,
        "final_norm": skeleton.final_norm is None,
    }
    for quantity in quantities.own_among(task.unit.quantities):
        table = "own_vector" if quantity.is_vector else "own_value"
        for part in (OWN_NEEDS[need] for need in quantity.needs):
            if part in skeleton.adapter.lacks:
                yield Missing(table, quantity.name, skeleton.adapter.lacks[part])
        for site in (site for site in quantity.sites if without.get(site)):
            yield Missing(table, f"{quantity.name} at {site}", f"The model has no {site}.")
        for layer in quantity.layers or ():
            if not -n_layers <= layer < n_layers:
                reason = f"The model has {n_layers} blocks."
                yield Missing(table, f"{quantity.name} in layer {layer}", reason)

"""What was measured on prompts, as rows: one function per table of the contract.

Columns are those of the table, without ``run_id`` and ``model_id``. NaN is
written as NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from torch import Tensor

from collect.instruments.attention_maps import AttentionStatistics, MeanMapStatistics
from collect.instruments.gram_accumulator import Norms, Observation, Updates
from collect.instruments.grams import stacked
from collect.instruments.hooks import Recorder
from collect.instruments.imported import ImportedStates
from collect.measures.declaration import MeasuredTable
from collect.measures.predictions import Predictions
from collect.measures.register import FILLED
from collect.model.forward.passes import Batch


def frames(batch: Batch, observation: Observation) -> dict[str, pd.DataFrame]:
    """Return the rows of every table that the observation of one batch fills."""
    return {
        table: _OF_BATCH[table](batch, seen)
        if table in _OF_BATCH
        else site_rows(FILLED[table], batch, seen)
        for table, seen in observation.items()
    }


def joined(parts: Iterable[Mapping[str, pd.DataFrame]]) -> dict[str, pd.DataFrame]:
    """Return the rows of several batches as one frame a table."""
    by_table: dict[str, list[pd.DataFrame]] = {}
    for part in parts:
        for table, frame in part.items():
            by_table.setdefault(table, []).append(frame)
    return {table: pd.concat(of, ignore_index=True) for table, of in by_table.items()}


def across_prompts(recorder: Recorder | ImportedStates, tokenizer: Any) -> dict[str, pd.DataFrame]:
    """Return the rows of the tables that are known only when all prompts have been read.

    Parameters
    ----------
    recorder
        After the last batch.
    tokenizer
        The checkpoint's tokenizer; None where token ids are measured without one.
    """
    of_table = {}
    if recorder.next_token is not None:
        prompts = [prompt for batch in recorder.batches for prompt in batch]
        of_table["next_token"] = next_tokens(prompts, recorder.next_token, tokenizer)
    if recorder.across_prompts:
        of_table["prompt_geometry"] = prompt_geometry(recorder)
    return of_table


def residual_norms(batch: Batch, norms: Norms) -> pd.DataFrame:
    """Return table ``residual_norm``: one row per (prompt_id, layer, site, position)."""
    is_special = [flag for prompt in batch for flag in prompt.is_special]
    columns = _token_columns(batch, norms, "site")
    return pd.DataFrame({**columns, "is_special": np.tile(is_special, len(norms.places))})


def residual_updates(batch: Batch, updates: Updates) -> pd.DataFrame:
    """Return table ``residual_update``: one row per (prompt_id, layer, part, position)."""
    return pd.DataFrame(_token_columns(batch, updates, "part"))


def _token_columns(batch: Batch, measured: Norms | Updates, place: str) -> dict[str, Any]:
    """Return columns with one row per (layer, place) and token of a batch."""
    n_tokens = [len(prompt) for prompt in batch]
    n_places = len(measured.places)
    of_prompt = np.tile(np.repeat(np.arange(len(batch)), n_tokens), n_places)
    of_place = np.repeat(np.arange(n_places), sum(n_tokens))
    positions = np.concatenate([np.arange(n) for n in n_tokens])
    every = {of.name: getattr(measured, of.name) for of in fields(measured) if of.name != "places"}
    return {
        "prompt_id": _name([prompt.prompt_id for prompt in batch], of_prompt),
        "layer": np.array([layer for layer, _ in measured.places])[of_place],
        place: _name([name for _, name in measured.places], of_place),
        "position": np.tile(positions, n_places),
        **{name: _numbers(of).ravel() for name, of in every.items() if of is not None},
    }


def attention(
    batch: Batch, measured: Mapping[int, AttentionStatistics | MeanMapStatistics]
) -> pd.DataFrame:
    """Return table ``attention``, or ``attention_mean`` of statistics without heads.

    One row per (prompt_id, layer) and, in the first, head.
    """
    names = [quantity.name for quantity in fields(next(iter(measured.values())))]
    columns = {
        name: _numbers(stacked([getattr(of_layer, name) for of_layer in measured.values()]))
        for name in names
    }
    shape = columns["mass"].shape
    of_layer, of_prompt, *heads = np.indices(shape).reshape(len(shape), -1)
    return pd.DataFrame(
        {
            "prompt_id": _name([prompt.prompt_id for prompt in batch], of_prompt),
            "layer": np.array([*measured])[of_layer],
            "n_tokens": np.array([len(prompt) for prompt in batch])[of_prompt],
            **{name: numbers.ravel() for name, numbers in columns.items()},
            **dict(zip(["head"], heads, strict=False)),
        }
    )


def site_rows(
    table: MeasuredTable, batch: Batch, measured: Mapping[tuple[int, str], Tensor]
) -> pd.DataFrame:
    """Return a table with one row per (prompt_id, layer, site).

    Parameters
    ----------
    measured
        By (layer, site): of each prompt, the columns of the table after ``n_tokens``.
    """
    places = [*measured]
    of_place, of_prompt = np.indices((len(places), len(batch))).reshape(2, -1)
    numbers = np.concatenate([_numbers(measured[place]) for place in places])
    return pd.DataFrame(
        {
            "prompt_id": _name([prompt.prompt_id for prompt in batch], of_prompt),
            "layer": np.array([layer for layer, _ in places])[of_place],
            "site": _name([site for _, site in places], of_place),
            "n_tokens": np.array([len(prompt) for prompt in batch])[of_prompt],
            **{column.name: numbers[:, i] for i, column in enumerate(table.columns[1:])},
        }
    )


def prompt_geometry(recorder: Recorder | ImportedStates) -> pd.DataFrame:
    """Return table ``prompt_geometry``: one row per (layer, site)."""
    n_prompts = sum(len(batch) for batch in recorder.batches)
    return pd.DataFrame(
        {
            "layer": layer,
            "site": site,
            "n_prompts": n_prompts,
            "mean_cosine": of_site.mean_cosine,
            "uniformity": of_site.uniformity,
            "effective_rank": of_site.effective_rank,
        }
        for (layer, site), of_site in recorder.across_prompts.items()
    ).astype(dict.fromkeys(("mean_cosine", "uniformity", "effective_rank"), float))


def next_tokens(batch: Sequence[Any], measured: Predictions, tokenizer: Any) -> pd.DataFrame:
    """Return table ``next_token``: one row per prompt_id."""
    top_token_ids = measured.top_token_id.tolist()
    return pd.DataFrame(
        {
            "prompt_id": [prompt.prompt_id for prompt in batch],
            "n_tokens": [len(prompt) for prompt in batch],
            "n_special": [sum(prompt.is_special) for prompt in batch],
            "entropy": _numbers(measured.entropy),
            "top_token_id": top_token_ids,
            "top_token": [
                None if tokenizer is None else tokenizer.decode([token_id])
                for token_id in top_token_ids
            ],
            "top_probability": _numbers(measured.top_probability),
        }
    )


def token_predictions(batch: Batch, measured: Predictions) -> pd.DataFrame:
    """Return table ``token_prediction``: one row per (prompt_id, position)."""
    n_tokens = [len(prompt) for prompt in batch]
    return pd.DataFrame(
        {
            "prompt_id": np.repeat([prompt.prompt_id for prompt in batch], n_tokens),
            "position": np.concatenate([np.arange(n) for n in n_tokens]),
            "entropy": _numbers(measured.entropy),
            "top_token_id": _numbers(measured.top_token_id),
            "top_probability": _numbers(measured.top_probability),
            "surprisal": _numbers(measured.surprisal),
        }
    )


def legacy_values(batch: Batch, measured: Mapping[tuple[int, str], Tensor]) -> pd.DataFrame:
    """Return table ``legacy_value``: one row per (prompt_id, layer, metric)."""
    return pd.DataFrame(
        {
            "prompt_id": prompt.prompt_id,
            "layer": layer,
            "metric": metric,
            "value": value,
        }
        for (layer, metric), of_prompts in measured.items()
        for prompt, value in zip(batch, of_prompts.tolist(), strict=True)
    )


#: By table: what makes its rows of what was seen of a batch; others have a row for each site.
_OF_BATCH: dict[str, Callable[[Batch, Any], pd.DataFrame]] = {
    "residual_norm": residual_norms,
    "residual_update": residual_updates,
    "attention": attention,
    "attention_mean": attention,
    "token_prediction": token_predictions,
    "legacy_value": legacy_values,
}


def _numbers(measured: Tensor) -> NDArray[Any]:
    numbers: NDArray[Any] = measured.cpu().numpy()
    return numbers


def _name(names: Sequence[str], places: NDArray[np.intp]) -> Any:
    """Return the names at ``places``, one per row of a frame.

    Each name becomes a text of pandas once, and not in every row.
    """
    return pd.array(names, dtype="str").take(places)

"""One run of a study: trained, measured on the way, and written complete or not at all."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from safetensors.torch import load_file

from collect.record.atomic.files import write_atomically
from collect.record.provenance import versions
from collect.record.writer import write_tables, write_tensors
from collect.schema import SCHEMA_VERSION
from collect.training.descent import Training, fit, some_held_out, windows_of
from collect.training.optimiser import decay_turns, equilibrium_scale, weight_decay
from collect.training.study.design import Design
from collect.training.study.plan import Run
from collect.training.study.responses import (
    TOKENS,
    held_out_loss,
    measured,
    profile_rows,
    require_conforming,
    response_row,
)
from collect.training.text import read_text

#: Tables of a run; the last one commits the others.
TABLES = ("study_level", "study_response", "study_profile", "study_run")


def perform(design: Design, run: Run, out: Path, *, keeps_network: bool) -> None:
    """Train a run, measure it at its checkpoints and write its rows under ``out``."""
    started, clock = datetime.now(UTC).replace(tzinfo=None), time.process_time()
    text = read_text(run.text)
    windows = some_held_out(windows_of(run.recipe, text), design.head.n_measured).held_out
    responses: list[dict[str, Any]] = []
    profiles: list[pd.DataFrame] = []

    def look(step: int, network: Any, loss: float) -> None:
        place: dict[str, Any] = {"study_run_id": run.run_id, "step": step}
        stream = measured(network, windows[:, :-1])
        for tokens in TOKENS:
            row = response_row(stream, tokens)
            responses.append({**place, "tokens": tokens, "loss": loss, **row})
            profiles.append(profile_rows(stream, tokens).assign(**place))

    start = None if run.parent is None else load_file(network_file(out, run.parent))
    training = fit(
        run.recipe, text, start=start, n_held_out=design.head.n_held_out, watch=look, quiet=True
    )
    network = training.network.eval()
    require_conforming(network)
    # A copy of each weight, those that are shared too, which the file could not share.
    state = {name: tensor.detach().clone() for name, tensor in network.state_dict().items()}
    rows = {
        "study_level": _level_rows(design, run),
        "study_response": pd.DataFrame(responses),
        "study_profile": pd.concat(profiles),
    }
    outcome = {**_identity(design, run), **_settings(run), **_summary(training, run, text, state)}
    outcome |= {"started_at": started, "cpu_s": time.process_time() - clock}
    rows["study_run"] = pd.DataFrame([outcome])
    if keeps_network:
        write_atomically(network_file(out, run), lambda path: write_tensors(state, path))
    write_tables({table: rows[table] for table in TABLES}, lambda table: run_file(out, table, run))


def run_file(out: Path, table: str, run: Run) -> Path:
    """Return the file of a run in a table."""
    return out / table / f"{run.run_id}.parquet"


def is_complete(out: Path, run: Run) -> bool:
    """Return whether the rows of a run are there, in every table."""
    return all(run_file(out, table, run).is_file() for table in TABLES)


def network_file(out: Path, run: Run) -> Path:
    """Return the file that keeps the weights of a run for those that train on."""
    return out / "network" / f"{run.run_id}.safetensors"


def _level_rows(design: Design, run: Run) -> pd.DataFrame:
    levels = design.levels_and_labels(run.cell)
    rows = [{"factor": factor, "level": level} for factor, level in levels.items()]
    return pd.DataFrame(rows).assign(study_run_id=run.run_id)


def _identity(design: Design, run: Run) -> dict[str, Any]:
    return {
        **run.named(design),
        "recipe": json.dumps(asdict(run.recipe)),
        "schema_version": SCHEMA_VERSION,
        **versions(),
    }


def _settings(run: Run) -> dict[str, Any]:
    recipe = run.recipe
    scale = equilibrium_scale(recipe)
    return {
        "family": recipe.family,
        "n_layers": recipe.geometry.n_layers,
        "d_model": recipe.geometry.d_model,
        "n_heads": recipe.geometry.n_heads,
        "learning_rate": recipe.optimiser.learning_rate,
        "weight_decay": weight_decay(recipe),
        "decay_turns": decay_turns(recipe),
        "equilibrium_scale": scale if math.isfinite(scale) else None,
    }


def _summary(
    training: Training, run: Run, text: bytes, state: Mapping[str, torch.Tensor]
) -> dict[str, Any]:
    """Return what a run came to, and what it is to be compared with."""
    return {
        "n_parameters": sum(p.numel() for p in training.network.parameters()),
        "n_steps": training.n_steps,
        "loss_before": training.loss_before,
        "loss_after": training.loss_after,
        "bigram_loss": _ngram_loss(run.text, 2),
        "trigram_loss": _ngram_loss(run.text, 3),
        "text_sha256": hashlib.sha256(text).hexdigest(),
        "weights_sha256": _state_sha256(state),
    }


@cache
def _ngram_loss(text: Path, order: int) -> float:
    return held_out_loss(read_text(text), order)


def _state_sha256(state: Mapping[str, torch.Tensor]) -> str:
    digest = hashlib.sha256()
    for name in sorted(state):
        digest.update(name.encode() + b"\0" + state[name].contiguous().numpy().tobytes())
    return digest.hexdigest()

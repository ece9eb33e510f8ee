"""A model as its files give it: loaded, and block by block, in a short number format."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import torch

from collect.instruments.hooks import Recorder
from collect.model.checkpoint import blueprint
from collect.model.checkpoint.decoder import Decoder
from collect.model.checkpoint.load import load_model, load_skeleton
from collect.model.checkpoint.location import locate
from collect.model.checkpoint.shards import Shards
from collect.model.forward.passes import whole
from collect.model.forward.stream import streamed
from tests.collect.shown import LONG, SHORT

FORMAT = "bfloat16"


def loaded_and_streamed(directory: Path) -> tuple[Decoder, dict[Any, Any], dict[Any, Any]]:
    """Return a model loaded in bfloat16, and the norms of its stream from it and from its files.

    Raises
    ------
    NotReplayableError
        If its blocks cannot be run one by one.
    """
    checkpoint = locate(str(directory))
    placed = load_model(checkpoint, dtype=FORMAT)
    skeleton = load_skeleton(checkpoint, dtype=FORMAT)
    shards = Shards(checkpoint, blueprint.model_blueprint(skeleton.model))
    from_files = _norms(skeleton, partial(streamed, skeleton, shards=shards))
    return placed, _norms(placed, partial(whole, placed)), from_files


def _norms(placed: Decoder, run: Any) -> dict[Any, Any]:
    recorder = Recorder([(LONG, SHORT)], placed.adapter.defined(("stream",)))
    for _ in run(recorder.batches, recorder):
        pass
    norms = recorder.observation(0)["residual_norm"]
    return {place: norms.norm[row] for row, place in enumerate(norms.places)}


def are_equal(one: dict[Any, Any], other: dict[Any, Any]) -> bool:
    """Return whether all norms are, bit for bit."""
    return one.keys() == other.keys() and all(torch.equal(one[at], other[at]) for at in one)

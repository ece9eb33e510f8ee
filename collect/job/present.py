"""A model in memory ready to be run: what `subject.Subject` is for a checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, NamedTuple

import torch

from collect.instruments.weights import spectra
from collect.job.settings import Settings
from collect.job.subject import Pass, Subject
from collect.model.checkpoint import leftovers
from collect.model.checkpoint.checkpoint import Checkpoint
from collect.model.checkpoint.decoder import Decoder
from collect.model.conformance import configured
from collect.model.forward.passes import whole


class Present(Subject):
    """What is measured: a model that is in memory, its tokenizer, the settings.

    Nothing is loaded, and nothing is left in the model that would disturb its training.

    Parameters
    ----------
    checkpoint
        What is known of the model; it has no files.
    decoder
        The model, lent by `in_memory.lent`.
    tokenizer
        None when there are no prompts, or token ids alone.
    """

    def __init__(
        self, checkpoint: Checkpoint, decoder: Decoder, tokenizer: Any, settings: Settings
    ) -> None:
        super().__init__(checkpoint.model_id, checkpoint, decoder, tokenizer, settings)

    @property
    def skeleton(self) -> Decoder:
        """The model as it was lent: what it ties is tied in memory."""
        return self._bare

    @property
    def is_streamed(self) -> bool:
        """Never: the model is there."""
        return False

    @property
    def decoder(self) -> Decoder:
        """The model as it was lent."""
        return self._bare

    @property
    def run_pass(self) -> Pass:
        """The function that runs batches through the model's body."""
        return partial(whole, self.decoder, without_gradients=torch.no_grad)

    @property
    def unused(self) -> None:
        """There are no files that could hold a tensor too many."""
        return None

    @property
    def own_code(self) -> dict[str, str]:
        """None: the model is what runs, whatever its configuration names."""
        return {}

    @cached_property
    def contradictions(self) -> dict[str, str]:
        """Where the modules compute by something else than the configuration says."""
        return configured.contradictions(self.decoder.model)

    @property
    def uniform(self) -> dict[str, float]:
        """The matrices that hold one number throughout, and that number."""
        return leftovers.uniform_of(self.decoder.model.named_parameters())

    def weight_rows(self, on_layer: Callable[[], object]) -> dict[str, list[NamedTuple]]:
        """Return the norms of the weights; see `spectra.rows_of_model`."""
        return spectra.rows_of_model(self.decoder, on_layer=on_layer)

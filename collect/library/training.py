"""A training followed as it runs: a callback of transformers' Trainer."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from collect.errors import InputError
from collect.instruments.quantities import Named, chosen
from collect.library.measuring import Prompts, as_output, measure_step
from collect.prompts.sets import given
from collect.schema.counting import require_count

_EVERY = "Give a count of the optimiser's steps, such as 100."


class MeasurementCallback(TrainerCallback):
    """Measures a model every so many steps of transformers' Trainer into a store.

    Each step is a revision of one model (``step0``, ``step100``, ...), so that view
    ``gain_trajectory`` and all others work on it. The first and the last step are measured too;
    where the Trainer puts back its best weights before it ends, a last step that is known only
    afterwards is left out with a warning.
    The training is not touched: mode, attention code and weights are put back, and no random
    number is drawn. What is wrong with the model, the prompts or the store is refused when the
    training begins; what fails later is a warning, and the training goes on.

    Parameters
    ----------
    out
        The store: directory for ``<table>/<unit>.parquet``.
    prompts, quantities, prompt_set
        As for `collect.measure`.
    every
        Steps between two measurements, a whole number of 1 or more [1].
    model_id
        Name of the model; without one ``local/`` and the name of the Trainer's output directory.
    tokenizer
        Without one, the Trainer's ``processing_class``; token ids need none.
    is_strict
        True to end the training when a later step cannot be measured.
    **how
        Others as for `collect.measure_step`.

    Raises
    ------
    InputError
        If ``every`` is no whole number of 1 or more, a quantity is unknown, or the prompts are
        ill-formed.

    Examples
    --------
    >>> import thermoscope as ts
    >>> callback = ts.MeasurementCallback("runs", prompts, every=100)  # doctest: +SKIP
    >>> Trainer(model, arguments, train_dataset=texts, callbacks=[callback])  # doctest: +SKIP
    """

    def __init__(
        self,
        out: str | Path,
        prompts: Prompts,
        *,
        every: int,
        quantities: Named = ("stream",),
        prompt_set: str = "prompts",
        model_id: str | None = None,
        tokenizer: Any = None,
        is_strict: bool = False,
        **how: Any,
    ) -> None:
        every = require_count(
            "The steps between two measurements, every,", every, least=1, hint=_EVERY
        )
        self.out, self.every, self.is_strict = as_output(out), every, is_strict
        self.prompts = given(prompts, prompt_set)
        self.model_id, self.tokenizer = model_id, tokenizer
        chosen(quantities)
        self._how = {"quantities": quantities, **how}
        self._last: int | None = None

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **given: Any
    ) -> None:
        """Measure the model before the first step, and refuse what cannot be measured."""
        if args.deepspeed or args.fsdp:
            raise InputError(
                "A model that is measured as it trains must be whole in one process; FSDP and "
                "DeepSpeed share it out.",
                "Measure its saved checkpoints instead, with --revision 'checkpoint-*'.",
            )
        self._last = None
        self._measure(args, state, given)

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **given: Any
    ) -> None:
        """Measure the model when its time has come."""
        if state.global_step % self.every == 0 or state.global_step >= state.max_steps:
            self._try(args, state, given)

    def on_epoch_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **given: Any
    ) -> None:
        """Measure the model after the last step of a training that was told to stop."""
        if control.should_training_stop:
            self._try(args, state, given)

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **given: Any
    ) -> None:
        """Measure the model after the last step, unless its weights are those of another now."""
        is_put_back = args.load_best_model_at_end and state.best_model_checkpoint is not None
        if not is_put_back:
            self._try(args, state, given)
        elif state.global_step != self._last and state.is_world_process_zero:
            warnings.warn(
                f"Step {state.global_step} was not measured: the Trainer has put back its best "
                "weights, and nothing told before that this step was the last",
                stacklevel=2,
            )

    def _try(self, args: TrainingArguments, state: TrainerState, given: dict[str, Any]) -> None:
        """Measure; unless strict, no failure ends a training."""
        try:
            self._measure(args, state, given)
        except Exception as error:
            if self.is_strict:
                raise
            message = str(error).partition("\n")[0] or type(error).__name__
            warnings.warn(f"Step {state.global_step} was not measured: {message}", stacklevel=2)

    def _measure(self, args: TrainingArguments, state: TrainerState, given: dict[str, Any]) -> None:
        if state.global_step == self._last or not state.is_world_process_zero:
            return
        measure_step(
            given["model"],
            self.tokenizer or given.get("processing_class"),
            self.prompts,
            self.out,
            step=state.global_step,
            tokens=state.num_input_tokens_seen or None,
            model_id=self.model_id or f"local/{Path(str(args.output_dir)).resolve().name}",
            **self._how,
        )
        self._last = state.global_step

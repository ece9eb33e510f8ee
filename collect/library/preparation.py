"""A model object made ready to be measured as a checkpoint is: named, lent, with its tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from collect.errors import InputError
from collect.job.settings import Settings
from collect.job.subject import Present
from collect.job.task import Task, check_chosen, tasks
from collect.library import in_memory
from collect.library.custom import warn_of_custom_parts
from collect.library.lendable import tokenizer_of
from collect.prompts.rendering import check_template
from collect.prompts.sets import PromptSet
from collect.prompts.tokens import needs_tokenizer


@dataclass(frozen=True, slots=True)
class State:
    """The name of a model, its revision as it was given, and how far it was trained."""

    model_id: str
    revision: str | None = None
    step: int | None = None
    tokens: int | None = None

    @property
    def revision_name(self) -> str | None:
        """Name of the revision in a store: of a training each step is one."""
        if self.step is None:
            return self.revision
        return "-".join([f"step{self.step}", *([self.revision] if self.revision else [])])


@contextmanager
def prepare(
    model: Any, tokenizer: Any, sets: Sequence[PromptSet], state: State, how: dict[str, Any]
) -> Iterator[tuple[Present, list[Task]]]:
    """Lend a model that is ready to be measured, with the tasks it is to be measured on."""
    settings = Settings.given({"quiet": True, **how})
    check_chosen(settings, len(sets))
    _require_name("model", "model_id", state.model_id)
    if state.revision is not None:
        _require_name("revision", "revision", state.revision)
    tokenizer = tokenizer_of(tokenizer)
    if tokenizer is None and any(needs_tokenizer(work.prompts) for work in sets):
        raise InputError(
            "Prompts that are text must come with the model's tokenizer, which reads them and "
            "names the tokens; none was given.",
            "Give tokenizer, or prompts as token ids; without prompts the weights are measured "
            "alone.",
        )
    if tokenizer is not None and settings.rendering == "chat":
        check_template(tokenizer, state.model_id)
    with in_memory.lent(model) as decoder, in_memory.explained(decoder):
        device, dtype = in_memory.device_of(decoder), in_memory.dtype_of(decoder)
        for name, value in {"device": device, "dtype": dtype, "stream": False}.items():
            if how.get(name, value) not in (value, str(value).partition(":")[0]):  # cuda is cuda:0
                raise InputError(
                    f"A model object is measured as it is, with {name} {value}; found {name} "
                    f"{how[name]}.",
                    f"Leave {name} out; collect.run measures a saved checkpoint in another way.",
                )
        settings = replace(settings, device=device, dtype=dtype)
        checkpoint = in_memory.described(
            decoder, state.model_id, state.revision_name, step=state.step, tokens=state.tokens
        )
        warn_of_custom_parts(decoder.model)
        digest = in_memory.weights_sha256(decoder, state.revision)
        subject = Present(checkpoint, decoder, tokenizer, settings, sets)
        yield subject, tasks(subject, digest)


def _require_name(what: str, argument: str, name: Any) -> None:
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise InputError(
            f"The name of a {what} must be text that can be printed and is not empty; "
            f"found {name!r}.",
            f'Give {argument}, such as "own/gpt2".',
        )

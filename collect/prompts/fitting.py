"""Whether a model can read prompts: their tokens, and their number beside its context."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from collect.errors import InputError
from collect.prompts.tokens import Encoded

#: What may be done with prompts that are longer than the context of a model.
TOO_LONG = ("refuse", "skip", "truncate", "extend")

#: What was done, in the words of a remark.
_DONE = {
    "skip": "it was left out",
    "truncate": "the tokens after that were cut off",
    "extend": "it was read whole",
}

#: Prompts that a message names at most.
_SHOWN = 3


class TooLongError(InputError):
    """A prompt has more tokens than the context of the model (exit code 2)."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """Prompts as a model can read them.

    Attributes
    ----------
    prompts
        Those that are read, each within the context.
    too_long
        By prompt_id: how many tokens a prompt had that was left out, cut or read all the same.
    policy
        One of `TOO_LONG`.
    n_context
        Longest input of the model [tokens]; None where it has no limit.
    at_least
        Those of ``too_long`` that have more tokens than it says: their beginning was counted.
    """

    prompts: tuple[Encoded, ...]
    too_long: dict[str, int]
    policy: str
    n_context: int | None
    at_least: frozenset[str] = frozenset()

    @property
    def remarks(self) -> dict[str, str]:
        """What was done to each prompt that was too long, in a sentence."""
        return {
            prompt_id: f"It has {_more(prompt_id in self.at_least)}{n} tokens, and the context of "
            f"the model is {self.n_context}: {_DONE[self.policy]}, as asked for."
            for prompt_id, n in self.too_long.items()
        }


def fitted(
    prompts: Sequence[Encoded],
    n_context: int | None,
    n_vocabulary: int,
    *,
    policy: str = "refuse",
) -> Fitted:
    """Return prompts as a model can read them.

    Parameters
    ----------
    prompts
        Prompts as token ids.
    n_context
        Longest input of the model [tokens]; None where it has no limit.
    n_vocabulary
        Rows of the token embedding.
    policy
        What to do with prompts of more than ``n_context`` tokens: ``refuse``, ``skip``, which
        leaves them out, ``truncate``, which keeps their first ``n_context`` tokens, or ``extend``,
        which keeps them whole, for a model that computes positions (see `position_table`).

    Raises
    ------
    InputError
        If a prompt has no token or one that the model lacks; if prompts are too long and that is
        to be refused, or none is left.
    """
    for prompt in prompts:
        if not prompt.token_ids:
            raise InputError(
                f"A prompt must have at least one token; {prompt.prompt_id} has none.",
                "Leave it out, or put a start token in front with --special-tokens always.",
            )
        if max(prompt.token_ids) >= n_vocabulary:
            raise InputError(
                f"Every token must be one of the model's {n_vocabulary}; {prompt.prompt_id} holds "
                f"token {max(prompt.token_ids)}.",
                "The tokenizer belongs to another model, or the token ids do that were given.",
            )
    long = {p.prompt_id: len(p) for p in prompts if n_context is not None and len(p) > n_context}
    at_least = frozenset(prompt.prompt_id for prompt in prompts if prompt.is_beginning)
    if long and (policy == "refuse" or (policy == "skip" and len(long) == len(prompts))):
        raise _refusal(long, len(prompts), n_context, policy, at_least)
    remaining = list(prompts)
    if policy == "skip":
        remaining = [prompt for prompt in prompts if prompt.prompt_id not in long]
    elif policy == "truncate":
        remaining = [
            replace(
                prompt,
                token_ids=prompt.token_ids[:n_context],
                is_special=prompt.is_special[:n_context],
            )
            if prompt.prompt_id in long
            else prompt
            for prompt in prompts
        ]
    return Fitted(tuple(remaining), long, policy, n_context, at_least)


def _more(is_counted_in_part: bool) -> str:
    return "more than " if is_counted_in_part else ""


def _refusal(
    long: dict[str, int], n: int, n_context: int | None, policy: str, at_least: Collection[str]
) -> TooLongError:
    named = sorted(long, key=lambda prompt_id: -long[prompt_id])[:_SHOWN]
    shown = ", ".join(f"{name} has {_more(name in at_least)}{long[name]}" for name in named)
    if policy == "skip":
        hint = "Use --too-long truncate, which reads as many tokens as fit, or leave the model out."
    else:
        hint = (
            "Add --too-long skip, which leaves them out, --too-long truncate, which reads as many "
            "tokens as fit, or, with rotary positions or ALiBi, --too-long extend, which reads "
            "them whole."
        )
    return TooLongError(
        f"A prompt must fit the model's context of {n_context} tokens; {len(long)} of {n} "
        f"{'does' if len(long) == 1 else 'do'} not: {shown}"
        f"{', and others fewer' if len(long) > _SHOWN else ''}.",
        hint,
    )

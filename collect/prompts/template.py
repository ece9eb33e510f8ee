"""Chat templates, run where they can do no harm: in a child process with bounds.

A template comes with a checkpoint and is a program: it can loop without end or ask for all memory.
It runs in a copy of this process, so that every tokenizer renders as it always does, and the copy
is ended when it has used its time or memory.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeAlias

from collect.errors import InputError

TIME_LIMIT_S = 10
WAIT_LIMIT_S = 120
MEMORY_LIMIT_BYTES = 2**29
LENGTH_LIMIT = 1_000_000


#: A conversation: turns, each with ``role`` and ``content``.
Conversation: TypeAlias = "Sequence[Mapping[str, str]]"


def rendered(conversations: Sequence[Conversation], tokenizer: Any) -> list[str]:
    """Return each conversation in the tokenizer's chat template.

    Where the last turn is not the assistant's, its answer is to begin.

    Where processes cannot be copied (Windows), the template runs here, without bounds.

    Parameters
    ----------
    conversations
        What is said.
    tokenizer
        With a chat template.

    Raises
    ------
    InputError
        If the template fails, takes more than `TIME_LIMIT_S` of processor time, more than
        `MEMORY_LIMIT_BYTES`, or adds more than `LENGTH_LIMIT` characters to a conversation.
    """
    if "fork" not in multiprocessing.get_all_start_methods():
        answer = _answer(conversations, tokenizer)
    else:
        answer = _answer_of_a_child(conversations, tokenizer)
    if isinstance(answer, str):
        raise InputError(
            f"The chat template must render a user's turn; it fails: {answer}",
            "Leave --chat-template out, or correct the template.",
        )
    return answer


def _answer(conversations: Sequence[Conversation], tokenizer: Any) -> list[str] | str:
    """Return the texts, or the reason why there are none."""
    texts = []
    try:
        for turns in conversations:
            is_answered = turns[-1]["role"] == "assistant"
            text = str(
                tokenizer.apply_chat_template(
                    [dict(turn) for turn in turns],
                    tokenize=False,
                    add_generation_prompt=not is_answered,
                )
            )
            if len(text) > sum(len(turn["content"]) for turn in turns) + LENGTH_LIMIT:
                return f"it adds more than {LENGTH_LIMIT:,} characters."
            texts.append(text)
    except MemoryError:
        return f"it asks for more than {MEMORY_LIMIT_BYTES >> 20} MiB."
    except Exception as error:
        return str(error).strip().partition("\n")[0] or type(error).__name__
    return texts


def _answer_of_a_child(conversations: Sequence[Conversation], tokenizer: Any) -> list[str] | str:
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(
        target=_send, args=(sender, list(conversations), tokenizer), daemon=True
    )
    with warnings.catch_warnings():
        # The child runs the template and nothing that another thread could have locked.
        warnings.simplefilter("ignore", DeprecationWarning)
        child.start()
    sender.close()
    answer: list[str] | str = f"it takes more than {TIME_LIMIT_S} s."
    try:
        if receiver.poll(WAIT_LIMIT_S):
            with suppress(EOFError):
                answer = receiver.recv()
    finally:
        child.kill()
        child.join()
        receiver.close()
    return answer


def _send(sender: Connection, conversations: list[Conversation], tokenizer: Any) -> None:
    """Run the template within bounds and send what came of it; for the child process."""
    import resource

    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.__stderr__.fileno() if sys.__stderr__ else 2)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (TIME_LIMIT_S, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    size = Path("/proc/self/statm")
    if size.exists():
        held = int(size.read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (held + MEMORY_LIMIT_BYTES, hard))
    sender.send(_answer(conversations, tokenizer))

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
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from collect.errors import InputError

TIME_LIMIT_S = 10
WAIT_LIMIT_S = 120
MEMORY_LIMIT_BYTES = 2**29
LENGTH_LIMIT = 1_000_000


def rendered(texts: Sequence[str], tokenizer: Any) -> list[str]:
    """Return each text as a user's turn in the tokenizer's chat template, the answer to begin.

    Where processes cannot be copied (Windows), the template runs here, without bounds.

    Parameters
    ----------
    texts
        What the users say.
    tokenizer
        With a chat template.

    Raises
    ------
    InputError
        If the template fails, takes more than `TIME_LIMIT_S` of processor time, more than
        `MEMORY_LIMIT_BYTES`, or adds more than `LENGTH_LIMIT` characters to a text.
    """
    if "fork" not in multiprocessing.get_all_start_methods():
        answer = _answer(texts, tokenizer)
    else:
        answer = _answer_of_a_child(texts, tokenizer)
    if isinstance(answer, str):
        raise InputError(
            f"The chat template must render a user's turn; it fails: {answer}",
            "Leave --chat-template out, or correct the template.",
        )
    return answer


def _answer(texts: Sequence[str], tokenizer: Any) -> list[str] | str:
    """Return the turns, or the reason why there are none."""
    turns = []
    try:
        for text in texts:
            messages = [{"role": "user", "content": text}]
            turn = str(
                tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
            )
            if len(turn) > len(text) + LENGTH_LIMIT:
                return f"it adds more than {LENGTH_LIMIT:,} characters."
            turns.append(turn)
    except MemoryError:
        return f"it asks for more than {MEMORY_LIMIT_BYTES >> 20} MiB."
    except Exception as error:
        return str(error).strip().partition("\n")[0] or type(error).__name__
    return turns


def _answer_of_a_child(texts: Sequence[str], tokenizer: Any) -> list[str] | str:
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_send, args=(sender, list(texts), tokenizer), daemon=True)
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


def _send(sender: Connection, texts: list[str], tokenizer: Any) -> None:
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
    sender.send(_answer(texts, tokenizer))

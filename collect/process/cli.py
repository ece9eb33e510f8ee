"""The command line: it runs a verb and words each of its ends; no traceback reaches the user."""

from __future__ import annotations

import argparse
import errno
import gc
import os
import signal
import sys
import traceback
from collections.abc import Sequence

from collect.errors import (
    InputError,
    MissingExtraError,
    OutputError,
    ThermoscopeError,
    UnexpectedError,
    first_line,
    scarcity,
)
from collect.process.interruption import is_interruption
from collect.process.parser import as_typed, parsed
from collect.process.requests import ENDINGS
from collect.process.starting import keep_memory
from collect.process.terminal import guarded
from collect.process.verbs import COLLECTION, PROGRAM, declared

#: Packages that come with an extra, and its name.
_EXTRAS = {
    "accelerate": "collect",
    "filelock": "collect",
    "huggingface_hub": "collect",
    "pingouin": "stats",
    "ray": "fleet",
    "safetensors": "collect",
    "statsmodels": "stats",
    "tokenizers": "collect",
    "torch": "collect",
    "tqdm": "collect",
    "transformers": "collect",
}

#: Halves of a sign, which JSON may name and no file can hold.
_HALF_SIGNS = ("\ud800", "\udfff")

#: How a full disk, a closed pipe or a lost terminal shows when something is printed.
_OF_OUTPUT = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


def main(arguments: Sequence[str] | None = None, *, program: str = PROGRAM) -> int:
    """Run the command line and return its exit code; no traceback reaches the user."""
    is_process = arguments is None
    given = sys.argv[1:] if arguments is None else list(arguments)
    if is_process:
        for ending in ENDINGS:
            if signal.getsignal(ending) == signal.SIG_DFL:  # nohup has a closed terminal ignored
                signal.signal(ending, signal.default_int_handler)
    options = argparse.Namespace(debug=False, is_process=is_process)
    with guarded():
        try:
            return _run(given, program, options)
        except SystemExit:
            raise
        except BaseException as error:  # code of others may raise what it likes
            if isinstance(error, BrokenPipeError):
                _drop_output()
                return 0
            problem, hint, code = worded(error)
            if options.debug and code == UnexpectedError.exit_code:
                trace = "".join(traceback.format_exception(error))
                print(trace.encode("ascii", "backslashreplace").decode(), file=sys.stderr)
            if code == 130 and getattr(options, "verb", "").startswith(COLLECTION):
                hint = "The same command resumes."
            print(f"error: {as_typed(problem, program)}", file=sys.stderr)
            if hint:
                print(f"hint: {as_typed(hint, program)}", file=sys.stderr)
            return code


def _run(given: Sequence[str], program: str, options: argparse.Namespace) -> int:
    try:
        verb = parsed(given, declared(), program, options)
    finally:
        sys.stdout.flush()  # the help; a reader who has gone shows here
    if options.is_process and verb.run.startswith(COLLECTION):
        keep_memory()
    elif options.is_process:
        # Frames make no cycles: at the usual threshold an eighth of `claims` looks for them.
        gc.set_threshold(100_000, 50, 100)
    code = verb.start(options)
    sys.stdout.flush()
    return code


def worded(error: BaseException) -> tuple[str, str, int]:
    """Return what an exception means to a person: the problem, a hint, and the exit code."""
    if isinstance(error, ThermoscopeError):
        known = error
    elif is_interruption(error):
        return "interrupted", "", 130
    elif isinstance(error, UnicodeEncodeError):
        character = error.object[error.start]
        known = OutputError(
            f"The encoding of the output lacks {character!a}.", "Set PYTHONIOENCODING=utf-8."
        )
        if _HALF_SIGNS[0] <= character <= _HALF_SIGNS[1]:  # which no encoding has
            known = InputError(
                f"A text that was given or read holds {character!a}, which is half of a character.",
                "Write the character whole, or leave it out.",
            )
    else:
        known = (
            scarcity(error)
            or _missing(error)
            or _unloadable(error)
            or _system_refusal(error)
            or UnexpectedError(error)
        )
    return known.problem, known.hint, known.exit_code


def _missing(error: BaseException) -> MissingExtraError | None:
    """Return which extra has the package that cannot be imported; None where none has it."""
    name = error.name or "" if isinstance(error, ModuleNotFoundError) else ""
    extra = _EXTRAS.get(name.partition(".")[0])
    if extra is None:
        return None
    return MissingExtraError(
        f"This command needs the package {name}, which is not installed.",
        f"Install the extra: pip install 'thermoscope[{extra}]', or in a clone: "
        f"pip install -e '.[{extra}]'.",
    )


def _unloadable(error: BaseException) -> InputError | None:
    """Return that Python finds other libraries than its own; None where it looks for no others."""
    if not isinstance(error, ImportError) or isinstance(error, ModuleNotFoundError):
        return None
    if "LD_LIBRARY_PATH" not in os.environ:
        return None
    return InputError(
        f"LD_LIBRARY_PATH must not name libraries that Python cannot use: {first_line(error)}.",
        "Run the command without it: env -u LD_LIBRARY_PATH thermoscope ..., and from R, which "
        'sets it, system2(..., env = "LD_LIBRARY_PATH=").',
    )


def _system_refusal(error: BaseException) -> ThermoscopeError | None:
    """Return what the operating system refused: a name, a file, or the standard output."""
    if not isinstance(error, OSError):
        return None
    if error.errno == errno.ENAMETOOLONG:
        return InputError(f"The name {ascii(error.filename)[1:60]}... is too long.", "Shorten it.")
    if error.filename is not None:
        name = ascii(str(error.filename))[1:-1]
        return InputError(
            f"The file {name} cannot be used: {error.strerror}.",
            "Check its permissions and directory.",
        )
    if error.errno not in _OF_OUTPUT:
        return None
    _drop_output()
    return OutputError(
        f"Standard output cannot be written: {error.strerror}.",
        "Free some space, or send the output elsewhere.",
    )


def _drop_output() -> None:
    """Let what is still buffered go nowhere: it would fail again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

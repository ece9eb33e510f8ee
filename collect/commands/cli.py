"""The command line of collection, verb by verb; no traceback reaches the user."""

from __future__ import annotations

import argparse
import errno
import sys
import traceback
from collections.abc import Sequence

from collect.commands import options as accepted
from collect.commands.acts import ACTS
from collect.commands.printing import show
from collect.errors import (
    CollectError,
    InputError,
    MissingExtraError,
    UnexpectedError,
    scarcity,
)
from collect.schema.process.interruption import is_interruption
from collect.schema.process.terminal import guarded

#: Packages that come with an extra, and its name.
_EXTRAS = {
    **dict.fromkeys(
        (
            "accelerate",
            "filelock",
            "huggingface_hub",
            "safetensors",
            "tokenizers",
            "torch",
            "tqdm",
            "transformers",
        ),
        "collect",
    ),
    "ray": "fleet",
}


@guarded()
def main(  # noqa: PLR0911  # one per kind of end
    arguments: Sequence[str] | None = None, *, program: str = accepted.MODULE
) -> int:
    """Run the command line and return its exit code; no traceback reaches the user.

    Parameters
    ----------
    arguments
        Words after the command; those of the command line unless given.
    program
        What the command is called in its help.
    """
    options = argparse.Namespace(debug=False)
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if refusal := accepted.unknown_verb(given, program):
            raise refusal
        options = _options(given, program)
        return ACTS[options.verb](options)
    except CollectError as error:
        hint = accepted.as_typed(error.hint, program)
        return _complain(accepted.as_typed(error.problem, program), hint, error.exit_code)
    except ModuleNotFoundError as error:
        extra = _EXTRAS.get((error.name or "").partition(".")[0])
        if extra is None:
            return _unexpected(error, options)
        missing = MissingExtraError(
            f"This command needs the package {error.name}, which is not installed.",
            f"Install the extra: pip install 'thermoscope[{extra}]', or in a clone: "
            f"pip install -e '.[{extra}]'.",
        )
        return _complain(missing.problem, missing.hint, missing.exit_code)
    except KeyboardInterrupt:
        return _interrupted()
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            return _unexpected(error, options)
        name = ascii(error.filename)[1:60]
        problem = f"A name must be one that a file can bear; {name}... is too long."
        return _complain(problem, "Shorten it.", InputError.exit_code)
    except SystemExit:
        raise
    except BaseException as error:  # code of others may raise what it likes
        return _interrupted() if is_interruption(error) else _unexpected(error, options)


def _interrupted() -> int:
    print("interrupted; the same command resumes", file=sys.stderr)
    return 130


def _unexpected(error: BaseException, options: argparse.Namespace) -> int:
    if options.debug:
        trace = "".join(traceback.format_exception(error))
        print(trace.encode("ascii", "backslashreplace").decode(), file=sys.stderr)
    defect = scarcity(error) or UnexpectedError(error)
    return _complain(defect.problem, defect.hint, defect.exit_code)


def _options(arguments: Sequence[str], program: str) -> argparse.Namespace:
    try:
        return accepted.parser(program).parse_args(arguments)
    except BrokenPipeError:  # earlier releases of Python 3.11 do not catch it where help is printed
        raise SystemExit(0) from None
    finally:
        show("", end="")  # sends off the help, which parse_args leaves in the buffer


def _complain(problem: str, hint: str, exit_code: int) -> int:
    print(f"error: {problem}", file=sys.stderr)
    if hint:
        print(f"hint: {hint}", file=sys.stderr)
    return exit_code

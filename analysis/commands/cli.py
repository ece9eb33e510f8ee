"""The command line: its verbs, and how each of its ends is said; no traceback reaches the user."""

from __future__ import annotations

import argparse
import errno
import gc
import os
import sys
import traceback
from collections.abc import Iterable, Mapping, Sequence

from analysis.commands import claim, pages, study, tables, verdicts
from analysis.commands.options import MODULE, Verb, as_typed, divided, parser, unknown_verb
from analysis.tidy.child import child_code
from analysis.tidy.errors import AnalysisError, UnexpectedError, scarcity

#: What runs each verb.
VERBS: Mapping[str, Verb] = {
    "claims": verdicts.verdicts,
    "claim": claim.claim,
    "study": study.study,
    "sql": tables.sql,
    "l-star": tables.l_star,
    "signs": tables.signs,
    "specifications": tables.specifications,
    "stated": tables.stated,
    "forensics": tables.forensics,
    "report": pages.report,
    "init": pages.init,
}

#: How a full disk, a closed pipe or a lost terminal shows when something is printed.
_OF_OUTPUT = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


def collect_rarely() -> None:
    """Let Python look for cycles of garbage rarely: frames make none, and commands are short.

    At the usual threshold an eighth of the time of `claims` goes into looking.
    """
    gc.set_threshold(100_000, 50, 100)


def main(
    arguments: Sequence[str] | None = None,
    *,
    program: str = MODULE,
    further: Iterable[str] = (),
    is_process: bool = False,
) -> int:
    """Run the command line and return its exit code; no traceback reaches the user.

    Parameters
    ----------
    arguments
        Words after the command; those of the command line unless given.
    program
        What the command is called in its help.
    further
        Verbs of collection, of which the nearest is named when an unknown one is typed.
    is_process
        Whether the process ends with what is returned: a statement then runs in a child of it.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = argparse.Namespace(debug=False)
    try:
        if refusal := unknown_verb(*divided(given, program), program, further):
            raise refusal
        options = parser(VERBS, program).parse_args(given)
        code = _run(options, is_process=is_process)
        sys.stdout.flush()
    except AnalysisError as error:
        hint = as_typed(error.hint, program)
        return _complain(as_typed(error.problem, program), hint, error.exit_code)
    except KeyboardInterrupt:
        return _interrupted()
    except UnicodeEncodeError as error:
        character = ascii(error.object[error.start])
        return _complain(
            f"The output must take {character}; its encoding does not.",
            "Set PYTHONIOENCODING=utf-8.",
            5,
        )
    except OSError as error:
        return _refused_by_system(error, options)
    except SystemExit:
        raise
    except BaseException as error:  # code of others may raise what it likes
        from collect.schema import is_interruption

        return _interrupted() if is_interruption(error) else _unexpected(error, options)
    return code


def _run(options: argparse.Namespace, *, is_process: bool) -> int:
    """Run a verb, a statement in a child; what it prints of others' data steers no terminal."""
    if is_process and options.run is tables.sql and (options.query or not sys.stdin.isatty()):
        code = child_code(options.timeout)
        if code is not None:
            return code
    from collect.schema import guarded

    with guarded():
        return int(options.run(options))


def _harmless(text: str) -> str:
    """Return text without signs that steer a terminal; the schema is loaded if it has any."""
    if text.isprintable():
        return text
    from collect.schema import harmless

    return harmless(text)


def _interrupted() -> int:
    return _complain("The command was interrupted.", "", 130)


def _refused_by_system(error: OSError, options: argparse.Namespace) -> int:
    """Say what the operating system refused: the standard output, a file, or something else."""
    if error.errno == errno.ENAMETOOLONG:
        return _complain(*_too_long(error), AnalysisError.exit_code)
    if error.filename is not None and not scarcity(error):
        name = ascii(str(error.filename))[1:-1]
        problem = f"The file {name} must be there for this command to use; {error.strerror}."
        return _complain(problem, "Look at its rights and its directory.", 2)
    if error.errno not in _OF_OUTPUT:
        return _unexpected(error, options)
    # What is still buffered must not be written at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return 0
    return _complain(f"The output must be writable; {error.strerror}.", "", 5)


def _too_long(error: OSError) -> tuple[str, str]:
    name = ascii(error.filename)[1:60]
    return f"A name must be one that a file can bear; {name}... is too long.", "Shorten it."


def _unexpected(error: BaseException, options: argparse.Namespace) -> int:
    if options.debug:
        trace = "".join(traceback.format_exception(error))
        print(_harmless(trace.encode("ascii", "backslashreplace").decode()), file=sys.stderr)
    defect = scarcity(error) or UnexpectedError(error)
    return _complain(defect.problem, defect.hint, defect.exit_code)


def _complain(problem: str, hint: str, exit_code: int) -> int:
    print(f"error: {_harmless(problem)}", file=sys.stderr)
    if hint:
        print(f"hint: {_harmless(hint)}", file=sys.stderr)
    return exit_code

"""What became of a job: the units that are done, and the models that were refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from collect.errors import (
    CollectError,
    OutputError,
    ScarcityError,
    UnexpectedError,
    scarcity,
)
from collect.process.interruption import is_interruption
from collect.record import queue
from collect.schema.counting import counted


@dataclass(frozen=True, slots=True)
class Done:
    """One unit that is there now.

    Attributes
    ----------
    unit
        Stem of its files.
    run_id
        Identity of its run.
    state
        ``measured``, or ``complete`` where the output held it already.
    n_rows
        Rows written, that of ``run`` left out.
    duration_s
        How long it took [s].

    Examples
    --------
    >>> Done("tiny@A", "06a14dc1d2eaa5ac", "measured", n_rows=3).state
    'measured'
    """

    unit: str
    run_id: str
    state: str
    n_rows: int = 0
    duration_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Refusal:
    """A model that was not measured, and why.

    Attributes
    ----------
    model
        As named, with its revision where it has one.
    problem, hint, exit_code
        As in `CollectError`. No exception is kept: it would hold the model in memory.
    """

    model: str
    problem: str
    hint: str
    exit_code: int

    @property
    def sentence(self) -> str:
        """What is wrong with which model."""
        return self.problem if self.model in self.problem else f"{self.model}: {self.problem}"


@dataclass(slots=True)
class Outcome:
    """What became of a job.

    Attributes
    ----------
    units
        Every unit that is there now, in the order of the job.
    refusals
        The models that were refused.

    Examples
    --------
    >>> Outcome([Done("tiny@A", "06a14dc1d2eaa5ac", "complete")]).refusals
    []
    """

    units: list[Done] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)


class RefusedError(CollectError):
    """Models were refused among several; the exit code is that of the first.

    Parameters
    ----------
    outcome
        What became of the job.
    n_models
        How many models, and revisions of models, it had.

    Examples
    --------
    >>> refusal = refusal_of("tiny", ValueError("no weights"))
    >>> RefusedError(Outcome(refusals=[refusal]), n_models=1).exit_code == refusal.exit_code
    True
    """

    def __init__(self, outcome: Outcome, n_models: int) -> None:
        refusals = outcome.refusals
        self.outcome = outcome
        self.exit_code = refusals[0].exit_code
        n = len(refusals)
        rest = "" if n == n_models else "; the others were not stopped by that"
        listed = [f"\n  {refusal.sentence}" for refusal in refusals]
        sentences = f" {refusals[0].sentence}" if n == 1 else "".join(listed)
        hints = dict.fromkeys(refusal.hint for refusal in refusals if refusal.hint)
        super().__init__(
            f"{n} of {counted(n_models, 'model')} {'was' if n == 1 else 'were'} refused{rest}:"
            f"{sentences}",
            "\n".join(hints),
        )


def refusal_of(model: str, error: Exception) -> Refusal:
    """Return the refusal that an exception stands for; one that nobody foresaw is a defect."""
    known = error if isinstance(error, CollectError) else UnexpectedError(error)
    return Refusal(model, known.problem, known.hint, known.exit_code)


@contextmanager
def noted(
    model: str, refusals: list[Refusal], *, goes_on: bool, out: Path | None = None
) -> Iterator[None]:
    """Note what is wrong with a model, so that the job goes on to the next.

    What no model is to blame for, an output that cannot be written or a machine that lends no
    more, ends the job.

    Parameters
    ----------
    model
        As `Refusal` has it.
    refusals
        Where to note.
    goes_on
        False to end the job at once.
    out
        The output whose queue, if it has one, is to say so too.
    """
    try:
        yield
    except (OutputError, ScarcityError):
        raise
    except Exception as error:
        if is_interruption(error) or scarcity(error) is not None:
            raise
        refusal = refusal_of(model, error)
        if out is not None:
            queue.note_refused(out, model, refusal.problem)
        if not goes_on:
            raise
        refusals.append(refusal)


def as_text(refusals: Sequence[Refusal]) -> str:
    """Return refusals for people, a line each."""
    return "\n".join(f"refused: {refusal.sentence}" for refusal in refusals)

"""A verb of the command line as data, and the exit codes of all of them."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module

#: What the command is called.
PROGRAM = "thermoscope"

#: The word in front of the verbs that measure; ``python -m collect`` may leave it out.
COLLECTION = "collect"

#: Where the verbs of each package are declared.
_DECLARED = ("analysis.commands.verbs", "collect.commands.verbs")

#: What each exit code means, unless a verb says it in words of its own.
EXIT_CODES: Mapping[int, str] = {
    0: "success",
    1: "a check found a difference or a fault",
    2: "wrong input: an unknown name or option, a bad value, or a file that is missing or damaged",
    3: "a package that this needs is not installed; the message names the extra that brings it",
    4: "something had to come over the network and did not",
    5: "the output cannot be written",
    6: "the model does not do what its adapter promises; nothing is kept",
    7: "no test was found that can be recomputed",
    70: "internal error, a defect of this program (--debug before the verb shows its trace)",
    71: "out of memory, processes or open files",
    130: "interrupted from the keyboard",
}

#: The codes with which every verb can end.
ALWAYS = (0, 2, 5, 70, 71, 130)


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb as its help shows it.

    Attributes
    ----------
    meaning
        What it is for, in the list of verbs.
    description
        What it does, in a sentence or two.
    examples
        What may stand after the command, with a remark, which may be empty.
    options
        Adds its options to a parser.
    run
        The function that runs it, as ``module:name``; it takes the options and returns an exit
        code, and is imported when the verb is run.
    codes
        The exit codes beside `ALWAYS`, and those with words of their own; no words stand for those
        of `EXIT_CODES`.
    """

    meaning: str
    description: str
    examples: Mapping[str, str]
    options: Callable[[argparse.ArgumentParser], None]
    run: str
    codes: Mapping[int, str] = field(default_factory=dict)

    def exit_codes(self) -> dict[int, str]:
        """Return what each exit code of the verb means, the least first."""
        known = sorted({*ALWAYS, *self.codes})
        return {code: self.codes.get(code) or EXIT_CODES[code] for code in known}

    def start(self, options: argparse.Namespace) -> int:
        """Run the verb and return its exit code."""
        module, _, name = self.run.partition(":")
        return int(getattr(import_module(module), name)(options))


def declared() -> dict[str, Verb]:
    """Return every verb of both packages, by what is typed."""
    return {
        name: verb for module in _DECLARED for name, verb in import_module(module).VERBS.items()
    }

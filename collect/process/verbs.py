"""A verb of the command line as data, and the exit codes of all of them."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module

#: What the command is called.
PROGRAM = "thermoscope"

#: The word in front of the verbs that measure; ``python -m collect`` may leave it out.
COLLECTION = "collect"

#: Where the verbs of each package are declared.
_DECLARED = ("analysis.commands.verbs", "collect.commands.verbs")

EXIT_CODES = """\
exit codes:
  0  success
  1  a check found a difference: claims, study, collect codebook with --check, collect check, or
     collect states with --against;
     forensics: a reported test contradicts itself; collect models: a type is unknown
  2  wrong input: unknown name, bad query, damaged or missing data, or an --out where a file lies
     that is another's
  3  a package of an extra is not installed
  4  something had to come over the network and did not
  5  the output cannot be written, the report cannot be rendered, or a page has faults
  6  a model does not conform to its adapter; nothing is kept
  7  no test was found that can be recomputed (forensics)
 70  internal error (--debug before the verb shows its trace)
 71  out of memory, processes or open files, or --timeout is over
130  interrupted from the keyboard
"""


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
    """

    meaning: str
    description: str
    examples: Mapping[str, str]
    options: Callable[[argparse.ArgumentParser], None]
    run: str

    def start(self, options: argparse.Namespace) -> int:
        """Run the verb and return its exit code."""
        module, _, name = self.run.partition(":")
        return int(getattr(import_module(module), name)(options))


def declared() -> dict[str, Verb]:
    """Return every verb of both packages, by what is typed."""
    return {
        name: verb for module in _DECLARED for name, verb in import_module(module).VERBS.items()
    }

"""The reference names every public name and every verb, and each name has an example."""

from importlib import import_module

import pytest

from analysis.report import reference
from collect.process.verbs import EXIT_CODES, declared

#: Names whose example needs a whole training, which examples/api runs.
IN_A_TRAINING = {"MeasurementCallback", "measure_step", "CollectError"}


def described(package):
    """Return what the reference says of each public name, by name."""
    parts = ("\n\n" + reference.api(package)).split("\n\n### ")[1:]
    return {part.partition(" ")[0]: part for part in parts}


@pytest.mark.parametrize("package", ["analysis.mixed", "analysis.inference", "collect"])
def test_every_public_name_is_described_with_an_example(package):
    entries = described(package)
    assert [*entries] == [*import_module(package).__all__]
    assert len(entries) > 10
    without = {name for name, part in entries.items() if "&gt;&gt;&gt; " not in part}
    assert without <= IN_A_TRAINING


def test_every_verb_is_described():
    shown = reference.commands()
    assert [name for name in declared() if f"### {name} " not in shown] == []


def test_the_exit_codes_are_those_of_the_help():
    codes = [line.split()[0] for line in EXIT_CODES.splitlines()[1:] if line[2:3].isdigit()]
    shown = reference.exit_codes()
    assert codes
    assert all(f"\n{code:>3}  " in shown.replace("<code>", "\n") for code in codes)

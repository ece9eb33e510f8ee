"""The reference names every public name and every verb, and each name has an example."""

import pytest

from analysis.report import reference
from collect.process.verbs import declared

#: Names whose example needs a whole training, which examples/api runs.
IN_A_TRAINING = {"MeasurementCallback", "measure_step", "CollectError"}


@pytest.mark.parametrize("package", reference.PACKAGES)
def test_every_public_name_has_an_example(package):
    having = reference.examples(package)
    assert {name for name, has in having.items() if not has} <= IN_A_TRAINING
    assert len(having) > 10


def test_every_public_name_and_every_verb_is_described():
    said = reference.api("collect")
    assert [name for name in reference.examples("collect") if f"### {name} " not in said] == []
    shown = reference.commands()
    assert [name for name in declared() if f"### {name} " not in shown] == []

"""A fleet whose truth is known, judged once for all that ask it something."""

import numpy as np
import pytest

from analysis.delia2026.study import status as standing
from tests.analysis.delia2026.study.simulated import filled, packages


@pytest.fixture(scope="package")
def simulated_fleet(tmp_path_factory):
    """Return a fleet in which recipes of one lab differ."""
    return filled(tmp_path_factory.mktemp("fleet"), packages(np.random.default_rng(10)))


@pytest.fixture(scope="package")
def stands(simulated_fleet):
    """Return where each registered statement stands in that fleet."""
    return standing.statements(simulated_fleet, rng=np.random.default_rng(0))

"""With the paper's raw files open as well, the verdicts are those committed beside the others."""

import io
from pathlib import Path

import pandas as pd
import pytest

from analysis import claims
from analysis.commands.cli import to_csv
from analysis.store import open_store

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def judged_raw(imported):
    store = open_store(ROOT / "data/published", ROOT / "data/sample", imported)
    yield claims.evaluate(store)
    store.connection.close()


def test_the_committed_numbers_are_those_of_the_raw_files(judged_raw):
    committed = pd.read_csv(ROOT / "reports/claims_raw_files.csv")
    again = pd.read_csv(io.StringIO(to_csv(judged_raw)))
    # The last digits of a bootstrap quantile may differ between machines.
    pd.testing.assert_frame_equal(again, committed, rtol=1e-6)


def test_raw_files_decide_what_the_figures_alone_leave_open(judged_raw, judged):
    turned = judged_raw["verdict"] != judged["verdict"]
    assert set(judged.loc[turned, "verdict"]) == {"no data", "undecided"}
    found = dict(zip(judged_raw["claim_id"][turned], judged_raw["verdict"][turned], strict=True))
    assert found == {28: "reproduced", 30: "reproduced", 60: "contradicted"}

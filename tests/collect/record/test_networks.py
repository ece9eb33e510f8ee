"""Two networks of one name: refused where they are opened, found where they are checked."""

import shutil
from pathlib import Path

import pytest

from analysis.store import open_store
from analysis.tidy.errors import StoreError
from collect.job.run import run
from collect.record.integrity import faults
from collect.record.publication.database import write_database
from collect.schema import ContractError
from tests.collect.conftest import edit_config


@pytest.fixture
def measure(save_tiny, tmp_path):
    """Measure the stream of a tiny model called m, on a prompt set of a name."""

    def measured(place, *, prompts, seed=0, **config):
        file = tmp_path / f"{prompts}.txt"
        file.write_text("The sky is\n")
        checkpoint = save_tiny("gpt2", seed=seed, at=f"{place}/m")
        edit_config(checkpoint, **config)
        out = tmp_path / place / "out"
        run([str(checkpoint)], [file], out, quantities=["stream"], quiet=True)
        return out

    return measured


def beside(first, second):
    """Copy the files of the second output beside those of the first."""
    return Path(shutil.copytree(second, first, dirs_exist_ok=True))


@pytest.mark.parametrize(
    ("how", "what"), [({"seed": 1}, "weights"), ({"layer_norm_epsilon": 0.1}, "configurations")]
)
def test_two_networks_of_one_name_are_refused_however_they_are_put_together(
    measure, tmp_path, how, what
):
    one, other = measure("one", prompts="a"), measure("other", prompts="b", **how)
    named = rf"^Two networks are named local/m: their {what} differ"
    with pytest.raises(StoreError, match=named) as refusal:
        open_store(one, other)
    assert "a of " in refusal.value.hint
    assert "b of " in refusal.value.hint
    with pytest.raises(ContractError, match=named):
        write_database([one, other], tmp_path / "both.duckdb")
    assert not [*faults(one), *faults(other)]
    both = beside(one, other)
    (fault,) = faults(both)
    assert "local--m@a" in fault
    assert "local--m@b" in fault
    with pytest.raises(StoreError, match=named):
        open_store(both, verify=True)


def test_one_network_on_two_prompt_sets_is_one(measure):
    one, other = measure("one", prompts="a"), measure("other", prompts="b")
    assert open_store(one, other).query("SELECT count(*) AS n FROM run")["n"].item() == 2
    assert not [*faults(beside(one, other))]

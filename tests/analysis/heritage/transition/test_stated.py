"""Stated numbers are computed again, agree or differ, and say why when they cannot be."""

import pytest

from analysis.heritage.transition import stated
from analysis.store import open_store
from analysis.tidy.errors import StoreError
from tests.analysis.places import PUBLISHED, SHARED

RAW = SHARED / "published/Results"
HEADER = "stated_id,place,quantity,printed,unit,accuracy,query,through,reason"


@pytest.fixture(scope="module")
def shipped(published_store):
    return stated.ledger(published_store)


def entries(ledger, status):
    return set(ledger.loc[ledger["status"] == status, "term"])


def test_every_stated_number_has_a_status_and_a_place_in_print(shipped):
    assert len(shipped) > 100
    assert set(shipped["status"]) <= set(stated.STATUSES)
    without = shipped[shipped["status"] == "cannot be computed"]
    assert without["estimate"].isna().all()
    assert without["note"].str.len().gt(20).all()
    assert sum(stated.counted(shipped).values()) == len(shipped)
    missing = stated.printable(shipped, "cannot be computed")
    assert set(missing["computed"]) == {"–"}
    assert len(stated.printable(shipped)) == len(shipped)
    differing = stated.printable(shipped, stated.DIFFERS).set_index("term")
    r = differing.loc["abstract: r of depth and gain, Pythia"]
    assert (r["printed"], r["computed"]) == ("−0.81", "−0.878")
    everywhere = stated.printable(shipped)
    assert not everywhere["term"].str.contains("notes [0-9B]").any()
    assert set(everywhere["status"]) == {"=", "≠", "raw", "–"}
    trace = everywhere["term"] == "our notes: mean trace over heads, gpt2"
    assert everywhere.loc[trace, "computed"].tolist() == ["62,695.868"]


def test_what_the_paper_states_and_its_files_do_not_bear_out(shipped):
    of_paper = shipped[~shipped["place"].str.startswith("notes")]
    assert entries(of_paper, "differs") == {
        "labs whose models have a published gain",
        "r of depth and gain, Pythia",
        "p of depth and gain, Pythia",
        "share of Meta's and OpenAI's models that expand",
        "p of lab and sign",
        "mean gain of EleutherAI, as drawn",
        "standard error of EleutherAI, as drawn",
        "exponent of the scaling law",
        "MAPE of L/2",
        "within-heritage MAPE",
    }


def test_with_the_raw_files_no_number_is_left_for_want_of_them(tmp_path):
    if not RAW.is_dir():
        pytest.skip(f"The paper's raw files are not at {RAW}.")
    from collect.commands.cli import main

    assert main(["published", str(RAW), "--out", str(tmp_path / "raw")]) == 0
    result = stated.ledger(open_store(PUBLISHED, tmp_path / "raw"))
    assert entries(result, "needs the raw files") == set()
    ours = result[result["place"].str.startswith("notes")]
    assert entries(ours, "differs") == set()
    assert "exponent of the scaling law" in entries(result, "differs")


@pytest.mark.parametrize(
    ("row", "status"),
    [
        ("here,count,3,1,,SELECT 3,,", "agrees"),
        ("here,count,3,1,,SELECT 4,,", "differs"),
        ("here,mean,2.50,1,,SELECT 2.5049,,", "agrees"),
        ("here,mean,2.50,1,,SELECT 2.5051,,", "differs"),
        ("here,mean,2.50,1,0.01,SELECT 2.509,,", "agrees"),
        ("here,mean,≥ 2,models,,SELECT 9,,", "agrees"),
        ('here,p,0.0031,1,,"SELECT -0.892, 8",pearson_p,', "differs"),
        ('here,p,0.0029,1,,"SELECT -0.892, 8",pearson_p,', "agrees"),
        ('here,p,0.029,1,,"SELECT 4, 0, 0, 4",fisher_p,', "agrees"),
        ('here,layer,1,layers,,"SELECT [0, 3, 9, 9]",argmax_abs_gradient,', "agrees"),
        ("here,count,3,1,,SELECT NULL,,", "needs the raw files"),
        ("here,count,3,1,,SELECT 3 WHERE false,,", "needs the raw files"),
        ("here,count,3,1,,,,nobody kept it", "cannot be computed"),
    ],
)
def test_the_status_of_a_number_by_hand(tmp_path, row, status):
    (tmp_path / "stated_number.csv").write_text(f"{HEADER}\n1,{row}\n", encoding="utf-8")
    assert _ledger(tmp_path)["status"].tolist() == [status]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("place,quantity\nhere,count\n", "columns of table stated_number; missing: stated_id"),
        (f"{HEADER}\n1,here,count,3,1,,SELECT 3,magic,\n", "known function; found 'magic'"),
        (f"{HEADER}\n1,here,count,3,1,,SELEC 3,,\n", "query of 'count' in stated_number must run"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_in_one_sentence(tmp_path, content, message):
    (tmp_path / "stated_number.csv").write_text(content, encoding="utf-8")
    with pytest.raises(StoreError, match=message):
        _ledger(tmp_path)


def _ledger(directory):
    for table in (PUBLISHED).glob("claim.csv"):
        (directory / table.name).write_bytes(table.read_bytes())
    return stated.ledger(open_store(directory))


def test_a_store_without_the_points_of_figure_5_lacks_their_error(published_store, made_store):
    numbers = published_store.query("FROM stated_number WHERE through = 'error_over_depth'")
    store = made_store(stated_number=numbers.to_dict("records"))
    assert len(stated.ledger(store)) == len(numbers) > 0
    assert set(stated.ledger(store)["status"]) == {stated.ABSENT}

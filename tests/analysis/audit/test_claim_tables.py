"""The tables of claims, of quoted numbers and of shipped values: whole, and what the paper says."""

import re
from dataclasses import replace

import pandas as pd
import pytest

from analysis import audit as claims
from analysis.audit import claim_tables, evidence
from analysis.audit.claim import Claim, Line
from analysis.audit.evidence import quoted
from analysis.forensics import rounding
from analysis.heritage.pages.register import CLAIMS
from analysis.store import open_store
from analysis.tidy import numerals
from analysis.tidy.errors import StoreError
from analysis.tidy.spreadsheet import to_csv
from tests.analysis.places import PUBLISHED, ROOT, SHARED

HOME = PUBLISHED
ONE = Claim(
    1,
    "mean",
    "It is 2.",
    lambda _: [],
    statement='"two, or so"',
    place="§1",
    lines=(Line("the mean", "mean gain", 2), Line("the mean", "p", 0.05, None, 0.1)),
)


def test_tables_that_are_absent_or_of_other_claims_are_named_and_written(tmp_path):
    assert claim_tables.differing(CLAIMS, HOME) == []
    assert len(claim_tables.tables(CLAIMS)) == 6
    assert claim_tables.tables({1: ONE}) == {
        "claim.csv": 'claim_id,statement,place\n1,"""two, or so""",§1\n',
        "claim_line.csv": "claim_id,part,measure,value,low,high\n"
        "1,the mean,mean gain,2,,\n1,the mean,p,0.05,,0.1\n",
    }
    assert claim_tables.differing({1: ONE}, tmp_path) == ["claim.csv", "claim_line.csv"]
    claim_tables.write({1: ONE}, tmp_path)
    assert claim_tables.differing({1: ONE}, tmp_path) == []
    assert claim_tables.differing({1: replace(ONE, place="§2")}, tmp_path) == ["claim.csv"]


PAPER = SHARED / "paper"

#: Printed inside the images, or counted in them, of which the text has only the captions.
IN_IMAGES = {"n_clipped"}

HEADER = "claim_id,place,quantity,subject,printed,unit,accuracy"


def test_every_quoted_row_belongs_to_a_claim_a_model_and_a_notebook(published_store):
    rows = quoted.quoted(published_store)
    known = set(published_store.query("FROM claim")["claim_id"])
    assert set(rows["claim_id"]) <= known
    assert not rows.duplicated(["place", "quantity", "subject", "printed"]).any()
    is_name = rows["quantity"].isin(["notebook", "excluded_positional_scheme"])
    for value in rows.loc[~is_name & (rows["printed"] != ""), "printed"]:
        rounding.read(value)
    rows = quoted.quoted(published_store)
    models = set(published_store.query("FROM model")["model_id"])
    assert {name for name in rows["subject"] if "/" in name} <= models
    notebooks = set(published_store.query("FROM published_file")["notebook"].dropna())
    assert set(rows.loc[rows["quantity"] == "notebook", "printed"]) <= notebooks
    bars = quoted.at(published_store, "Fig. 2")
    assert (bars["accuracy"] > 0).all()
    assert quoted.text(published_store, "§5.5", "gain", "google/gemma-7b") == "2.32"


def test_what_is_quoted_is_printed_in_the_paper(published_store):
    if not PAPER.is_dir():
        pytest.skip(f"the paper's text is not at {PAPER}")
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(PAPER.glob("*.md")))
    plain = re.sub(r"[\\${}]", "", numerals.plain(text)).replace(" times", "×")
    rows = quoted.quoted(published_store)
    in_a_file = rows["place"].str.endswith(".json")
    printed = rows[rows["accuracy"].isna() & ~rows["quantity"].isin(IN_IMAGES) & ~in_a_file]
    for value in printed["printed"]:
        digits = numerals.plain(value).rstrip("× ")
        assert digits in plain, value


def test_a_store_without_them_has_no_quoted_number(tiny_store):
    assert quoted.quoted(tiny_store).empty
    with pytest.raises(LookupError, match=r"the p_value printed in §4.2 is not in the store"):
        quoted.text(tiny_store, "§4.2", "p_value")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("claim_id,place\n1,x\n", "columns of table quoted_number; missing: quantity, subject"),
        (f"{HEADER}\none,x,y,z,1,1,\n", "invalid value 'one'"),
        (f"{HEADER}\n1,x,y,z,1,1,-0.5\n", "CHECK constraint failed"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path, content, reason):
    (tmp_path / "quoted_number.csv").write_text(content)
    with pytest.raises(StoreError, match=reason):
        open_store(tmp_path)


@pytest.fixture(scope="module")
def store_raw(imported):
    store = open_store(PUBLISHED, ROOT / "data/sample", imported)
    yield store
    store.connection.close()


def test_with_the_raw_files_every_check_comes_out_alike(store_raw, judged, made):
    again = claims.examine(store_raw, CLAIMS)
    assert to_csv(claims.evaluate(store_raw, CLAIMS, made=again)) == to_csv(judged)
    assert repr(again) == repr(made)
    read, imported = (
        store_raw.query(f"SELECT file, path, value FROM {table} ORDER BY ALL")
        for table in ("raw_value", "published_value")
    )
    pd.testing.assert_frame_equal(read, imported)


def test_shipped_values_name_their_claims_and_three_of_25_change_sides(published_store):
    gains = evidence.raw_values(published_store, "gain_last_block", [evidence.TWINS])
    expands = gains.set_index(["model_id", "prompt_id"])["value"] > 1
    base, tuned = "mistralai/Mistral-7B-v0.1", "mistralai/Mistral-7B-Instruct-v0.2"
    assert len(expands[base]) == 25
    assert int((expands[base] != expands[tuned]).sum()) == 3
    named = published_store.query("SELECT DISTINCT claims FROM published_excerpt")["claims"]
    assert {int(number) for joined in named for number in joined.split(",")} <= set(CLAIMS)

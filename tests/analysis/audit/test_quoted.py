"""The quoted numbers: loaded from a store's sources, readable, and really in the paper."""

import re
from pathlib import Path

import pytest

from analysis.audit.evidence import quoted
from analysis.forensics import rounding
from analysis.store import open_store
from analysis.tidy import numerals
from analysis.tidy.errors import StoreError

ROOT = Path(__file__).parents[3]
PAPER = ROOT.parent / "shared" / "paper"

#: Printed inside the images, or counted in them, of which the text has only the captions.
IN_IMAGES = {"n_clipped"}

HEADER = "claim_id,place,quantity,subject,printed,unit,accuracy"


def test_every_row_belongs_to_a_claim_and_every_value_can_be_read(published_store):
    rows = quoted.quoted(published_store)
    known = set(published_store.query("FROM claim")["claim_id"])
    assert set(rows["claim_id"]) <= known
    assert not rows.duplicated(["place", "quantity", "subject", "printed"]).any()
    is_name = rows["quantity"].isin(["notebook", "excluded_positional_scheme"])
    for value in rows.loc[~is_name & (rows["printed"] != ""), "printed"]:
        rounding.read(value)


def test_every_model_and_notebook_named_is_known(published_store):
    rows = quoted.quoted(published_store)
    models = set(published_store.query("FROM model")["model_id"])
    assert {name for name in rows["subject"] if "/" in name} <= models
    notebooks = set(published_store.query("FROM published_file")["notebook"].dropna())
    assert set(rows.loc[rows["quantity"] == "notebook", "printed"]) <= notebooks


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


def test_numbers_read_off_a_figure_say_how_well(published_store):
    bars = quoted.at(published_store, "Fig. 2")
    assert (bars["accuracy"] > 0).all()
    assert quoted.text(published_store, "§5.5", "gain", "google/gemma-7b") == "2.32"


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

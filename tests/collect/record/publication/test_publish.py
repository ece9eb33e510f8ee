"""What makes a store found and used: its description in Croissant, and its card."""

import importlib.util
import json
import shutil
from datetime import date
from pathlib import Path

import pytest

from collect.commands.cli import main
from collect.errors import InputError
from collect.record.integrity import faults
from collect.record.publication.description import CONTEXT, About
from collect.record.publication.publish import publish
from collect.schema import ContractError, table_files
from collect.schema.listing import DESCRIPTION, listed_files
from collect.schema.marks import file_sha256
from tests.collect.record.written import SAMPLE, copy_sample, flip

STEM = "thermoscope--gpt2-l4-adamw"
OPTIONS = ["--license", "CC-BY-4.0", "--creator", "Some group", "--date", "2026-11-22"]

#: The rules of Croissant 1.0 that a description of tables can break: what each thing must have.
RULES = {
    "sc:Dataset": {"name", "description", "license", "conformsTo", "distribution", "recordSet"}
    | {"creator", "datePublished", "version", "citeAs", "url"},
    "cr:FileObject": {"@id", "name", "contentUrl", "encodingFormat", "sha256", "contentSize"},
    "cr:FileSet": {"@id", "name", "encodingFormat", "includes"},
    "cr:RecordSet": {"@id", "name", "field"},
    "cr:Field": {"@id", "name", "description", "dataType", "source"},
}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """One model of the sample and a table in CSV, published by the command."""
    directory = tmp_path_factory.mktemp("published")
    copy_sample(directory, STEM, f"{STEM}@A_grand_unified")
    shutil.copy2(SAMPLE / "gauge_profile.csv", directory)
    (directory / "README.md").write_text("# Ours\n\nWhat a person wrote.\n", encoding="utf-8")
    citation = directory / ".how.bib"
    citation.write_text("@misc{some, title={Streams}}\n", encoding="utf-8")
    how = [*OPTIONS, "--name", "Streams", "--url", "https://example.org/x", "--citation"]
    assert main(["publish", str(directory), *how, str(citation)]) == 0
    return directory


@pytest.fixture(scope="module")
def result(store):
    return json.loads((store / DESCRIPTION).read_text(encoding="utf-8"))


def things(node):
    """Yield every object that has a type, its context left out."""
    if isinstance(node, dict):
        if "@type" in node:
            yield node
        for name, part in node.items():
            if name != "@context":
                yield from things(part)
    elif isinstance(node, list):
        for part in node:
            yield from things(part)


def test_the_description_keeps_the_rules_of_croissant(result):
    assert result["@context"] == CONTEXT
    for thing in things(result):
        lacking = RULES.get(thing["@type"], set()) - thing.keys()
        assert not lacking, (thing.get("@id"), lacking)
    names = [thing["@id"] for thing in things(result) if "@id" in thing]
    assert len(names) == len({*names})
    used = [field["source"] for table in result["recordSet"] for field in table["field"]]
    assert all((source.get("fileSet") or source["fileObject"])["@id"] in names for source in used)
    keys = [key["@id"] for table in result["recordSet"] for key in table.get("key", [])]
    assert {*keys} <= {*names}


def test_mlcroissant_finds_no_fault(store):
    if importlib.util.find_spec("mlcroissant") is None:
        pytest.skip("mlcroissant is not installed")
    import mlcroissant

    dataset = mlcroissant.Dataset(str(store / DESCRIPTION))
    assert not dataset.metadata.ctx.issues.errors
    assert len(list(dataset.records("run"))) == 2


def test_every_file_is_listed_with_its_size_and_hash(store, result):
    files = listed_files(json.dumps(result), "here")
    for file in files:
        assert (store / file.name).stat().st_size == file.n_bytes
        assert file_sha256(store / file.name) == file.sha256
    used = {p.relative_to(store).as_posix() for ps in table_files(store).values() for p in ps}
    assert {file.name for file in files} == used


def test_the_card_has_a_head_for_hubs_and_keeps_what_a_person_wrote(store, tmp_path):
    text = (store / "README.md").read_text(encoding="utf-8")
    head = text.split("---\n")[1]
    assert "license: cc-by-4.0\n" in head
    assert '- config_name: attention\n  data_files: "attention/*.parquet"\n' in head
    assert '- config_name: gauge_profile\n  data_files: "gauge_profile.csv"\n' in head
    assert "@misc{some" in text
    assert text.endswith("# Ours\n\nWhat a person wrote.\n")
    again = Path(shutil.copytree(store, tmp_path / "again"))
    assert main(["publish", str(again), *OPTIONS, "--name", "Other"]) == 0
    card = (again / "README.md").read_text(encoding="utf-8")
    assert card.count("What a person wrote.") == card.count("# Other") == 1
    assert "# Streams" not in card


def about(**other):
    known = {"name": "n", "licence": "MIT", "description": "d", "creators": ("c",)}
    return About(**{**known, "version": "1.0.0", "published": date(2026, 11, 22), **other})


@pytest.mark.parametrize(
    ("other", "problem"),
    [
        ({"licence": "CC BY 4"}, "CC BY 4"),
        ({"name": " "}, "name"),
        ({"creators": ("c", " ")}, "somebody"),
    ],
)
def test_what_is_said_of_a_data_set_is_checked(store, other, problem):
    with pytest.raises(InputError, match=problem):
        publish(store, about(**other))


@pytest.mark.parametrize(
    ("licence", "in_card", "described"),
    [
        ("MIT", ["license: mit\n", "[MIT](https://spdx.org/licenses/MIT.html)"], "MIT.html"),
        ("https://x.org/l", ['license_link: "https://x.org/l"', "(https://x.org/l)"], "x.org/l"),
    ],
)
def test_a_licence_is_linked_where_it_is_known(store, tmp_path, licence, in_card, described):
    again = Path(shutil.copytree(store, tmp_path / "again"))
    publish(again, about(licence=licence))
    card = (again / "README.md").read_text(encoding="utf-8")
    assert all(printed in card for printed in in_card)
    result = json.loads((again / DESCRIPTION).read_text(encoding="utf-8"))
    assert result["license"].endswith(described)


def test_rows_of_code_that_no_commit_holds_are_published_only_where_that_is_asked_for(
    gpt2_output, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr("collect.record.publication.publish.DIRTY", "")  # the end of every version
    copy = Path(shutil.copytree(gpt2_output, tmp_path / "copy"))
    assert main(["publish", str(copy), *OPTIONS]) == 2
    error = capsys.readouterr().err
    assert "run" in error
    assert "--allow-dirty" in error
    assert not (copy / DESCRIPTION).exists()
    assert main(["publish", str(copy), *OPTIONS, "--allow-dirty"]) == 0
    assert (copy / DESCRIPTION).exists()


def test_what_is_not_whole_is_not_published(store, tmp_path):
    copy = Path(shutil.copytree(store, tmp_path / "copy"))
    before = (copy / DESCRIPTION).read_bytes()
    flip(copy / "attention" / f"{STEM}@A_grand_unified.parquet", 100)
    with pytest.raises(ContractError, match="the content that was hashed"):
        publish(copy, about())
    (copy / "run" / f"{STEM}.parquet").unlink()
    with pytest.raises(InputError, match=f"must be complete; {STEM} is not"):
        publish(copy, about())
    with pytest.raises(InputError, match="must be a directory"):
        publish(tmp_path / "nowhere", about())
    (copy / "README.md").write_text("---\nlicense: mit\n---\n")
    assert (copy / DESCRIPTION).read_bytes() == before


@pytest.mark.parametrize(
    ("key", "lie"), [("sha256", "0" * 64), ("contentSize", "1 B"), ("contentUrl", "run/x.parquet")]
)
def test_a_description_that_lies_of_a_file_is_found_by_check(store, key, lie):
    assert list(faults(store)) == []
    text = (store / DESCRIPTION).read_text(encoding="utf-8")
    result = json.loads(text)
    entry = next(entry for entry in result["distribution"] if entry["@type"] == "cr:FileObject")
    entry[key] = lie
    try:
        (store / DESCRIPTION).write_text(json.dumps(result), encoding="utf-8")
        (fault,) = faults(store)
    finally:
        (store / DESCRIPTION).write_text(text, encoding="utf-8")
    assert entry["contentUrl"] in fault

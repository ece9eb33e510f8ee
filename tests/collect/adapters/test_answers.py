"""Every causal type has an answer, a refusal its reason, and every form a row in VERIFIED.md."""

import json
import re

import pytest
from transformers.models.auto import modeling_auto

from collect.adapters import ADAPTERS, answers
from collect.adapters.register import adapter_for
from collect.commands.cli import main
from collect.errors import UnsupportedModelError
from tests.collect.adapters import verified

REFUSED = [entry for entry in answers.answers() if entry.answer == answers.NOT]


def test_every_causal_type_has_an_answer():
    unknown = [entry.model_type for entry in answers.answers() if entry.answer == answers.UNKNOWN]
    assert unknown == [], "add each to an adapter or to collect/adapters/refused.py"


def test_the_committed_page_is_current():
    page = answers.PATH.read_text(encoding="utf-8")
    assert page == answers.as_markdown(answers.answers()), (
        "write it with: thermoscope collect models --write"
    )


def test_a_stream_is_measured_of_120_types_and_more():
    kinds = [entry.answer for entry in answers.answers()]
    assert kinds.count(answers.WHOLE) + kinds.count(answers.IN_PART) >= 120
    assert kinds.count(answers.TEXT) >= 10
    assert {entry.layout for entry in answers.answers()} - {""} <= {
        adapter.name for adapter in ADAPTERS.values()
    }


def test_a_type_that_a_new_release_brings_is_named(monkeypatch, capsys):
    known = modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    monkeypatch.setattr(
        modeling_auto, "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES", {**known, "wobble": "Wobble"}
    )
    assert main(["models", "--json"]) == 1
    (new,) = [e for e in json.loads(capsys.readouterr().out) if e["answer"] == answers.UNKNOWN]
    assert new["model_type"] == "wobble"


@pytest.mark.parametrize("entry", REFUSED, ids=lambda entry: entry.model_type)
def test_a_refused_type_says_which_quantity_is_undefined_and_why(entry):
    with pytest.raises(UnsupportedModelError, match="is refused") as error:
        adapter_for(entry.model_type)
    assert entry.reason in error.value.problem
    assert entry.without
    assert entry.model_type not in ADAPTERS


def test_every_form_has_a_row_and_none_has_failed():
    text = verified.PATH.read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", text, flags=re.MULTILINE))
    write = "write it with: python -m tests.collect.adapters.verified"
    assert sorted(rows) == verified.names(), write
    # By hand from the code of transformers: Gemma 2 has a norm behind attention, Granite a
    # multiplier, GPT no final norm, and Mamba no attention.
    assert "norm" in rows["gemma2"].rpartition("|")[2]
    assert rows["granite"].endswith("before the multiplier 0.22")
    assert "no final norm" in rows["openai_gpt"]
    assert rows["mamba"].startswith("–")
    assert not [name for name, row in rows.items() if row.split(" | ")[0] not in ("–", "yes")]

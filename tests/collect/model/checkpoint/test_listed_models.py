"""Models that a file lists: read, and planned on a hub or without one."""

import json
from pathlib import Path

import pytest
from huggingface_hub import constants

from collect.commands.cli import main
from collect.errors import InputError
from collect.job.resolve import expanded

#: The crossed list of public models.
LIST = Path(__file__).parents[4] / "data" / "study" / "public_models.txt"


def test_the_crossed_list_of_public_models_is_planned_without_a_weight(local_hub, offer, capsys):
    """Two of the models are on this hub; the plan has them, and names each of the others."""
    there = {"openai-community/gpt2": "gpt2", "EleutherAI/pythia-160m": "gpt_neox"}
    for name, family in there.items():
        offer(family, family)
        local_hub.repositories[name] = local_hub.repositories[f"acme/{family}"]
    listed = f"@{LIST}"
    assert (
        main(["plan", listed, "--prompts", "A_grand_unified", "--too-long", "skip", "--json"]) == 2
    )
    printed = capsys.readouterr()
    planned = {unit["unit"].split("@")[0] for unit in json.loads(printed.out)}
    assert planned == {name.replace("/", "--") for name in there}
    others = [name for name in expanded([listed]) if name not in there]
    assert len(others) > 25
    assert all(f"The hub has no model '{name}'" in printed.err for name in others)
    assert printed.err.count("Check the name, log in") == 1
    assert not local_hub.fetched("model.safetensors")


def test_the_crossed_list_without_a_network_is_refused_in_a_sentence_each(
    local_hub, monkeypatch, capsys
):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert main(["plan", f"@{LIST}", "--prompts", "A_grand_unified"]) == 4
    printed = capsys.readouterr()
    n = len(expanded([f"@{LIST}"]))
    assert printed.out == ""
    assert printed.err.startswith(f"error: {n} of {n} models were refused:")
    assert printed.err.count("it is not asked while HF_HUB_OFFLINE") == n
    assert printed.err.count("hint: ") == 1
    assert local_hub.log == []


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "No such file"),
        (b"\xff", "not UTF-8, at byte 0"),
        (b"# none\n\n", "must name at least one"),
        (b"a/b\na/c step0\n", "line 2 of .* has 2 words"),
    ],
)
def test_a_list_of_models_that_is_none_is_refused(tmp_path, content, sentence):
    path = tmp_path / "models.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=sentence):
        expanded([f"@{path}"])


def test_a_list_stands_among_other_models_and_its_remarks_are_left_out(tmp_path):
    path = tmp_path / "models.txt"
    path.write_text("# two\na/b  # the first\n\na/c\n")
    assert expanded(["x", f"@{path}", "y"]) == ["x", "a/b", "a/c", "y"]

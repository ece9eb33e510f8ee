"""What is planned of an output stands beside what is done in it."""

import pandas as pd
import pytest

from collect.commands.cli import main
from collect.job.run import run
from collect.record import queue, status
from collect.record.integrity import faults


def states(out):
    return status.units(out).set_index("unit")["state"].to_dict()


@pytest.mark.slow
def test_a_queue_says_what_is_done_to_do_and_refused(save_tiny, prompt_file, tmp_path, capsys):
    first, second, bad = save_tiny("gpt2"), save_tiny("llama"), tmp_path / "nothing"
    out = tmp_path / "out"
    where = ["--prompts", str(prompt_file), "--out", str(out)]
    assert main(["plan", str(first), str(second), str(bad), *where, "--queue"]) == 2
    assert states(out) == {
        str(bad): "refused",
        "local--gpt2": "to do",
        "local--gpt2@own": "to do",
        "local--llama": "to do",
        "local--llama@own": "to do",
    }
    units = status.units(out).set_index("unit")
    assert units.loc["local--gpt2@own", "planned_s"] > 0
    assert str(bad) in units.loc[str(bad), "reason"]

    assert main(["run", str(first), *where]) == 0
    capsys.readouterr()
    assert main(["status", str(out)]) == 0
    bar, _, *table = capsys.readouterr().out.splitlines()
    assert "40%" in bar
    assert "2 complete" in bar
    assert "2 to do" in bar
    assert "1 refused" in bar
    left = status.units(out).query("state == 'to do'")["planned_s"].sum()
    assert f"{left / 3600:.1f} worker hours" in bar
    assert table[-1].startswith(f"{bad}: ")


def test_a_model_that_was_refused_is_so_until_it_is_measured(save_tiny, prompt_file, tmp_path):
    out, model = tmp_path / "out", save_tiny("gpt2")
    vocabulary = (model / "tokenizer.json").read_bytes()
    (model / "tokenizer.json").unlink()
    where = ["--prompts", str(prompt_file), "--out", str(out), "--quiet"]
    queue.enqueue(out, {"local/gpt2": [queue.Queued("local--gpt2@own", 3600.0, 10)]})
    other = str(save_tiny("llama"))
    assert main(["run", str(model), other, *where]) == 2
    assert states(out)["local--gpt2@own"] == "refused"
    (model / "tokenizer.json").write_bytes(vocabulary)
    assert main(["run", str(model), *where]) == 0
    assert states(out)["local--gpt2@own"] == "complete"
    assert [entry["reason"] for entry in queue.entries(out) if entry["units"]] == [""]


def test_an_output_without_a_queue_gets_none_by_a_refusal(tmp_path):
    queue.note_refused(tmp_path, "a model", "no weights")
    queue.note_measured(tmp_path, "a model")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "text",
    ['{"model": "a", "units"', "[1]", '{"model": "a", "units": [{"unit": 1}], "reason": ""}'],
)
def test_a_file_of_the_queue_that_is_damaged_is_told_and_stops_nothing(tmp_path, text, capsys):
    queue.enqueue(tmp_path, {name: [queue.Queued(f"{name}@S", 1.0, 1)] for name in "ab"})
    path = queue._path(tmp_path, "a")
    path.write_text(text)
    assert main(["status", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert str(path) in said.err
    assert "b@S" in said.out
    assert "a@S" not in said.out


@pytest.mark.slow
def test_a_single_model_that_is_refused_is_noted_as_a_task_of_an_array_runs_it(
    save_tiny, prompt_file, tmp_path
):
    """By its title once that is known, by its name before."""
    out, model = tmp_path / "out", save_tiny("gpt2")
    bad, empty = save_tiny("llama"), tmp_path / "empty"
    empty.mkdir()
    where = ["--prompts", str(prompt_file), "--out", str(out)]
    assert main(["plan", str(model), str(bad), *where, "--queue"]) == 0
    (bad / "tokenizer.json").unlink()
    assert {main(["run", each, *where, "--quiet"]) for each in (str(bad), str(empty))} == {2}
    found = states(out)
    assert {unit for unit, state in found.items() if state == "refused"} == {
        "local--llama",
        "local--llama@own",
        str(empty),
    }
    assert found["local--gpt2@own"] == "to do"


def test_verbs_other_than_status_leave_a_queue_aside(save_tiny, prompt_file, tmp_path):
    out, where = tmp_path / "out", ["--license", "MIT", "--creator", "A", "--allow-dirty"]
    run([str(save_tiny("gpt2"))], [prompt_file], out, quiet=True)
    queue.enqueue(out, {"b": [queue.Queued("b@S", 1.0, 1)]})
    assert list(faults(out)) == []
    assert main(["publish", str(out), *where]) == 0
    assert queue.DIRECTORY not in (out / "croissant.json").read_text()
    assert main(["compact", str(out), "--out", str(tmp_path / "copy")]) == 0
    assert not (tmp_path / "copy" / queue.DIRECTORY).exists()
    assert list(faults(out)) == []


def test_the_hours_left_are_those_of_what_is_not_done():
    columns = ["unit", "state", "n_rows", "is_conforming", "started_at", "duration_s"]
    rows = [
        ("a", "complete", 5, True, pd.Timestamp("2026-01-01"), 2.0, 7200.0, None),
        ("b", "to do", None, None, None, None, 3600.0, None),
        ("c", "measuring", None, None, None, None, 1800.0, None),
        ("d", "refused", None, None, None, None, 900.0, "no weights"),
    ]
    units = pd.DataFrame(rows, columns=[*columns, "planned_s", "reason"])
    first, *_, last = status.as_text(units).splitlines()
    assert "1.5 worker hours" in first
    assert "25%" in first
    assert last == "d: no weights"


def test_a_plan_is_written_only_where_there_is_an_output(save_tiny, capsys):
    assert main(["plan", str(save_tiny("gpt2")), "--queue"]) == 2
    assert "--out" in capsys.readouterr().err

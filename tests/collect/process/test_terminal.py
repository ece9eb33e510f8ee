"""What other people's data may send to a terminal, on both streams of both command lines."""

import io
import json
import sys

import pytest

from collect.commands import cli as collect_cli
from collect.schema import guarded, harmless

HOSTILE = "a\x1b]0;title\x07b\x9b31mc\u202ed\u2066e\rf\u2028g\x00"


class Terminal(io.StringIO):
    def isatty(self):
        return True


def has_control(text):
    return any(sign in text for sign in HOSTILE if not sign.isprintable())


def test_every_control_sign_becomes_its_number():
    assert not has_control(harmless(HOSTILE))
    assert json.loads(f'"{harmless(HOSTILE)}"') == HOSTILE
    kept = "über 🙂 \u200d\tx\n"
    assert harmless(kept) == kept


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
@pytest.mark.parametrize("kind", [io.StringIO, Terminal])
def test_everything_printed_passes_the_rule(monkeypatch, stream, kind):
    output = kind()
    monkeypatch.setattr(sys, stream, output)
    with guarded():
        print(HOSTILE, file=getattr(sys, stream))
        getattr(sys, stream).writelines([HOSTILE, HOSTILE])
    assert not has_control(output.getvalue())
    assert getattr(sys, stream) is output
    if stream == "stdout":  # data for programs are exact
        with guarded():
            sys.stdout.of_data.writelines([HOSTILE])
        assert output.getvalue().endswith(HOSTILE) == (kind is io.StringIO)


def test_the_colour_of_a_word_and_a_progress_bar_pass(monkeypatch):
    out, err = Terminal(), Terminal()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    with guarded():
        print("\x1b[36mno data\x1b[0m", end="")
        sys.stderr.write("\r 50 %")
        sys.stderr.write("\n\x1b[A")
    assert out.getvalue() == "\x1b[36mno data\x1b[0m"
    assert err.getvalue() == "\r 50 %\n\x1b[A"


def test_a_prompt_of_many_megabytes_is_shown_by_its_beginning(capsys, tmp_path):
    prompts = tmp_path / "own.txt"
    prompts.write_text("a short one\n" + "xy" * 1_000_000 + "\n")
    assert collect_cli.main(["prompts", str(prompts)]) == 0
    printed = capsys.readouterr().out
    assert len(printed) < 2_000
    assert "(2000000 characters)" in printed
    assert collect_cli.main(["prompts", str(prompts), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)[1]["text"]) == 2_000_000


def test_a_prompt_file_and_a_refusal_of_collection_steer_no_terminal(capsys, tmp_path):
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text(json.dumps({"text": HOSTILE.replace("\x00", "")}) + "\n")
    assert collect_cli.main(["prompts", str(prompts)]) == 0
    printed = capsys.readouterr()
    assert "\\u001b]0;title" in printed.out
    assert not has_control(printed.out + printed.err)
    assert collect_cli.main(["plan", f"no/{HOSTILE[:9]}"]) != 0
    assert not has_control(capsys.readouterr().err)

"""Two collectors on one output: each unit is measured once, and none is harmed."""

import multiprocessing

import pytest
import torch

from collect.job import run as loop
from collect.job.settings import Settings
from collect.record.integrity import faults

#: Processes are forked from one that has imported and done nothing else: a fork of this one,
#: which has threads of other libraries by now, can hang or crash.
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(
    ["collect.job.run", *(f"transformers.models.{f}.modeling_{f}" for f in ("gpt2", "llama"))]
)
PATIENCE_S = 300


def collect(models, sets, out, pipe):
    """Run in a process of its own when told to, and report what was measured and said."""
    torch.set_num_threads(1)
    measured = []
    measure = loop.measure

    def counted(task, subject, **how):
        measured.append(task.unit.title)
        return measure(task, subject, **how)

    loop.measure = counted
    sentences = []
    Settings.say = lambda _self, sentence: sentences.append(sentence)
    pipe.send("ready")
    pipe.recv()
    try:
        loop.run(models, sets, out)
    except Exception as error:
        sentences.append(f"{type(error).__name__}: {error}")
    pipe.send((measured, sentences))


def begun(act, *arguments):
    """Start a process that does something; return it and the pipe to it, which ends with it."""
    here, there = SERVER.Pipe()
    process = SERVER.Process(target=act, args=(*arguments, there), daemon=True)
    process.start()
    there.close()
    return process, here


def heard(pipe):
    """Return what a process says next; its death is an EOFError, not a wait."""
    assert pipe.poll(PATIENCE_S), f"the process must speak within {PATIENCE_S} s"
    return pipe.recv()


def side_by_side(out, *commands):
    """Start one process per command at the same time; return what each measured and said."""
    started = [begun(collect, models, sets, out) for models, sets in commands]
    assert [heard(pipe) for _, pipe in started] == ["ready"] * len(commands)
    for _, pipe in started:
        pipe.send("begin")
    answers = [heard(pipe) for _, pipe in started]
    for process, _ in started:
        process.join(PATIENCE_S)
        assert process.exitcode == 0
    return answers


@pytest.fixture
def models(save_tiny):
    return [str(save_tiny(name)) for name in ("gpt2", "llama")]


@pytest.mark.slow
def test_the_same_command_twice_measures_every_unit_once(models, prompt_file, out):
    command = (models, [str(prompt_file), "E1_4model_and_mistral"])
    (first, said_first), (second, said_second) = side_by_side(out, command, command)
    units = [f"local/{m}, {u}" for m in ("gpt2", "llama") for u in UNITS]
    assert sorted(first + second) == sorted(units)
    assert first
    assert second
    told = " ".join(said_first + said_second)
    assert "another process measures it, left for later" in told
    assert "Error" not in told
    assert list(faults(out)) == []
    assert not (out / ".locks").exists()


UNITS = ("weights", "own", "E1_4model_and_mistral")


@pytest.mark.slow
def test_of_two_that_contradict_each_other_one_is_refused(save_tiny, prompt_file, out):
    """Two checkpoints of one name, on different prompts, begin at the same time."""
    one = str(save_tiny("gpt2", at="a/same"))
    other = str(save_tiny("gpt2", at="b/same", seed=1))
    answers = side_by_side(out, ([one], [str(prompt_file)]), ([other], ["E1_4model_and_mistral"]))
    refusals = [s for _, printed in answers for s in printed if s.startswith("InputError")]
    assert len(refusals) == 1
    assert "weights_sha256 is" in refusals[0]
    result = [fault for fault in faults(out) if "was interrupted" not in fault]
    assert result == []

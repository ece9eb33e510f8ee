"""A model that lies on two devices is measured as on one."""

import pandas as pd
import pytest
import torch

from collect.instruments import rows
from collect.instruments.hooks import Recorder
from collect.instruments.quantities import TABLES, of_prompts
from collect.model.forward.passes import whole
from collect.prompts.tokens import Encoded
from tests.collect.instruments.test_hooks import Numbers
from tests.collect.model.checkpoint.pretended_devices import PretendedDevices
from tests.collect.shown import examined, loaded_family

#: One of each kind of block and of attention.
NAMES = ("gpt2", "gptj", "opt_post_norm", "bloom", "falcon_7b", "falcon_11b", "llama", "mixtral")
NAMES += ("gemma3_text", "olmo2", "gpt_oss", "apertus")
EVERYTHING = of_prompts(TABLES)
BATCHES = (
    (Encoded("p:0", (5, 7, 11, 13), (False,) * 4), Encoded("p:1", (17, 19, 23), (False,) * 3)),
    (Encoded("p:2", (29, 31), (False,) * 2),),
)
FIRST, SECOND = torch.device("cpu:0"), torch.device("cpu:1")
ACCELERATOR = torch.device("cuda:0")


def spread(of, devices, first, second):
    """Put the later half of the blocks and the final norm on the second device."""
    half = len(of.blocks) // 2
    later = {*of.blocks[half:], of.final_norm}
    in_blocks = {module for block in of.blocks for module in block.modules()}
    for module in of.model.modules():
        is_leaf = module not in in_blocks and not [*module.children()]
        if module in of.blocks or is_leaf:
            devices.place(module, second if module in later else first)


def measured(of):
    recorder, result = Recorder(BATCHES, EVERYTHING), {}
    for index in whole(of, BATCHES, recorder):
        for table, frame in rows.frames(BATCHES[index], recorder.observation(index)).items():
            result.setdefault(table, []).append(frame)
    for table, frame in rows.across_prompts(recorder, Numbers()).items():
        result[table] = [frame]
    return result


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        *((name, FIRST, SECOND) for name in NAMES),
        *((name, FIRST, ACCELERATOR) for name in ("gpt2", "llama")),
        *((name, ACCELERATOR, FIRST) for name in ("gpt2", "llama")),
    ],
)
def test_a_model_on_two_devices_gives_the_same_rows_and_conforms(name, first, second):
    alone = measured(loaded_family(name))
    of, devices = loaded_family(name), PretendedDevices()
    spread(of, devices, first, second)
    is_exact = ACCELERATOR not in (first, second)
    with devices:
        together = measured(of)
        findings = examined(of).values() if is_exact else ()
    assert together.keys() == alone.keys()
    for table, frames in alone.items():
        for one, other in zip(frames, together[table], strict=True):
            if is_exact:
                assert one.equals(other), table
            else:  # what is known of a vector from one of them is used on the other
                pd.testing.assert_frame_equal(one, other, rtol=1e-12, atol=1e-12)
    assert all(finding.is_met is not False for finding in findings)


def test_mixing_devices_fails_as_it_does_on_real_ones():
    devices = PretendedDevices()
    with devices:
        one, other = (devices.label(torch.ones(2), device) for device in (FIRST, SECOND))
        assert one.device == FIRST
        with pytest.raises(RuntimeError, match=r"cpu:0.*cpu:1"):
            one + other
        assert torch.equal(one + other.to(one.device), torch.full((2,), 2.0))
        there = devices.label(torch.ones(2), ACCELERATOR)
        assert not there.is_cpu
        with pytest.raises(TypeError, match="to numpy"):
            there.numpy()
        assert there.cpu().numpy().tolist() == [1.0, 1.0]

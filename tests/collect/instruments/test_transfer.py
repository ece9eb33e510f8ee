"""What runs on a device other than the processor is read once a batch, and comes to the same."""

from collections import Counter

import pandas as pd
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from collect.instruments import attention_maps, grams, legacy, rows, transfer
from collect.instruments.hooks import Recorder
from collect.instruments.own.definition import OwnQuantity
from collect.instruments.own.recording import OwnRecorder, Together
from collect.instruments.quantities import TABLES, of_prompts
from collect.measures import geometry
from collect.model.forward.passes import whole
from tests.collect.instruments.test_hooks import Numbers, drawn
from tests.collect.shown import loaded_family

QUANTITIES = of_prompts(TABLES)
WORDS = {"unit": "1", "description": "What passes, or its norm"}
OWN = (
    OwnQuantity("width", measure=lambda _site, _layer, x, _maps: x.norm(dim=-1), **WORDS),
    OwnQuantity(
        "last", measure=lambda _site, _layer, x, _maps: x, level="vector", positions=(-1,), **WORDS
    ),
)
BATCHES = (drawn(5, 9, 9), drawn(3, 12))


class Waits(TorchDispatchMode):
    """Counts what would wait for a device: numbers read, and places found by value."""

    def __init__(self, monkeypatch):
        super().__init__()
        self.seen = Counter()
        for name in ("tolist", "numpy", "cpu"):
            own = getattr(torch.Tensor, name)
            monkeypatch.setattr(torch.Tensor, name, self._counting(name, own))

    def _counting(self, name, own):
        def counted(tensor, *args, **kwargs):
            self.seen[name] += 1
            return own(tensor, *args, **kwargs)

        return counted

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        by_value = func.overloadpacket is torch.ops.aten.index and any(
            index is not None and index.dtype == torch.bool for index in args[1]
        )
        # In inference mode what is made of other operations is seen whole.
        names = ("_local_scalar_dense", "item", "is_nonzero", "nonzero", "masked_select", "equal")
        if by_value or func.overloadpacket.__name__ in names:
            self.seen[str(func)] += 1
        return func(*args, **(kwargs or {}))


def measured(placed):
    recorder, own = Recorder(BATCHES, QUANTITIES), OwnRecorder(BATCHES, OWN)
    result = [
        rows.frames(BATCHES[i], recorder.observation(i)) | {"own_value": own.rows(i)}
        for i in whole(placed, BATCHES, Together([recorder, own]))
    ]
    together = {table: pd.concat([of[table] for of in result]) for table in result[0]}
    _, vectors = own.vectors()
    together["own_vector"] = pd.DataFrame(torch.cat([*vectors.values()]).double().numpy())
    return together | rows.across_prompts(recorder, Numbers())


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_a_device_is_read_once_a_batch_and_its_numbers_are_the_same(family, monkeypatch):
    placed = loaded_family(family)
    on_processor = measured(placed)
    for module in (transfer, grams, attention_maps, geometry, legacy):
        monkeypatch.setattr(module, "on_processor", lambda _: False)
    for table, frame in measured(placed).items():
        pd.testing.assert_frame_equal(frame, on_processor[table], rtol=1e-9, atol=1e-9)

    waits = Waits(monkeypatch)
    recorder, own = Recorder(BATCHES, QUANTITIES), OwnRecorder(BATCHES, OWN)
    with waits:
        for index in whole(placed, BATCHES, Together([recorder, own])):
            is_last = index == len(BATCHES) - 1
            # Vectors cross together, and what is predicted after all prompts besides.
            assert waits.seen == Counter(cpu=1 + is_last), waits.seen
            recorder.observation(index)
            own.rows(index)
            assert waits.seen.pop("cpu") == 3 + is_last
            # Places of a batch that lie on the processor already, as lists.
            waits.seen.clear()
        rows.across_prompts(recorder, Numbers())
        assert waits.seen["cpu"] <= 1 + 3

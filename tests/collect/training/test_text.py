"""The held-out bytes are never trained on."""

import pytest

from collect.errors import InputError
from collect.training.text import cut_windows

#: 16 slabs of 40 bytes, the last 2 of which are held out; each part has a byte of its own.
TEXT = b"".join(bytes([slab] * 38 + [100 + slab] * 2) for slab in range(16))


def test_training_and_held_out_windows_lie_in_their_own_part_of_one_slab():
    windows = cut_windows(TEXT, context=1)
    assert windows.training.shape == (16, 37, 2)
    assert windows.held_out.tolist() == [[100 + slab] * 2 for slab in range(16)]
    for slab in range(16):
        assert windows.training[slab].unique().tolist() == [slab]


def test_held_out_windows_do_not_overlap():
    text = bytes(index % 251 for index in range(16 * 200))
    held_out = cut_windows(text, context=4).held_out
    assert held_out.shape == (32, 5)
    assert held_out[:2].flatten().tolist() == list(text[190:200])
    assert cut_windows(text, context=4).training[1, 3].tolist() == list(text[203:208])


def test_a_text_too_short_to_hold_out_a_window_is_refused():
    assert len(cut_windows(TEXT, context=1).held_out) == 16
    with pytest.raises(InputError, match="at least 640 bytes for a context of 1; found 639"):
        cut_windows(TEXT[:-1], context=1)

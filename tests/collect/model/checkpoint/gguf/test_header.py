"""Headers that lie, or hold what no header may, are refused in a sentence about them."""

import resource
import struct
from contextlib import suppress

import numpy as np
import pytest

from collect.errors import InputError, UnsupportedModelError
from collect.model.checkpoint.gguf import facts
from collect.model.checkpoint.gguf.header import Length, read_header
from collect.model.checkpoint.location import locate
from tests.collect.gguf_files import add, tiny, write


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    path = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    return write("llama", tiny("llama"), path, number_format="F32").read_bytes()


@pytest.fixture
def located(tmp_path):
    def locate_(content):
        path = tmp_path / "other.gguf"
        path.write_bytes(content)
        return locate(str(path))

    return locate_


@pytest.fixture
def written(tmp_path):
    def write_(**entries):
        def edit(writer):
            for key, value in entries.items():
                add(writer, key.replace("__", "."), value)

        return write("llama", tiny("llama"), tmp_path / "tiny.gguf", edit=edit)

    return write_


def moved(content, name, by):
    """Return a file whose table puts one tensor elsewhere."""
    place = content.index(struct.pack("<Q", len(name)) + name.encode())
    place += 8 + len(name)
    (n_dims,) = struct.unpack_from("<I", content, place)
    place += 4 + 8 * n_dims + 4
    (offset,) = struct.unpack_from("<Q", content, place)
    return content[:place] + struct.pack("<Q", offset + by) + content[place + 8 :]


@pytest.mark.parametrize("by", [-32, -4096, 32, 1, 1 << 40])
def test_tensors_that_overlap_or_leave_a_gap_are_refused(content, located, by):
    with pytest.raises(InputError, match=r"blk\.1\.attn_k\.weight"):
        located(moved(content, "blk.1.attn_k.weight", by))


def test_tensors_that_are_exchanged_are_refused(content, located):
    first, second = (f"blk.0.attn_{kind}.weight".encode() for kind in ("q", "k"))
    exchanged = content.replace(first, b"@").replace(second, first).replace(b"@", second)
    with pytest.raises(InputError):
        located(exchanged)


def test_a_name_that_stands_twice_is_refused(content, located):
    twice = content.replace(b"blk.1.attn_k.weight", b"blk.0.attn_k.weight")
    with pytest.raises(InputError, match=r"blk\.0\.attn_k\.weight.*twice"):
        located(twice)


def test_a_key_that_stands_twice_is_refused(content, located):
    twice = content.replace(b"llama.block_count", b"llama.block_coun2", 1)
    twice = twice.replace(b"general.organization", b"general.architecture")
    with pytest.raises(InputError, match=r"general\.architecture.*twice"):
        located(twice)


def test_a_big_endian_file_is_called_one(content, located):
    with pytest.raises(InputError, match="big-endian"):
        located(content[:4] + struct.pack(">I", 3) + content[8:])


def test_an_unknown_version_is_named(content, located):
    with pytest.raises(InputError, match="77"):
        located(content[:4] + struct.pack("<I", 77) + content[8:])


@pytest.mark.parametrize("value", [0, 3, "32", [32], float("nan"), float("inf"), True])
def test_an_alignment_that_is_no_power_of_two_is_refused(written, value):
    with pytest.raises(InputError, match=r"general\.alignment|must begin at"):
        locate(str(written(general__alignment=value)))


@pytest.mark.parametrize("value", ["3", [3], float("nan"), 1.5])
def test_a_count_of_parts_that_is_none_is_refused(written, value):
    with pytest.raises(InputError, match=r"split\.count"):
        locate(str(written(split__count=value)))


@pytest.mark.parametrize("kind", ["adapter", "mmproj", "imatrix", 5])
def test_what_is_no_model_is_refused(written, kind):
    with pytest.raises(InputError, match=r"general\.type"):
        locate(str(written(general__type=kind)))


@pytest.mark.parametrize("value", ["text", [1, 2], float("nan"), float("inf"), 1 << 31])
def test_a_kind_of_file_that_is_none_is_left_out(written, value):
    header = read_header(written(general__file_type=value))
    assert facts.of_model(header)["quantisation"] == "Q8_0"


@pytest.mark.parametrize("url", ["http://[", "nowhere", "https://h/a/b/c", "\x00"])
def test_a_base_that_is_no_address_is_left_out(content, located, url):
    plain = b"https://huggingface.co/lab/tiny-base"
    length = struct.pack("<Q", len(plain))
    other = struct.pack("<Q", len(url)) + url.encode()
    checkpoint = located(_same_start(content, length + plain, other))
    assert checkpoint.labels.base_model_id is None


def _same_start(content, old, new):
    """Return a file with other bytes in its header, padded so that its tensors stay in place."""
    start = content.index(old)
    short = len(old) - len(new)
    if short % 32 == 0:
        return content.replace(old, new)
    changed = content[:start] + new + content[start + len(old) :]
    # The tensors begin at the next multiple of 32 after the table: pad there.
    table = changed.rindex(b"output_norm.weight") + len("output_norm.weight") + 4 + 8 + 4 + 8
    before = content.rindex(b"output_norm.weight") + len("output_norm.weight") + 4 + 8 + 4 + 8
    data = content[-(-before // 32) * 32 :]
    return changed[:table].ljust(-(-table // 32) * 32, b"\x00") + data


def test_rows_that_are_no_whole_blocks_are_refused(content, located):
    name = b"blk.0.attn_q.weight"
    place = content.index(struct.pack("<Q", len(name)) + name) + 8 + len(name) + 4
    odd = (
        content[:place] + struct.pack("<QQ", 63, 64) + struct.pack("<I", 8) + content[place + 20 :]
    )
    with pytest.raises(InputError, match=r"blk\.0\.attn_q\.weight"):
        located(odd)


def test_an_unknown_number_format_is_named(content, located):
    name = b"blk.0.attn_q.weight"
    place = content.index(struct.pack("<Q", len(name)) + name) + 8 + len(name) + 4 + 16
    with pytest.raises(UnsupportedModelError, match="999"):
        located(content[:place] + struct.pack("<I", 999) + content[place + 4 :])


def test_a_text_that_is_no_utf8_is_refused(content, located):
    with pytest.raises(InputError, match="UTF-8"):
        located(content.replace(b"Tiny One", b"Tiny \xff\xfe\xfd"))


def test_a_long_list_costs_little(written):
    before = resource.getrusage(resource.RUSAGE_SELF)
    header = read_header(written(x__y=[*map(str, range(200_000))]))
    after = resource.getrusage(resource.RUSAGE_SELF)
    value = header.metadata["x.y"]
    assert (type(value), value) == (Length, 200_000)
    assert after.ru_maxrss - before.ru_maxrss < 300_000  # [kB] the writer's own list included


@pytest.mark.parametrize("seed", range(40))
def test_a_damaged_byte_of_the_header_is_read_or_refused_in_a_sentence(content, located, seed):
    rng = np.random.default_rng(seed)
    end = content.index(b"blk.2.ffn_down.weight")
    damaged = bytearray(content)
    for place in rng.integers(0, end, 3):
        damaged[place] = rng.integers(256)
    with suppress(InputError, UnsupportedModelError):
        assert located(bytes(damaged)).config["model_type"] == "llama"

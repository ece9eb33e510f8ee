"""How much memory a process may still take: of the machine, of a container, of neither."""

import pytest

from collect.process import memory

FREE = 3_000_000 * 1024


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Return the folder of a machine with 3,000,000 kB to give, and a container's files."""
    (tmp_path / "meminfo").write_text("MemTotal: 9000000 kB\nMemAvailable: 3000000 kB\n")
    monkeypatch.setattr(memory, "_MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "_LIMITS", ((tmp_path / "limit", tmp_path / "used"),))
    return tmp_path


@pytest.mark.parametrize(
    ("limit", "bytes_left"), [("max", FREE), ("2000", 1500), ("100", 0), (str(FREE * 2), FREE)]
)
def test_a_limit_of_a_container_counts_less_what_it_uses(machine, limit, bytes_left):
    (machine / "limit").write_text(limit)
    (machine / "used").write_text("500")
    assert memory.of_machine() == bytes_left

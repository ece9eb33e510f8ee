"""What a long computation asks the machine: how much memory is free, and whether it is to end."""

from __future__ import annotations

from collect.process.interruption import raise_interruption
from collect.process.memory import available_memory

__all__ = ["available_memory", "raise_interruption"]

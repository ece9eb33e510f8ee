"""The sign of the gain: by lab, by head density, by size, in the benchmark and in the hunts."""

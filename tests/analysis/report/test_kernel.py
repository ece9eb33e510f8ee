"""A kernel's end: what lies in memory is left to the system."""

import subprocess
import sys

PROGRAM = """
import atexit, gc
atexit.register(lambda: print(gc.get_freeze_count() > before + 1000))
from analysis.report import kernel
kernel.spare_collection()
before = gc.get_freeze_count()
held = [[number] for number in range(2000)]
print(before > 1000)
"""


def test_what_a_page_holds_is_not_searched_for_garbage_then_or_at_the_end():
    """The handler of the program was registered first, so it runs after that of the kernel."""
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    assert ran.stdout.split() == ["True", "True"]

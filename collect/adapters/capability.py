"""What a layout may lack, by name, and what is not defined then.

A layout lacks what its kind of model does not have; the adapter says why in a sentence. All that
does not need it is measured all the same.
"""

from __future__ import annotations

from collect.measures.declaration import HEAD, HEADS, MAPS
from collect.measures.register import NEEDED

#: Two parts of every block whose updates, added to what enters, make what leaves.
PARTS = "parts"

#: A LayerNorm or an RMSNorm in front of what the parts read.
GAIN = "gain"

CAPABILITIES = (HEADS, MAPS, PARTS, GAIN)

#: What a quantity of one's own may ask for besides states, by what that needs.
OWN_NEEDS = {"attention": HEADS, "logits": HEAD}

__all__ = ["CAPABILITIES", "GAIN", "HEAD", "HEADS", "MAPS", "NEEDED", "OWN_NEEDS", "PARTS"]

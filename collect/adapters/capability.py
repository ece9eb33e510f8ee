"""What a layout may lack, by name, and what is not defined then.

A layout lacks what its kind of model does not have; the adapter says why in a sentence. All that
does not need it is measured all the same.
"""

from __future__ import annotations

#: Matrices W_Q, W_K, W_V, W_O of single heads, which with the maps make up what attention adds.
HEADS = "heads"

#: A causal attention map in every block.
MAPS = "maps"

#: Two parts of every block whose updates, added to what enters, make what leaves.
PARTS = "parts"

#: A LayerNorm or an RMSNorm in front of what the parts read.
GAIN = "gain"

#: An output embedding, which predicts a next token; what a model lacks it by is its class.
HEAD = "head"

CAPABILITIES = (HEADS, MAPS, PARTS, GAIN)

#: By quantity of `collect.instruments.quantities`, or by one table of it: what it needs; others
#: need a stream alone.
NEEDED = {
    "weights": (HEADS,),
    "attention": (MAPS,),
    "legacy": (HEADS, MAPS, HEAD),
    "predictions": (HEAD,),
    "next_token": (HEAD,),
}

#: What a quantity of one's own may ask for besides states, by what that needs.
OWN_NEEDS = {"attention": HEADS, "logits": HEAD}

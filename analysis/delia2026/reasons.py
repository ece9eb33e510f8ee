"""What many claims have in common of why their quantity is the property it is."""

#: A free length or sign: what would make it tell of training after all.
RAW_AND_CENTRED = (
    " It would tell of training if decay or the start of the weights kept the mean of the stream "
    "small: raw and centred gain must then agree, which can be checked."
)
#: A free factor of a product of matrices, likewise.
BALANCED = (
    " It would tell of training if both factors had been decayed alike and for long: decay favours "
    "the basis in which W_V and W_O are equally long."
)
#: A network and the one it was tuned from.
TUNED = (
    "A fine-tuned model starts in the coordinates of its base, and the gradient of the loss has no "
    "part along a change that leaves the loss: what differs between the two was done by training."
)

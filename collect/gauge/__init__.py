"""Changes of a network's weights that leave every logit as it is, and what they do to measures.

A quantity that such a change moves is no property of the function that the network computes; it
belongs to the way its weights happen to be written down. One transformation a module, in the
order of `group.TRANSFORMATIONS`; `wiring` says which weights read and write the stream, `group`
draws random elements, `quantity` measures before and after, `command` compares, `extreme`
moves one quantity as far as asked. This room knows adapters, decoders and what measures them.
"""

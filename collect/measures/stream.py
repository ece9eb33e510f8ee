"""Lengths of the residual stream and of what is added to it: declaration of the tables.

The numbers are made together of the stream's inner products, in
`collect.instruments.gram_accumulator`.
"""

from __future__ import annotations

from collect.measures.declaration import (
    AFTER_BLOCKS,
    HEAD,
    LAYER,
    POSITION,
    PROMPT,
    RUN,
    Column,
    Grain,
    MeasuredTable,
    Quantity,
    count,
)

_UNITS = "activation units"
_NORMS = ("norm", "norm_centred", "top_share", "top_feature")

_LENGTHS = MeasuredTable(
    "residual_norm",
    "the length of the residual stream there.",
    key=(
        RUN,
        PROMPT,
        count("layer", "Block the site belongs to, 0 to n_layers - 1"),
        Column(
            "site",
            "embedding: what the embedding module returns, layer 0. block_input: of block 0 only; "
            "of a later block it is the output before. block_mid: after attention was added, "
            "before the feed-forward part; none where the two work in parallel. block_output: "
            "before any final norm, the last block included. final_norm: output of the norm after "
            "the last block",
            "-",
            "VARCHAR NOT NULL CHECK (site IN ('embedding', 'block_input', 'block_mid', "
            "'block_output', 'final_norm'))",
        ),
        count(
            "position",
            "Token position in the unpadded prompt; the last is n_tokens - 1 of next_token",
        ),
    ),
    columns=(
        Column(
            "is_special",
            "True when the token was added by the tokenizer or by the chat template",
            "-",
            "BOOLEAN NOT NULL",
        ),
        Column(
            "norm",
            "Euclidean norm of the token's vector, accumulated in float64. Under RMSNorm its "
            "ratios are what the network computes. Under LayerNorm they depend on how the weights "
            "are written, and norm_centred is to be taken (gauge_partner)",
            _UNITS,
            "DOUBLE NOT NULL CHECK (norm >= 0)",
        ),
        Column(
            "norm_centred",
            "Euclidean norm after removing the mean over the features, which LayerNorm never sees; "
            "the norm to take under LayerNorm",
            _UNITS,
            "DOUBLE NOT NULL CHECK (norm_centred >= 0)",
        ),
        Column(
            "top_share",
            "Largest squared feature over the squared norm; near 1 for a massive activation",
            "1",
            "FLOAT NOT NULL",
        ),
        count(
            "top_feature",
            "Feature that is largest in absolute value, 0 to d_model - 1. Where the embedding is "
            "narrower, at site embedding 0 to its width less 1",
            "-",
        ),
    ),
    n_rows=lambda e: e.n_tokens * (1 + e.n_sites + e.n_layers * e.has_mid),
    row_bytes=16.0,
    audited={**{name: name for name in _NORMS}, "norm_final": "norm"},
    where={**dict.fromkeys(_NORMS, AFTER_BLOCKS), "norm_final": "site = 'final_norm'"},
    grain=Grain(
        unit="model, prompt, layer, token",
        beside="site",
        quantities=("site",),
        why="five places of the stream are here, some in every layer and some in one",
        front=("stream",),
    ),
)

_UPDATES = MeasuredTable(
    "residual_update",
    "the vector that a part of a block adds to the residual stream.",
    key=(
        RUN,
        PROMPT,
        LAYER,
        Column(
            "part",
            "attention or ffn: what the sub-layer adds, after any norm or factor of its own. "
            "mixer: the same of what stands where attention does, in models of which some blocks "
            "have a state or a convolution there. block: output less input of the whole block",
            "-",
            "VARCHAR NOT NULL CHECK (part IN ('attention', 'mixer', 'ffn', 'block'))",
        ),
        POSITION,
    ),
    columns=(
        Column(
            "norm",
            "Euclidean norm of the update, accumulated in float64, kept in single precision",
            _UNITS,
            "FLOAT NOT NULL CHECK (norm >= 0)",
        ),
        Column(
            "norm_centred",
            "The same after removing the mean over the features",
            _UNITS,
            "FLOAT NOT NULL CHECK (norm_centred >= 0)",
        ),
        Column(
            "ratio",
            "norm over the norm of the stream the update is added to. That is the block's input, "
            "or for ffn in sequence block_mid. Where updates are added to the normed stream, as "
            "some BLOOM models do, it is what the part reads. NULL where it is zero",
            "1",
            "FLOAT",
        ),
        Column(
            "cosine",
            "Cosine between the update and that stream; with ratio r, ln(gain) = ln(1 + 2 r cosine "
            "+ r^2) / 2; NULL where either is zero",
            "1",
            "FLOAT",
        ),
        Column(
            "input_norm",
            "Euclidean norm of what the sub-layer reads, after its norm; norm over it is the "
            "expansion of notebooks 11 and 12; NULL for part = block",
            _UNITS,
            "FLOAT CHECK (input_norm >= 0)",
        ),
        Column(
            "layer_scale",
            "Stored number by which the block multiplies the stream, what entered included, "
            "before it returns it: layer_scalar of Gemma 4. It depends on how weights are written, "
            "see net_gain. NULL for parts, and where blocks have none",
        ),
    ),
    n_rows=lambda e: e.n_tokens * e.n_layers * (3 if e.has_parts else 1),
    row_bytes=14.5,
    audited={
        **{f"update_{name}": name for name in ("norm", "norm_centred", "ratio", "cosine")},
        "sublayer_input_norm": "input_norm",
        "expansion": "norm / input_norm",
    },
    grain=Grain(
        unit="model, prompt, layer, token",
        beside="part",
        quantities=("part",),
        why="a block has a row for each of its parts and one for the whole",
        front=("block",),
    ),
)

_NEXT_TOKEN = MeasuredTable(
    "next_token",
    "One row per model and prompt: the distribution of the token that would come next.",
    key=(RUN, PROMPT),
    columns=(
        count(
            "n_tokens", "Length of the prompt in tokens, special ones included", "tokens", least=1
        ),
        count("n_special", "Tokens the tokenizer or the chat template added", "tokens"),
        Column(
            "entropy",
            "Entropy of the next-token distribution, softmax in float64, no clipping; logits of a "
            "bfloat16 pass move it by about .02",
            "nat",
            "DOUBLE NOT NULL",
        ),
        count("top_token_id", "Most probable token", "-"),
        Column(
            "top_token",
            "Its text, as the tokenizer decodes it; NULL where token ids were measured without a "
            "tokenizer, see not_measured",
            "-",
            "VARCHAR",
        ),
        Column("top_probability", "Its probability", "1", "DOUBLE NOT NULL"),
    ),
    n_rows=lambda e: e.n_prompts * e.has_head,
    row_bytes=56.0,
    needs=(HEAD,),
    audited={"output_entropy": "entropy", "top_probability": "top_probability"},
)

QUANTITY = Quantity(
    "stream",
    "lengths of the residual stream and of what each part of a block adds to it",
    (_LENGTHS, _UPDATES, _NEXT_TOKEN),
    source="gain: Delia 2026; centred norm: what LayerNorm sees (Ba, Kiros & Hinton 2016)",
    of_states=True,
)

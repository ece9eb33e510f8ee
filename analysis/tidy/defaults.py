"""Names and numbers that the command line shows and modules use; it imports nothing."""

from __future__ import annotations

#: Where the verdicts are kept, in a clone.
COMMITTED = "reports/claims.csv"

#: Where the registered statements of the study are kept, in a clone.
COMMITTED_STUDY = "reports/study.csv"

#: Where the verdicts of another paper are kept, in its folder.
COMMITTED_BESIDE = "verdicts.csv"

#: Log gain that rounding in half precision can make [nat].
BAND = 0.01

#: The profile of the primary definition of L*.
PROFILE = "trace_normalised"

#: The profiles over depth that the project ships, published or measured.
PROFILES = (
    "gain_block",
    "gain_block_whole_matrix",
    "gain_sublayer_attention",
    "gain_sublayer_ffn",
    "legacy_contraction_ratio",
    "legacy_graph_lambda_2",
    "legacy_norm_float32",
    "legacy_norm_own_format",
    "legacy_output_entropy_bfloat16",
    "legacy_output_entropy_clipped",
    "legacy_output_entropy_float16",
    "legacy_output_entropy_offset",
    "legacy_trace_corner_16",
    "legacy_trace_corner_32",
    "locality",
    "trace_equation_4",
    "trace_equation_4_mean_map",
    "trace_first_head",
    "trace_first_head_contiguous",
    "trace_folded",
    "trace_mean_map_contiguous",
    "trace_multi_head",
    "trace_multi_head_contiguous",
    "trace_normalised",
    "trace_spectral_proxy",
    "trace_spectral_proxy_contiguous",
)

#: The definitions of gain that are taken of single prompts.
GAINS = (
    "gain_body",
    "gain_embedding",
    "gain_embedding_whole_matrix",
    "gain_geometric_mean",
    "gain_last_block",
    "gain_maximum",
    "gain_penultimate_block",
    "gain_whole_matrix",
    "gain_with_final_norm",
    "gain_without_first",
    "total_amplification",
)

#: The parameters of the report's pages, each a directory.
PARAMETERS = "published:DIR, measurements:DIR, public:DIR or trained:DIR"

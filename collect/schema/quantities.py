"""The quantities that are built in, each declared once: its tables, their rows, what it needs.

Names on the command line, the measured tables of a store, what a plan counts, what a model cannot
give and what the audit of symmetries compares are derived from it; columns and their meaning are
in ``schema.sql``. No torch here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from collect.measures.declaration import StreamQuantity, declared

#: What a quantity may need besides a stream: matrices of single heads, which with the maps make up
#: what attention adds; a causal attention map in every block; an output embedding.
HEADS, MAPS, HEAD = "heads", "maps", "head"


@dataclass(frozen=True, slots=True)
class Extent:
    """How much there is to measure of a model and the prompts that it reads.

    Attributes
    ----------
    n_layers, n_heads
        As in table ``model``.
    n_prompts, n_tokens
        Prompts that are read, and tokens of all of them [1].
    has_parts, has_mid, has_final_norm, has_head, has_gain, has_contiguous
        Whether the model has parts of blocks, a stream between attention and feed-forward, a norm
        after the last block, an output embedding, a norm in front of attention, and a fused
        matrix whose last third is not V.
    """

    n_layers: int
    n_heads: int
    n_prompts: int
    n_tokens: int
    has_parts: bool
    has_mid: bool
    has_final_norm: bool
    has_head: bool
    has_gain: bool
    has_contiguous: bool

    @property
    def n_sites(self) -> int:
        """Places of the stream: what enters block 0, what leaves each block and the final norm."""
        return 1 + self.n_layers + self.has_final_norm


@dataclass(frozen=True, slots=True)
class Filled:
    """A table that a quantity fills.

    Attributes
    ----------
    n_rows
        Rows of an extent.
    row_bytes
        Size of a row in a file, compressed [bytes]; measured on the models of data/sample.
    needs
        What the table needs besides what its quantity does.
    audited
        By quantity whose invariance is audited: what it is of a row, in SQL. Each has a row in
        ``data/published/gauge_quantity.csv``.
    where
        Which rows are audited, in SQL; by quantity where that differs.
    """

    n_rows: Callable[[Extent], int]
    row_bytes: float
    needs: tuple[str, ...] = ()
    audited: Mapping[str, str] = field(default_factory=dict)
    where: str | Mapping[str, str] = "true"

    def queries(self, table: str, key: tuple[str, ...]) -> dict[str, str]:
        """Return the query of each quantity that is audited, its rows in the order of the key."""
        order = ", ".join(name for name in key if name != "run_id")
        where = {
            n: self.where if isinstance(self.where, str) else self.where[n] for n in self.audited
        }
        return {
            name: f"SELECT run_id, {value} AS value FROM {table} "
            f"WHERE {where[name]} ORDER BY {order}"
            for name, value in self.audited.items()
        }


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """A quantity that is built in.

    Attributes
    ----------
    description
        What it is.
    filled
        By table that it fills, besides ``model``, ``conformance`` and ``not_measured``.
    needs
        What it needs besides a stream.
    """

    description: str
    filled: Mapping[str, Filled]
    needs: tuple[str, ...] = ()

    @property
    def tables(self) -> tuple[str, ...]:
        """Tables that it fills."""
        return tuple(self.filled)


_GEOMETRY = ("mean_cosine", "uniformity", "effective_rank")
_AFTER_BLOCKS = "site = 'block_output'"
_OF_HEADS = {
    f"{matrix.lower()}_{norm}{'_folded' if is_folded else ''}": (
        column,
        f"matrix = '{matrix}' AND is_folded = {is_folded} AND slicing = 'correct'",
    )
    for matrix in ("Q", "K", "V", "OV", "O")
    for norm, column in (("spectral", "sigma_max"), ("frobenius", "frobenius"))
    for is_folded in ((False,) if matrix == "O" else (False, True))
}
_OF_MATRICES = {
    f"weight_{norm}_{matrix.lower()}": (column, f"matrix = '{matrix}' AND slicing = 'correct'")
    for norm, column, matrix in (
        ("spectral", "sigma_max", "V"),
        ("spectral", "sigma_max", "O"),
        ("frobenius", "frobenius", "V"),
    )
}

BUILT_IN: dict[str, BuiltIn] = {
    "weights": BuiltIn(
        "norms of Q, K, V, O and OV, per head and whole",
        {
            "weight_norm": Filled(
                lambda e: e.n_layers * e.n_heads * (5 + 4 * e.has_gain + e.has_contiguous),
                19.0,
                audited={name: column for name, (column, _) in _OF_HEADS.items()},
                where={name: where for name, (_, where) in _OF_HEADS.items()},
            ),
            "matrix_norm": Filled(
                lambda e: e.n_layers * (4 + e.has_contiguous),
                40.0,
                audited={name: column for name, (column, _) in _OF_MATRICES.items()},
                where={name: where for name, (_, where) in _OF_MATRICES.items()},
            ),
        },
        (HEADS,),
    ),
    "stream": BuiltIn(
        "lengths of the residual stream and of what each part of a block adds to it",
        {
            "residual_norm": Filled(
                lambda e: e.n_tokens * (1 + e.n_sites + e.n_layers * e.has_mid),
                16.0,
                audited={
                    **{n: n for n in ("norm", "norm_centred", "top_share", "top_feature")},
                    "norm_final": "norm",
                },
                where={
                    **dict.fromkeys(
                        ("norm", "norm_centred", "top_share", "top_feature"), _AFTER_BLOCKS
                    ),
                    "norm_final": "site = 'final_norm'",
                },
            ),
            "residual_update": Filled(
                lambda e: e.n_tokens * e.n_layers * (3 if e.has_parts else 1),
                14.5,
                audited={
                    **{f"update_{n}": n for n in ("norm", "norm_centred", "ratio", "cosine")},
                    "sublayer_input_norm": "input_norm",
                    "expansion": "norm / input_norm",
                },
            ),
            "next_token": Filled(
                lambda e: e.n_prompts * e.has_head,
                56.0,
                (HEAD,),
                audited={"output_entropy": "entropy", "top_probability": "top_probability"},
            ),
        },
    ),
    "attention": BuiltIn(
        "sums over attention maps: diagonal, sink, entropy",
        {
            "attention": Filled(
                lambda e: e.n_prompts * e.n_layers * e.n_heads,
                35.0,
                audited={
                    "attention_off_diagonal": "mass - diagonal",
                    **{f"attention_{n}": n for n in ("first_column", "entropy", "distance")},
                },
            ),
            "attention_mean": Filled(
                lambda e: e.n_prompts * e.n_layers,
                45.0,
                audited={"attention_mean_entropy": "entropy"},
            ),
        },
        (MAPS,),
    ),
    "geometry": BuiltIn(
        "how vectors lie to each other: cosines, rank",
        {
            "token_geometry": Filled(
                lambda e: e.n_prompts * e.n_sites,
                42.0,
                audited={
                    **{f"token_{n}": n for n in (*_GEOMETRY, "mean_cosine_body")},
                    "embedding_correlation": "embedding_correlation",
                },
                where=_AFTER_BLOCKS,
            ),
            "prompt_geometry": Filled(
                lambda e: e.n_sites,
                150.0,
                audited={f"prompt_{name}": name for name in _GEOMETRY},
                where=_AFTER_BLOCKS,
            ),
        },
    ),
    "predictions": BuiltIn(
        "distribution of the next token, after every token",
        {"token_prediction": Filled(lambda e: e.n_tokens, 11.0)},
        (HEAD,),
    ),
    "legacy": BuiltIn(
        "published variants, defects included",
        {
            # Six metrics in every block, and four of a prompt.
            "legacy_value": Filled(
                lambda e: e.n_prompts * (6 * e.n_layers + 4),
                8.5,
                audited={"legacy_contraction_ratio": "value"},
                where="metric = 'legacy_contraction_ratio'",
            )
        },
        (HEADS, MAPS, HEAD),
    ),
}


def _of_stream(quantity: StreamQuantity) -> BuiltIn:
    """Return what a file of `collect.measures` declares, as other quantities are declared."""
    filled = Filled(lambda e: e.n_prompts * e.n_sites, quantity.row_bytes)
    return BuiltIn(quantity.description, {quantity.table: filled})


BUILT_IN.update({of.name: _of_stream(of) for of in declared().values()})

#: What each table that a built-in quantity fills is declared as.
FILLED = {
    table: filled for built_in in BUILT_IN.values() for table, filled in built_in.filled.items()
}

#: By quantity, or by one table of it: what it needs; others need a stream alone.
NEEDED = {
    **{name: built_in.needs for name, built_in in BUILT_IN.items() if built_in.needs},
    **{table: filled.needs for table, filled in FILLED.items() if filled.needs},
}

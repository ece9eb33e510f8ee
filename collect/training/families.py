"""The families of networks a recipe can name: what each is by default, and what it cannot do.

A family is a layout of transformers that `collect.adapters` can measure. What differs between
labs in one layout is a switch of the recipe; what a layout cannot do is refused in a sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from collect.process.sections import require, require_positive

#: Rule of the matrices that write into the stream, as a factor on the other matrices' sigma.
RESIDUAL_RULES = ("none", "depth", "depth_ffn", "wang", "zero")


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """What a family is by default and what it admits.

    Attributes
    ----------
    model_types
        ``model_type`` of the transformers configuration by norm position, the default first.
    is_parallel
        What ``architecture.parallel`` may be, the default first.
    is_tied
        Whether input and output table are one matrix by default.
    dropout
        Entry of the configuration that drops entries of what a sub-layer writes; None when
        the layout has none.
    sigma
        Entry of the configuration that holds the spread of the first draw.
    shares_heads
        Whether query heads may share key and value heads.
    head_multiple
        What the width of a head must be a multiple of, for rotary positions.
    scale
        Who multiplies the embedding: "table" (a factor folded into the saved table), "config"
        (an entry of the configuration) or "fixed" (the square root of d_model, always).
    has_embedding_norm
        Whether the layout itself has a norm behind the embedding.
    writes
        Last parts of the names of the two matrices that write into the stream, attention's
        and feed-forward's.
    residual
        Rule of `RESIDUAL_RULES` that transformers follows when it draws this family.
    """

    model_types: Mapping[str, str]
    is_parallel: tuple[bool, ...] = (False,)
    is_tied: bool = False
    dropout: str | None = None
    sigma: str = "initializer_range"
    shares_heads: bool = False
    head_multiple: int = 1
    scale: str = "table"
    has_embedding_norm: bool = False
    writes: tuple[str, str] = ("self_attn.o_proj.weight", "mlp.down_proj.weight")
    residual: str = "none"

    @property
    def norm_position(self) -> str:
        """Where the norms sit by default."""
        return next(iter(self.model_types))


def _gated_family(model_type: str, position: str = "pre", **more: object) -> Family:
    """Return a family with Llama's matrices: gated feed-forward, rotary positions, RMSNorm."""
    settings = {"shares_heads": True, "head_multiple": 2, **more}
    return Family(model_types={position: model_type}, **settings)  # type: ignore[arg-type]


_CODE_OF_NEOX = ("attention.dense.weight", "mlp.dense_4h_to_h.weight")
_CODE_OF_BLOOM = ("self_attention.dense.weight", "mlp.dense_4h_to_h.weight")

FAMILIES: Mapping[str, Family] = {
    "gpt2": Family(
        model_types={"pre": "gpt2"},
        is_tied=True,
        dropout="resid_pdrop",
        writes=("attn.c_proj.weight", "mlp.c_proj.weight"),
        residual="depth",
    ),
    "gpt_neo": Family(
        model_types={"pre": "gpt_neo"},
        is_tied=True,
        dropout="resid_dropout",
        writes=("attn.attention.out_proj.weight", "mlp.c_proj.weight"),
    ),
    "gpt_neox": Family(
        model_types={"pre": "gpt_neox"},
        is_parallel=(True, False),
        dropout="hidden_dropout",
        head_multiple=8,
        writes=_CODE_OF_NEOX,
    ),
    "gptj": Family(
        model_types={"pre": "gptj"},
        is_parallel=(True,),
        dropout="resid_pdrop",
        head_multiple=8,
        writes=("attn.out_proj.weight", "mlp.fc_out.weight"),
    ),
    "opt": Family(
        model_types={"pre": "opt", "post": "opt"},
        is_tied=True,
        dropout="dropout",
        sigma="init_std",
        writes=("self_attn.out_proj.weight", "fc2.weight"),
    ),
    "bloom": Family(
        model_types={"pre": "bloom"},
        is_tied=True,
        dropout="hidden_dropout",
        has_embedding_norm=True,
        writes=_CODE_OF_BLOOM,
    ),
    "falcon": Family(
        model_types={"pre": "falcon"},
        is_parallel=(True, False),
        is_tied=True,
        dropout="hidden_dropout",
        head_multiple=2,
        writes=_CODE_OF_BLOOM,
    ),
    "llama": _gated_family("llama"),
    "gemma": _gated_family("gemma", is_tied=True, scale="fixed"),
    "gemma2": _gated_family("gemma2", "sandwich", is_tied=True, scale="fixed"),
    "glm": Family(
        model_types={"pre": "glm", "sandwich": "glm4"}, shares_heads=True, head_multiple=4
    ),
    "granite": _gated_family("granite", scale="config"),
    "olmo2": _gated_family("olmo2", "output"),
}


def require_possible(name: str, geometry: Geometry, architecture: Architecture) -> None:
    """Raise ValueError if a family cannot have a geometry, or cannot do what is asked of it."""
    family, asked = FAMILIES[name], architecture
    d_head = geometry.d_model // geometry.n_heads
    multiple, is_normed = family.head_multiple, family.has_embedding_norm
    scale, norm = asked.embedding_scale, asked.embedding_norm
    possible = {
        "geometry.n_kv_heads": geometry.n_kv_heads is None or family.shares_heads,
        f"geometry.n_heads, whose width must be a multiple of {multiple}": d_head % multiple == 0,
        "architecture.norm_position": asked.norm_position in (None, *family.model_types),
        "architecture.parallel": asked.parallel in (None, *family.is_parallel),
        "architecture.dropout": not asked.dropout or family.dropout is not None,
        "architecture.embedding_scale": scale is None or not (family.scale == "fixed" or is_normed),
        "architecture.embedding_norm": norm is None
        or (norm if is_normed else not norm or family.scale == "table"),
    }
    for key, is_possible in possible.items():
        require(is_possible, f"family {name} cannot have this {key}")


@dataclass(frozen=True, slots=True)
class Geometry:
    """Shape of the network; ``context`` is its longest input [tokens]."""

    n_layers: int
    d_model: int
    n_heads: int
    context: int
    n_kv_heads: int | None = None

    def __post_init__(self) -> None:
        for key in ("n_layers", "d_model", "n_heads", "context"):
            require_positive(key, getattr(self, key))
        require(
            self.d_model % self.n_heads == 0,
            f"d_model must be a multiple of n_heads; found {self.d_model} and {self.n_heads}",
        )
        if self.n_kv_heads is not None:
            require_positive("n_kv_heads", self.n_kv_heads)
            require(
                self.n_heads % self.n_kv_heads == 0,
                f"n_heads must be a multiple of n_kv_heads; "
                f"found {self.n_heads} and {self.n_kv_heads}",
            )


@dataclass(frozen=True, slots=True)
class Architecture:
    """Switches of the family's layout; None stands for what the family does by itself.

    Attributes
    ----------
    tied
        Whether input and output table are one matrix.
    parallel
        Whether attention and feed-forward read the same stream.
    norm_position
        pre, post, sandwich or output; as in table ``model``.
    embedding_scale
        Factor on the embedding before it enters the stream [1].
    embedding_norm
        Whether a LayerNorm with gain and bias follows the embedding.
    dropout
        Share of entries dropped from what each sub-layer writes, while training [1].
    """

    tied: bool | None = None
    parallel: bool | None = None
    norm_position: str | None = None
    embedding_scale: float | None = None
    embedding_norm: bool | None = None
    dropout: float = 0.0

    def __post_init__(self) -> None:
        if self.embedding_scale is not None:
            require_positive("embedding_scale", self.embedding_scale)
        require(0 <= self.dropout < 1, f"dropout must be in 0 to 1; found {self.dropout}")

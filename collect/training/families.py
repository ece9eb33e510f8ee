"""The families of networks a recipe can name: what each is by default, and what it cannot do.

A family is a layout of transformers that `collect.adapters` can measure. What differs between
labs in one layout is a switch of the recipe; what a layout cannot do is refused in a sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from collect.training.sections import require
from collect.training.shape import Architecture, Geometry

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


def _gated(model_type: str, position: str = "pre", **more: object) -> Family:
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
    "llama": _gated("llama"),
    "gemma": _gated("gemma", is_tied=True, scale="fixed"),
    "gemma2": _gated("gemma2", "sandwich", is_tied=True, scale="fixed"),
    "glm": Family(
        model_types={"pre": "glm", "sandwich": "glm4"}, shares_heads=True, head_multiple=4
    ),
    "granite": _gated("granite", scale="config"),
    "olmo2": _gated("olmo2", "output"),
}


def require_possible(name: str, geometry: Geometry, architecture: Architecture) -> None:
    """Raise ValueError if a family cannot have a geometry, or cannot do what is asked of it."""
    family = FAMILIES[name]
    _require_shape(name, family, geometry)
    position, is_parallel = architecture.norm_position, architecture.parallel
    require(
        position is None or position in family.model_types,
        f"family {name} must have architecture.norm_position {_either(family.model_types)}; "
        f"found {position!r}",
    )
    allowed = [str(value).lower() for value in family.is_parallel]
    require(
        is_parallel is None or is_parallel in family.is_parallel,
        f"family {name} must have architecture.parallel {_either(allowed)}; "
        f"found {str(is_parallel).lower()}",
    )
    require(
        not architecture.dropout or family.dropout is not None,
        f"family {name} must not have architecture.dropout, which its layout has no place for; "
        f"found {architecture.dropout}",
    )
    _require_table(name, family, architecture)


def _require_table(name: str, family: Family, architecture: Architecture) -> None:
    scale, normed = architecture.embedding_scale, architecture.embedding_norm
    require(
        scale is None or family.scale != "fixed",
        f"family {name} must not have architecture.embedding_scale, "
        f"because it always multiplies by the square root of d_model; found {scale}",
    )
    require(
        normed is None or normed or not family.has_embedding_norm,
        f"family {name} must not have architecture.embedding_norm false, "
        "because its layout always norms the embedding",
    )
    require(
        not normed or family.has_embedding_norm or family.scale == "table",
        f"family {name} must not have architecture.embedding_norm true, "
        "because its layout multiplies the embedding itself",
    )
    require(
        scale is None or not family.has_embedding_norm,
        f"family {name} must not have architecture.embedding_scale, "
        f"because its layout norms the embedding, which undoes it; found {scale}",
    )


def _require_shape(name: str, family: Family, geometry: Geometry) -> None:
    """Refuse a geometry that the family cannot have."""
    d_head = geometry.d_model // geometry.n_heads
    require(
        geometry.n_kv_heads is None or family.shares_heads,
        f"family {name} must not have geometry.n_kv_heads",
    )
    if family.head_multiple == 2:
        require(d_head % 2 == 0, f"a {name} head must have an even width; found {d_head}")
    require(
        d_head % family.head_multiple == 0,
        f"a {name} head must be a multiple of {family.head_multiple} wide; found {d_head}",
    )


def _either(options: object) -> str:
    return " or ".join(str(option) for option in options)  # type: ignore[attr-defined]

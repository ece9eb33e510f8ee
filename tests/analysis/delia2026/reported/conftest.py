"""A store of the paper's figures and of two models that nobody measured, with lengths by hand."""

import pytest

from analysis.store import open_store
from collect.published.reported import import_reported
from tests.collect.published.reported.test_importer import folder

SHAPES = {"google/gemma-2-2b": (4, 8, 256), "meta-llama/Meta-Llama-3-8B": (6, 32, 128)}

#: Lengths before block 0 and after each block.
LENGTHS = {
    "google/gemma-2-2b": [1, 2, 8, 6, 12],
    "meta-llama/Meta-Llama-3-8B": [1, 1, 1.5, 1.6, 1.7, 1.8, 3.6],
}


def sources(place, **changes):
    """Return a folder of the two models, whose gains can be told by hand."""
    described = [
        f'model_id = "{name}"\nfamily = "llama"\nn_layers = {n}\nd_model = 64\nn_heads = {heads}\n'
        f"n_kv_heads = {heads}\nd_head = {width}\nn_parameters = {n}000000000\n"
        for name, (n, heads, width) in SHAPES.items()
    ]
    rows = [
        f"{name},{layer},{length}"
        for name, lengths in LENGTHS.items()
        for layer, length in enumerate(lengths)
    ]
    text = "\n".join(["model_id,layer,norm", *rows]) + "\n"
    return folder(place, rows=text, model="\n[[model]]\n".join(described), **changes)


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    place = tmp_path_factory.mktemp("reported")
    import_reported([sources(place)], place / "out")
    return open_store("data/published", place / "out")

"""Folders of reported lengths: what they give, and what is refused."""

import math

import pandas as pd
import pytest

from collect.errors import InputError, OutputError
from collect.process.cli import main
from collect.published.reported import import_reported
from collect.published.reported.description import DESCRIPTION, LENGTHS

SOURCE = {
    "authors": '"A and B"',
    "repository": '"https://example.org/lengths"',
    "commit_id": '"0123abc"',
    "licence": '"MIT"',
    "token": '"the last"',
    "pooling": '"last_token"',
    "prompts": '"two short ones"',
    "n_prompts": "1",
    "block": '"numbered from 1, before the final norm"',
    "first_block": "1",
    "dtype": '"float32"',
    "weights": '"none"',
}
MODEL = 'model_id = "lab/tiny"\nfamily = "llama"\nn_layers = 4\nd_model = 8\nlab = "Lab"\n'

#: Lengths before block 0 and after each of four blocks, in two series.
NORMS = {"a": [1.0, 2.0, 3.0, 6.0, 5.0], "b": [1.0, 4.0, 4.0, 4.0, 8.0]}


def folder(place, name="lengths", rows=None, model=MODEL, **changes):
    """Return a folder of reported lengths; a key that is None is left out."""
    path = place / name
    path.mkdir(parents=True)
    stated = {key: value for key, value in {**SOURCE, **changes}.items() if value is not None}
    text = "".join(f"{key} = {value}\n" for key, value in stated.items())
    (path / DESCRIPTION).write_text(f"{text}\n[[model]]\n{model}", encoding="utf-8")
    (path / LENGTHS).write_text(table(NORMS) if rows is None else rows, encoding="utf-8")
    return path


def table(norms, first=0):
    lines = [
        f"lab/tiny,{series},{layer},{norm}"
        for series, lengths in norms.items()
        for layer, norm in enumerate(lengths, first)
    ]
    return "\n".join(["model_id,series,layer,norm", *lines]) + "\n"


def test_gains_are_ratios_within_a_series_and_means_over_them(tmp_path):
    counts = import_reported([folder(tmp_path)], tmp_path / "out")
    assert counts == {"model": 1, "reported_source": 1, "reported_norm": 10, "reported_figure": 7}
    norms = pd.read_parquet(tmp_path / "out" / "reported_norm.parquet")
    assert norms["layer"].tolist() == [-1, 0, 1, 2, 3] * 2
    figures = pd.read_parquet(tmp_path / "out" / "reported_figure.parquet").set_index("metric")
    by_hand = {
        "gain_embedding": (2 / 1, 4 / 1),
        "gain_penultimate_block": (6 / 3, 4 / 4),
        "gain_last_block": (5 / 6, 8 / 4),
        "gain_body": ((5 / 2) ** (1 / 3), (8 / 4) ** (1 / 3)),
        "gain_inner": ((6 / 2) ** (1 / 2), 1.0),
        "gain_maximum": (2.0, 2.0),
        "total_amplification": (5 / 2, 8 / 4),
    }
    assert {*figures.index} == {*by_hand}
    for metric, (one, other) in by_hand.items():
        assert figures.loc[metric, "mean"] == pytest.approx((one + other) / 2), metric
        assert figures.loc[metric, "sd"] == pytest.approx(abs(one - other) / math.sqrt(2)), metric
        assert figures.loc[metric, "n"] == 2


def test_blocks_may_be_numbered_from_0_and_what_is_before_them_from_minus_1(tmp_path):
    import_reported([folder(tmp_path)], tmp_path / "one")
    path = folder(tmp_path, "zero", rows=table(NORMS, first=-1), first_block="0")
    import_reported([path], tmp_path / "two")
    one, two = (
        pd.read_parquet(tmp_path / it / "reported_norm.parquet").drop(columns="source_id")
        for it in ("one", "two")
    )
    pd.testing.assert_frame_equal(one, two)


def test_a_profile_without_its_last_block_gives_no_gain_that_needs_it(tmp_path):
    rows = table({"a": [2.0, 3.0, 6.0]}, first=1)
    import_reported([folder(tmp_path, rows=rows)], tmp_path / "out")
    figures = pd.read_parquet(tmp_path / "out" / "reported_figure.parquet").set_index("metric")
    assert {*figures.index} == {"gain_penultimate_block", "gain_inner"}
    assert figures.loc["gain_inner", "mean"] == pytest.approx(math.sqrt(3))


def test_of_a_source_without_a_licence_figures_alone_are_written(tmp_path):
    path = folder(tmp_path, licence=None)
    counts = import_reported([path], tmp_path / "out")
    assert counts["reported_norm"] == 0
    assert counts["reported_figure"] == 7
    source = pd.read_parquet(tmp_path / "out" / "reported_source.parquet")
    assert source["licence"].isna().all()


@pytest.mark.parametrize(
    "key", ["token", "block", "prompts", "pooling", "commit_id", "first_block"]
)
@pytest.mark.parametrize("value", [None, '" "'])
def test_a_folder_that_does_not_say_its_key_is_refused_with_exit_code_2(
    tmp_path, capsys, key, value
):
    path = folder(tmp_path, **{key: value})
    assert main(["collect", "reported", str(path), "--out", str(tmp_path / "out")]) == 2
    printed = capsys.readouterr().err
    assert key in printed
    assert DESCRIPTION in printed
    assert "Traceback" not in printed
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"first_block": "0"}, "first_block"),  # off by one: a length beyond the last block
        ({"pooling": '"mean"'}, "pooling"),
        ({"tokens": '"last"'}, "tokens"),
        ({"n_prompts": "0"}, "n_prompts"),
        ({"rows": "model_id,layer\nlab/tiny,1\n"}, "norm"),
        ({"rows": "model_id,layer,norm\n"}, "no row"),
        ({"rows": "model_id,layer,norm\nlab/other,1,2\n"}, "lab/other"),
        ({"rows": "model_id,layer,norm\nlab/tiny,1,-2\n"}, "positive"),
        ({"rows": "model_id,layer,norm\nlab/tiny,1,nan\n"}, "norm"),
        ({"rows": "model_id,layer,norm\nlab/tiny,one,2\n"}, "one"),
        ({"rows": "model_id,layer,norm\nlab/tiny,1.5,2\n"}, "whole"),
        ({"rows": table({"a": [1.0, 2.0]}, first=2)}, "block 0"),
        ({"rows": "model_id,layer,norm\nlab/tiny,1,2\nlab/tiny,3,2\n"}, "skip none"),
        ({"rows": "model_id,layer,norm\nlab/tiny,1,2\nlab/tiny,1,2\n"}, "skip none"),
        ({"rows": "model_id,layer,norm\n,1,2\nlab/tiny,1,2\n"}, "''"),
        ({"rows": "model_id,layer,norm\nlab/tiny,1,2,3,4\n"}, "readable"),
        ({"rows": "model_id,layer,norm,norm\nlab/tiny,1,2,3\n"}, "norm twice"),
        ({"rows": "model_id,layer,norm\nlab/tiny,1e30,2\n"}, "whole"),
        ({"rows": "model_id,layer,norm\nlab/tiny,True,2\n"}, "True"),
        ({"rows": "model_id,layer,norm\nlab/tiny,1,1e308\n"}, "1e308"),
        ({"rows": "model_id,layer,norm\nlab/tiny,1,2\n"}, "gain"),
        ({"rows": ""}, "readable"),
        ({"model": MODEL.replace("4", "0")}, "n_layers"),
        ({"model": MODEL.replace("8", "99999999999")}, "d_model"),
        ({"model": f'{MODEL}norm_kind = "batch"\n'}, "norm_kind"),
        ({"model": ""}, "model_id"),
        ({"model": MODEL.replace("4", '"four"')}, "n_layers"),
        ({"model": f"{MODEL}\n[[model]]\n{MODEL}"}, "lab/tiny"),
    ],
)
def test_what_cannot_be_is_refused_by_name(tmp_path, changes, word):
    with pytest.raises(InputError, match=word):
        import_reported([folder(tmp_path, **changes)], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_sources_share_a_directory_and_none_is_lost(tmp_path):
    one, other = folder(tmp_path), folder(tmp_path, "others", token='"all"')
    out = tmp_path / "out"
    assert import_reported([one, other], out)["model"] == 1
    assert import_reported([other, one], out)["reported_source"] == 2
    with pytest.raises(OutputError, match="source lengths"):
        import_reported([other], out)
    again = folder(tmp_path / "b")
    with pytest.raises(InputError, match="named lengths"):
        import_reported([one, again], tmp_path / "c")
    wider = folder(tmp_path, "wider", model=MODEL.replace("8", "16"))
    with pytest.raises(InputError, match="d_model"):
        import_reported([one, wider], tmp_path / "c")


def test_a_directory_of_other_tables_is_left_alone(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "model.csv").write_text("model_id,n_layers,d_model\nlab/tiny,4,8\n")
    with pytest.raises(OutputError, match="holds model"):
        import_reported([folder(tmp_path)], out)
    assert [path.name for path in out.iterdir()] == ["model.csv"]


def test_an_absent_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match=DESCRIPTION):
        import_reported([tmp_path / "absent"], tmp_path / "out")
    path = folder(tmp_path)
    (path / LENGTHS).unlink()
    with pytest.raises(InputError, match=LENGTHS):
        import_reported([path], tmp_path / "out")

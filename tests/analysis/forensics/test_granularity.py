"""Which numbers of units a printed share can be of, counted by hand."""

from analysis.forensics import granularity
from analysis.forensics.rounding import read


def test_a_share_names_the_numbers_of_units_it_can_be_of():
    assert granularity.denominators("43.75 %", 40)["n_obs"].tolist() == [16, 32]
    rows = granularity.denominators("80 %", 12)
    assert list(zip(rows["n_obs"], rows["n_hits"], strict=True)) == [(5, 4), (10, 8)]
    assert granularity.denominators("33 %", 3)["n_hits"].tolist() == [1]
    assert granularity.hits_of(read("> 50 %"), 4) == [3, 4]

"""The name of the files of a unit: which no file can have, and the longest that one can."""

import pytest

from collect.errors import InputError
from collect.record.stem import file_stem


@pytest.mark.parametrize(
    "model_id", ["a" * 300, "é" * 150, "a\x00b", "a\nb", "a\ud800b", "a\\b", ""]
)
def test_a_name_that_no_file_can_have_is_refused(model_id):
    with pytest.raises(InputError, match="must make a file name: at most 200 bytes of UTF-8"):
        file_stem(model_id)

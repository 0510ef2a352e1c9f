"""Parents as one attribute."""

from __future__ import annotations

import numpy as np
import pytest

from countwise import Nominal
from countwise.data.table import Table
from countwise.errors import CountwiseError
from countwise.network.families import codes_of_parents, joined_parents

A, B = Nominal("a", (0, 1)), Nominal("b", ("x", "y", "z"))


def test_every_combination_has_a_code_and_a_gap_has_none():
    table = Table({"a": np.array([0, 1, 1, 2, 0], np.uint8), "b": np.array([0, 2, 0, 1, 4], np.uint8)}, 5)
    given = joined_parents([A, B])
    assert codes_of_parents([A, B], table).tolist() == [0, 5, 3, given.missing, given.missing]
    assert given.values[5] == (1, "z")


def test_without_parents_there_is_one_combination():
    assert joined_parents([]).values == ((),)
    assert codes_of_parents([], Table({}, 3)).tolist() == [0, 0, 0]


def test_too_many_combinations_are_refused():
    wide = [Nominal(f"n{i}", tuple(range(100))) for i in range(4)]
    with pytest.raises(CountwiseError, match="100,000,000 combinations"):
        joined_parents(wide)

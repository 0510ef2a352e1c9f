"""The order of ordinal strings: declared, of the categories, or the alphabet with a warning; codes at random."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.cli.running import run

from countwise import (
    CategoricalEncoder,
    NaiveBayesClassifier,
    NeighborsClassifier,
    Ordinal,
    TreeClassifier,
)
from countwise.errors import DataWarning, OptionError

SIZES, Y = ["S", "M", "L", "L", "S", "M"], list("aabbab")


@pytest.mark.parametrize("learner", [NaiveBayesClassifier, TreeClassifier, NeighborsClassifier, CategoricalEncoder])
@pytest.mark.parametrize("table", [dict, pd.DataFrame, pl.DataFrame])
def test_an_order_that_is_made_up_is_said(learner: Any, table: Any) -> None:
    with pytest.warns(DataWarning, match="'size' is ordinal, but the order of its values is not declared"):
        learner(types={"size": "ordinal"}).fit(table({"size": SIZES}), Y)


@pytest.mark.parametrize(
    ("column", "declared"),
    [
        (SIZES, Ordinal("size", ("S", "M", "L"))),
        (pd.Categorical(SIZES, ["S", "M", "L"], ordered=True), "ordinal"),
        ([1, 2, 3, 3, 1, 2], "ordinal"),
    ],
    ids=["declared", "ordered categories", "numbers"],
)
def test_an_order_that_is_known_is_not_warned_of(column: Any, declared: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = NaiveBayesClassifier(types={"size": declared}).fit({"size": column}, Y)
    assert list(model.schema_["size"].values) in (["S", "M", "L"], [1, 2, 3])


def test_the_command_line_takes_the_order_and_names_the_option(tmp_path: Any) -> None:
    file = tmp_path / "t.csv"
    file.write_text("size,y\nS,a\nM,a\nL,b\nL,b\nS,a\n")
    made = run(
        "train", str(file), "-y", "y", "--types", "size=ordinal", "--model", "tree", "-o", str(tmp_path / "m.json")
    )
    assert "Hint: use --types 'size=LOWEST<...<HIGHEST'." in made.stderr
    known = run(
        "train", str(file), "-y", "y", "--types", "size=S<M<L", "--model", "tree", "-o", str(tmp_path / "m.json")
    )
    assert "ordinal" not in known.stderr
    assert "<= M: a (3)" in known.stdout


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_random_codes_are_a_permutation_that_depends_on_the_seed_and_the_values_alone(seed: int) -> None:
    colors = np.array(["red", "blue", "green", "black", "white", None], dtype=object)
    with pytest.warns(DataWarning, match="have an order and distances"):
        one = CategoricalEncoder("random", random_state=seed).fit({"color": colors})
    with pytest.warns(DataWarning):
        other = CategoricalEncoder("random", random_state=seed).fit({"color": colors[::-1]})
    codes = one.transform({"color": colors})["color"]
    assert sorted(codes[:5].tolist()) == [0, 1, 2, 3, 4]
    assert np.isnan(codes[5])
    np.testing.assert_array_equal(other.transform({"color": colors})["color"], codes)
    assert one.inverse_transform(one.transform({"color": colors}))["color"].tolist() == colors.tolist()
    with pytest.warns(DataWarning):
        later = [
            CategoricalEncoder("random", random_state=s).fit({"color": colors}) for s in range(seed + 1, seed + 4)
        ]
    assert any((c.transform({"color": colors})["color"][:5] != codes[:5]).any() for c in later)


@pytest.mark.parametrize("seed", [-1, 0.5, "a", None])
def test_a_wrong_seed_is_refused(seed: Any) -> None:
    with pytest.raises(OptionError, match="random_state"):
        CategoricalEncoder("random", random_state=seed).fit({"color": ["red", "blue"]})

"""Errors and notes that once were those of other libraries, or named the wrong row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError

from countwise import (
    Auto,
    BayesNetwork,
    BayesNetworkClassifier,
    Discretizer,
    Gaussian,
    InstanceSelector,
    NaiveBayesClassifier,
    RuleClassifier,
    Schema,
    Text,
    TreeClassifier,
    cross_validate,
    samples,
)
from countwise.errors import CountwiseError, TableError
from countwise.feature_selection import pairwise_scores
from countwise.plots import draw_tree

TENNIS = samples.load("tennis")


@pytest.mark.parametrize(
    "call",
    [
        lambda: Auto(("gaussian",)),
        lambda: Text("t", pattern="("),
        lambda: Text("t", stop_words="english"),
        lambda: Schema({"a": "foo"}),
        lambda: Gaussian(floor=-1),
        lambda: pairwise_scores(pd.DataFrame(index=range(5))),
        lambda: NaiveBayesClassifier().fit(TENNIS.X, TENNIS.y).score(TENNIS.X, "play"),
        lambda: NaiveBayesClassifier().fit(TENNIS.X, TENNIS.y).predict_frame(pd.DataFrame(TENNIS.X), reasons=-1),
        lambda: NaiveBayesClassifier().fit(TENNIS.X, TENNIS.y).explain(TENNIS.X, row=99),
    ],
)
def test_what_cannot_be_is_refused_in_words(call: Any) -> None:
    with pytest.raises(CountwiseError):
        call()


def test_bins_have_centers_after_fit_only() -> None:
    with pytest.raises(NotFittedError):
        Discretizer().centers("a")


@pytest.mark.parametrize("structure", ["tan", "hill_climb"])
def test_a_table_of_each_node_can_be_shown(structure: str) -> None:
    model = BayesNetworkClassifier(structure).fit(TENNIS.frame, "play")
    for name in TENNIS.X:
        assert str(model.cpt(name))
    if not any(parent != "play" for parent, _ in model.graph_.arcs):
        assert len(model.predict_frame(pd.DataFrame(TENNIS.X))) == 14


def test_the_score_of_a_learned_structure_is_not_that_of_a_changed_one() -> None:
    model = BayesNetwork("hill_climb").fit(TENNIS.frame)
    arcs = set(model.graph_.arcs)
    parent, child = next(
        (a, b) for a in TENNIS.frame for b in TENNIS.frame if a != b and (a, b) not in arcs and (b, a) not in arcs
    )
    assert model.add_arc(parent, child, TENNIS.frame).found_ is None


def test_rules_are_applied_like_trees() -> None:
    model = RuleClassifier().fit(TENNIS.frame, "play")
    assert model.apply(TENNIS.X).tolist() == model.decides(TENNIS.X).tolist()


@pytest.mark.parametrize("kind", [pd.Categorical, pd.Index, pd.array, pd.Series, np.array, pa.array, list])
def test_selected_rows_keep_the_type_of_the_target(kind: Any) -> None:
    y = kind([str(v) for v in TENNIS.y])
    X, kept = InstanceSelector("condensed").fit_resample(pd.DataFrame(TENNIS.X), y)
    assert isinstance(kept, type(y))
    assert len(kept) == len(X)


def test_rows_of_string_views_can_be_selected() -> None:
    table = pa.table({"a": np.arange(14.0), "b": pa.array(list(TENNIS.X["wind"]), pa.string_view())})
    X, y = InstanceSelector().fit_resample(table, TENNIS.y)
    assert X.schema == table.schema
    assert X.num_rows == len(y)


def test_columns_of_bins_are_matched_by_name() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": [10.0, 20.0, 30.0, 40.0]})
    cutter = Discretizer("equal_width", n_bins=2).fit(frame)
    back = cutter.inverse_transform(cutter.transform(frame)[["b", "a"]])
    pd.testing.assert_frame_equal(back[["a", "b"]], cutter.inverse_transform(cutter.transform(frame)))
    with pytest.raises(TableError, match="'b'"):
        cutter.inverse_transform(cutter.transform(frame).rename(columns={"b": "z"}))


def test_a_continuous_target_is_reported_with_its_own_row() -> None:
    y = np.array([np.nan, 1.0, np.nan, 2.0, 2.5, 1.0])
    with pytest.raises(TableError, match=r"2\.5 in row 4"), pytest.warns(match="skipped"):
        cross_validate(NaiveBayesClassifier(), {"x": np.arange(6.0)}, y, cv=2)


def test_a_column_of_groups_is_no_attribute() -> None:
    frame = pd.DataFrame({"x": np.arange(12.0), "household": list("aabbccddeeff"), "y": list("pq") * 6})
    found = cross_validate(NaiveBayesClassifier(), frame, "y", groups="household", by="household", cv=3)
    assert all(list(fold.fitted.model.schema_) == ["x"] for fold in found.folds)


def test_depths_of_numpy_are_depths() -> None:
    tree = TreeClassifier().fit(TENNIS.X, TENNIS.y)
    assert draw_tree(tree, max_depth=np.int64(3)) == draw_tree(tree, max_depth=3)


def test_a_column_of_missing_values_has_no_p_value() -> None:
    model = NaiveBayesClassifier().fit({"a": [1.0, 2.0, 3.0], "m": [None] * 3}, list("pqp"))
    assert model.missing_report()["p-value"] == [""]

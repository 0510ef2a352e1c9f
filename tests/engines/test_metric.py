"""Metrics learned where the rows lie are those learned in memory."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from countwise.errors import DataWarning, OptionError, RowsRefused, TableError
from countwise.neighbors import DistanceMetric
from countwise.neighbors.local_distances import Difference, LookupDistance

from .quiet import ENGINES_OWN

pytestmark = ENGINES_OWN


def mixed_table(n=200, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "name": rng.choice(["a", "O'Brien", "12", ""], n),
            "flag": rng.random(n) < 0.3,
            "far": rng.normal(1e9, 1.0, n),
            "zero": rng.choice([0.0, -0.0, 1.5], n),
            "w": rng.choice([0.0, 1.0, 2.5], n),
            "y": rng.choice(["p", "q", "r"], n),
        }
    )
    frame.loc[rng.random(n) < 0.1, "name"] = None
    frame.loc[rng.random(n) < 0.1, "far"] = np.nan
    return frame


def same(ours: DistanceMetric, memory: DistanceMetric) -> None:
    assert ours.schema_ == memory.schema_
    assert (ours.distance_.p, ours.distance_.missing) == (memory.distance_.p, memory.distance_.missing)
    for one, two in zip(ours.distance_.locals, memory.distance_.locals, strict=True):
        assert type(one) is type(two)
        np.testing.assert_allclose([one.weight, one.most], [two.weight, two.most], rtol=1e-12)
        if isinstance(one, LookupDistance):
            assert one.classes == two.classes
            for name in ("table", "place", "counts", "edges"):
                np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
        if isinstance(one, Difference):
            np.testing.assert_allclose([one.scale, one.origin], [two.scale, two.origin], rtol=1e-12)


@pytest.mark.parametrize(
    "settings",
    [
        {"nominal": "mvdm", "numeric": "mvdm", "n_bins": 4},
        {"numeric": "sd", "attributes": {"name": "levenshtein"}, "weights": "gain", "divisor": "n"},
    ],
)
def test_a_metric_is_learned_in_the_engine_as_in_memory(engine, tmp_path, settings):
    frame = mixed_table()
    relation = engine.of(frame.drop(columns="w"), tmp_path)
    ours, memory = (
        DistanceMetric(**settings).fit(relation, "y"),
        DistanceMetric(**settings).fit(frame.drop(columns="w"), "y"),
    )
    same(ours, memory)
    rows = frame.drop(columns=["w", "y"])[:20]
    np.testing.assert_allclose(ours.pairwise(rows), memory.pairwise(rows), rtol=1e-12)


def test_rows_count_by_their_weights(quick_engine, tmp_path):
    frame = mixed_table()
    for settings in ({"nominal": "mvdm"}, {"numeric": "sd"}):
        ours = DistanceMetric(**settings).fit(quick_engine.of(frame, tmp_path), "y", sample_weight="w")
        same(ours, DistanceMetric(**settings).fit(frame.drop(columns="w"), "y", sample_weight=frame["w"]))


def test_rows_without_a_class_are_left_out_and_counted_where_classes_are_needed(quick_engine, tmp_path):
    frame = mixed_table().drop(columns="w")
    frame.loc[:4, "y"] = None
    frame.loc[0, "zero"] = 99.0
    relation = quick_engine.of(frame, tmp_path)
    with pytest.warns(DataWarning, match="5 of 200 rows were skipped"):
        ours = DistanceMetric(nominal="mvdm").fit(relation, "y")
    same(ours, DistanceMetric(nominal="mvdm").fit(frame[5:], "y"))
    same(
        DistanceMetric().fit(relation, "y"), DistanceMetric().fit(frame.drop(columns="y"))
    )  # nobody asks for classes


def test_what_needs_rows_says_how_many_there_are():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": [1.0, 2.0, 4.0], "t": ["x y", "y", "z"], "y": ["p", "q", "p"]}).lazy()
    with pytest.raises(RowsRefused, match=r"words of text column 't'.*the table has 3 rows.*drop the column"):
        DistanceMetric(types={"t": "text"}).fit(frame, "y")
    with pytest.raises(RowsRefused, match=r"length of each row.*the table has 3 rows"):
        DistanceMetric(unit_length=True).fit(frame.select("a", "y"), "y")
    with pytest.raises(OptionError, match="needs the class of each row"):
        DistanceMetric(nominal="mvdm").fit(frame)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ({"a": [1.0, float("inf")], "w": [1.0, 1.0]}, "'a' is infinite in 1 row"),
        ({"a": [1.0, 2.0], "w": [1.0, -1.0]}, r"Negative values .* 1 of 2 rows of 'w'"),
        ({"a": [1.0, 2.0], "w": [1.0, None]}, "'w' are missing or infinite in 1 of 2"),
        ({"a": [1.0, 2.0], "w": [0.0, 0.0]}, "All sample weights are zero"),
        ({"a": [], "w": []}, "The table has no rows"),
    ],
)
def test_bad_rows_are_told_and_leave_the_metric_as_it_was(rows, told):
    polars = pytest.importorskip("polars")
    kinds = {"a": polars.Float64, "w": polars.Float64}
    metric = DistanceMetric().fit(polars.DataFrame({"a": [1.0, 3.0]}).lazy())
    before = dict(vars(metric))
    with pytest.raises(TableError, match=told):
        metric.fit(polars.DataFrame(rows, schema=kinds).lazy(), sample_weight="w")
    assert vars(metric) == before


def test_deviations_far_from_0_and_of_huge_and_tiny_numbers_keep_their_digits():
    polars = pytest.importorskip("polars")
    rng = np.random.default_rng(3)
    frame = polars.DataFrame(
        {
            "far": rng.normal(1e9, 1e-3, 300),
            "huge": rng.normal(size=300) * 1e200,
            "tiny": rng.normal(size=300) * 1e-200,
        }
    )
    ours, memory = DistanceMetric(numeric="sd").fit(frame.lazy()), DistanceMetric(numeric="sd").fit(frame)
    same(ours, memory)

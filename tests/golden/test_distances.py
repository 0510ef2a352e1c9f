"""The worked examples of distances (G36 to G41), through the public interface.

The files of kind `distances` follow the form of this folder's README, and hold:

| field | meaning |
|---|---|
| `[one_hot]` | vectors by name; each two are compared as rows of numbers |
| `[rows]` | rows of `columns` numbers |
| `[[metric]]` | the `settings` of a metric, the rows it is used `on` (the table by default) and the `columns` of it;
|              | of each `pair` of rows (from 0) the `sum` before the root is drawn, and the `distance` |
| `[counts]` | by column and value: how many rows of each class, in the order of the classes |
| `[[difference]]` | of two `values` of a column: their value difference |
| `[[scaled]]` | of a `column` and `row`: the number as it is compared |
"""

from __future__ import annotations

import math
import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from countwise import NeighborsClassifier, measures, samples
from countwise.neighbors import DistanceMetric, distance_matrix

HERE = Path(__file__).parent
CASES = {
    path.stem: case
    for n in range(36, 42)
    for path in sorted(HERE.glob(f"g{n}_*.toml"))
    if (case := tomllib.loads(path.read_text(encoding="utf-8")))["kind"] != "exemplars"
}
PAIRS = [
    (name, i, j)
    for name, case in CASES.items()
    for i, metric in enumerate(case.get("metric", ()))
    for j in range(len(metric["pair"]))
]


def value(text: str) -> float:
    return float(Fraction(text))


def close(ours: float, text: str) -> bool:
    return math.isclose(ours, value(text), rel_tol=1e-14, abs_tol=0.0)


def table_of(case: dict[str, Any], metric: dict[str, Any]) -> tuple[Any, Any]:
    """The rows that a metric is used on, and their classes."""
    on = metric.get("on")
    if on == "one_hot":
        return np.array(list(case["one_hot"].values()), dtype=float), None
    if on == "rows":
        cells = np.array(case["rows"]["cells"], dtype=float)
        assert cells.shape[1] == case["rows"]["columns"]
        return cells, None
    if "sample" not in case:
        return case["table"], None
    sample = samples.load(case["sample"])
    return {name: sample.X[name] for name in metric.get("columns", sample.X)}, sample.y


def test_the_lectures_distances_are_all_here():
    assert [case["id"] for case in CASES.values()] == ["G36", "G37", "G38", "G39", "G40", "G41"]
    assert {case["kind"] for case in CASES.values()} == {"distances"}


@pytest.mark.parametrize(("name", "i", "j"), PAIRS)
def test_the_distance_of_two_rows(name: str, i: int, j: int):
    case = CASES[name]
    asked = case["metric"][i]
    pair = asked["pair"][j]
    a, b = pair["rows"]
    X, y = table_of(case, asked)
    metric = DistanceMetric(**asked["settings"]).fit(X, y)
    d = metric.pairwise(X)
    assert d[a, b] == d[b, a]
    assert close(d[a, b] ** metric.distance_.p, pair["sum"])
    if "distance" in pair:
        assert close(d[a, b], pair["distance"])
    assert distance_matrix(X, metric=DistanceMetric(**asked["settings"]), y=y)[a, b] == d[a, b]
    account = metric.explain(X, row=a, other=b)
    assert account.value == d[a, b]
    label = {1: "d", 2: "d²"}[metric.distance_.p]
    assert math.isclose(sum(account.sections[0].table[label]), value(pair["sum"]), rel_tol=1e-14)


def test_value_differences_of_cheat():
    case = CASES["g38_cheat_value_differences"]
    sample = samples.load("cheat")
    for asked in case["difference"]:
        counts = case["counts"][asked["column"]]
        apart = measures.mvdm(np.array(list(counts.values())))
        v, w = (list(counts).index(x) for x in asked["values"])
        assert close(apart[v, w], asked["distance"])
        column = {asked["column"]: sample.X[asked["column"]]}
        metric = DistanceMetric(1, nominal="mvdm").fit(column, sample.y)
        left, right = ({asked["column"]: x} for x in asked["values"])
        assert close(metric(left, right), asked["distance"])
        assert metric(left, left) == 0.0


def test_counts_of_cheat_are_those_of_the_table():
    sample = samples.load("cheat")
    for column, counts in CASES["g38_cheat_value_differences"]["counts"].items():
        for v, of_classes in counts.items():
            here = sample.y[sample.X[column] == v].tolist()
            assert [here.count("No"), here.count("Yes")] == of_classes


def test_a_normalized_income():
    sample = samples.load("cheat")
    for asked in CASES["g41_cheat_normalized_income"]["scaled"]:
        metric = DistanceMetric(**asked["settings"]).fit(sample.X)
        assert close(metric.scaled(sample.X)[asked["column"]][asked["row"]], asked["value"])


def test_neighbors_of_cheat_by_value_differences():
    """Rows 1 and 7 of the lecture are at distance 0 without income, and so are 5 and 8."""
    sample = samples.load("cheat")
    X = {name: sample.X[name] for name in ("refund", "marital")}
    model = NeighborsClassifier(1, metric=DistanceMetric(nominal="mvdm")).fit(X, sample.y)
    distances, rows = model.kneighbors(n_neighbors=1)
    assert distances[[0, 6, 4, 7], 0].tolist() == [0.0] * 4
    assert rows[[0, 6], 0].tolist() == [6, 0]

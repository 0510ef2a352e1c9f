"""The gain of every candidate split written out: what is shown gives the gain by which the tree was grown."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest

import countwise as cw
from countwise import TreeClassifier, TreeRegressor, samples
from countwise.tree.growth import builder
from countwise.working import Formula

ROWS = 60


def table(missing: float, seed: int = 0) -> tuple[dict, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = {
        "size": rng.integers(0, 9, ROWS).astype(float),
        "color": np.array(["red", "green", "blue"], dtype=object)[rng.integers(0, 3, ROWS)],
        "shape": np.array(list("abcde"), dtype=object)[rng.integers(0, 5, ROWS)],
    }
    number = X["size"] + 3.0 * (X["color"] == "red") + rng.normal(size=ROWS)
    for column in X.values():
        column[rng.random(ROWS) < missing] = None if column.dtype == object else np.nan
    return X, number, rng.integers(1, 4, ROWS) / 2


def computed(formula: str) -> tuple[float, float]:
    """Return the value of the shown computation, and the shown result."""
    _, *body, result = re.split(r" = ", formula)
    code = (body or [result])[0].replace("·", "*").replace("²", "**2").replace("log2", "math.log2")
    return eval(code.replace("sqrt", "math.sqrt"), {"math": math}), float(result)


CLASSES = [
    {"criterion": "gain"},
    {"criterion": "gain_ratio", "threshold_cost": True},
    {"criterion": "gini", "nominal": "subset"},
    {"criterion": "gain_ratio", "nominal": "one_vs_rest", "thresholds": "binned", "max_bins": 4},
    {"criterion": "gain", "numeric": "ranges", "ranges": "class_contiguous"},
]
NUMBERS = [{"criterion": "sd"}, {"criterion": "variance", "nominal": "subset"}]


@pytest.mark.parametrize("missing", ["fractions", "branch", "majority"])
@pytest.mark.parametrize("share", [0.0, 0.15])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("settings", [*CLASSES, *NUMBERS], ids=str)
def test_what_is_written_gives_the_gain_of_every_candidate(settings, weighted, share, missing):
    X, number, weights = table(share)
    numeric = settings in NUMBERS
    y = number if numeric else np.searchsorted(np.quantile(number, [0.3, 0.7]), number)
    model = (TreeRegressor if numeric else TreeClassifier)(missing=missing, max_depth=4, **settings)
    model.fit(X, y, weights if weighted else None)
    tree, report = model.tree_, model.split_report(max_depth=9)
    inner = np.flatnonzero(tree.attribute >= 0).tolist()
    assert len(report.sections) == len(inner) == report.value > 3
    word = {"sd": "SD reduction", "variance": "variance reduction"}.get(settings["criterion"], "gain")
    for k, section in zip(inner, report.sections, strict=True):
        gains, scores, _ = tree.candidates(k)
        formulas = {line.split(" = ")[0]: line for line in section.lines}
        assert all(type(line) is Formula for line in section.lines)
        for j, name in enumerate(X):
            assert (f"{word}({name})" in formulas) == (not np.isnan(gains[j])), (k, name)
            if np.isnan(gains[j]):
                continue
            shown, result = computed(formulas[f"{word}({name})"])
            assert result == pytest.approx(gains[j], rel=1e-5, abs=1e-7)
            assert shown == pytest.approx(result, abs=4e-5)
            if settings["criterion"] == "gain_ratio":
                for what in ("split information", "gain ratio"):
                    shown, result = computed(formulas[f"{what}({name})"])
                    assert shown == pytest.approx(result, rel=1e-4, abs=1e-7)
                assert result == pytest.approx(scores[j], rel=1e-5, abs=1e-9)
        shown, result = computed(section.lines[0])
        assert shown == pytest.approx(result, abs=4e-5)


def test_the_average_gain_of_c45_leaves_out_attributes_with_very_many_values():
    tennis = samples.load("tennis")
    X = {**tennis.X, "day": [f"D{i}" for i in range(14)]}
    model = TreeClassifier("gain_ratio").fit(X, tennis.y)
    line = model.split_report(max_depth=1).sections[0].lines[-1]
    assert line == "average gain = (1/4)·(0.24675 + 0.0292226 + 0.151836 + 0.048127) = 0.118984"


def test_the_working_of_a_row_has_the_same_computations():
    tennis = samples.load("tennis")
    model = TreeClassifier().fit(tennis.frame, "play")
    of_row, of_tree = model.explain(tennis.X, row=0).sections[0], model.split_report().sections[0]
    assert of_row.lines == (*of_tree.lines, "outlook = Sunny")
    assert "<p>gain(wind) = 0.940286 - (6/14)·1 - (8/14)·0.811278 = 0.048127</p>" in model.split_report().html()
    assert r"\frac{8}{14} \cdot 0.811278" in model.split_report().latex()
    assert json.loads(json.dumps(model.split_report().to_dict()))["sections"][0]["lines"] == list(of_tree.lines)


def test_a_report_stops_at_a_depth_and_says_how_much_is_left():
    penguins = samples.load("penguins")
    model = TreeClassifier("gini", nominal="subset").fit(penguins.frame, "species")
    one, default = model.split_report(max_depth=1), model.split_report()
    assert len(one.sections) == 1
    assert len(default.sections) == 20 < default.value
    assert default.notes[0] == f"{default.value - 20:.0f} more splits further down are not shown."
    assert model.split_report(max_depth=0).sections == ()
    with pytest.raises(cw.errors.OptionError, match="max_depth"):
        model.split_report(max_depth="all")


@pytest.mark.parametrize("kind", [TreeClassifier, TreeRegressor])
def test_the_computations_come_back_from_a_file(kind, tmp_path):
    X, number, _ = table(0.1)
    model = kind(thresholds="binned").fit(X, number if kind is TreeRegressor else number > 5)
    path = cw.save(model, tmp_path / "m.json")
    assert cw.load(path or tmp_path / "m.json").split_report().text() == model.split_report().text()


def test_a_tree_of_an_older_file_shows_gains_without_their_computation():
    tennis = samples.load("tennis")
    model = TreeClassifier().fit(tennis.frame, "play")
    data = model.tree_.to_dict()
    for name in ("branch_nodes", "branch_attributes", "branch_cells"):
        del data[name]
    model.tree_ = type(model.tree_).from_dict(data, 4)
    assert [len(section.lines) for section in model.split_report().sections] == [1, 1, 1]
    assert model.split_report().sections[0].table["gain"][0] == pytest.approx(0.24675, abs=1e-5)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("branch_nodes", 99), ("branch_nodes", -1), ("branch_attributes", 4), ("branch_attributes", -1),
        ("branch_cells", [1.0]), ("branch_cells", [None, 1.0]),
    ],
)  # fmt: skip
def test_damaged_branches_of_candidates_are_refused(name, wrong):
    tennis = samples.load("tennis")
    tree = TreeClassifier().fit(tennis.frame, "play").tree_
    data = tree.to_dict()
    data[name][0] = wrong
    with pytest.raises(ValueError):  # noqa: PT011 - the reader of model files gives it its words
        type(tree).from_dict(data, 4)
    data = tree.to_dict()
    data["branch_cells"][0] = [-1.0, 5.0]
    with pytest.raises(ValueError, match="negative"):
        type(tree).from_dict(data, 4).check_cells(numeric=False)


def test_an_engine_and_chunks_of_a_file_show_the_same(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    X, number, _ = table(0.1)
    frame = {**X, "class": np.where(number > 5, "high", "low").astype(object)}
    import pandas as pd

    pd.DataFrame(frame).to_csv(tmp_path / "t.csv", index=False)
    settings = {"criterion": "gain_ratio", "thresholds": "binned", "max_depth": 3}
    memory = TreeClassifier(**settings).fit(frame, "class").split_report()
    relation = duckdb.from_df(pd.DataFrame(frame))
    assert str(TreeClassifier(**settings).fit(relation, "class").split_report()) == str(memory)
    assert str(TreeClassifier(**settings).fit(str(tmp_path / "t.csv"), "class").split_report()) == str(memory)


def test_only_the_upper_part_of_a_large_tree_is_kept(monkeypatch):
    monkeypatch.setattr(builder, "_MOST_KEPT", 100)
    X, number, _ = table(0.0)
    model = TreeClassifier("gain").fit(X, number > 5)
    sections = model.split_report().sections
    assert len(sections[0].lines) == 4  # entropy, and the gain of three attributes
    assert min(len(section.lines) for section in sections) == 1
    assert model.tree_.branch_cells.size <= 100


def test_a_split_into_very_many_branches_is_not_written_out():
    X = {"id": [f"r{i}" for i in range(60)], "x": list(range(60))}
    lines = TreeClassifier().fit(X, ["a", "b", "c"] * 20).split_report(max_depth=1).sections[0].lines
    assert [line.split(" = ")[0] for line in lines] == ["entropy", "gain(x)"]

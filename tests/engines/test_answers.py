"""Answers in the engine are those of memory, whatever the table holds; frames stay lazy and of their kind."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from countwise import (
    Discretizer,
    DiscriminantClassifier,
    NaiveBayesClassifier,
    RuleClassifier,
    TreeClassifier,
    TreeRegressor,
    samples,
)
from countwise.errors import RowsRefused, TableError

from .odd import FEW, MODELS, NAMES, compare, fitted, odd_table
from .quiet import QUIET

pytestmark = [*QUIET, pytest.mark.filterwarnings("ignore::RuntimeWarning")]
FAR = ("one covariance", "own covariances", "names as numbers", "no correlations", "nearest mean")  # a column at 1e9


def rows_of(engine, answered):
    found = engine.collected(answered).sort_values("no", ignore_index=True)
    assert not [name for name in found.columns if str(name).startswith("cw")]
    return [
        {name: None if v is None or v is pd.NA or v != v else v for name, v in row.items()}
        for row in found.to_dict("records")
    ]


@pytest.mark.parametrize("kind", FEW)
def test_rows_are_answered_as_in_memory(engine, tmp_path, kind):
    check_answers(engine, tmp_path, kind)


@pytest.mark.parametrize("kind", [kind for kind in MODELS if kind not in FEW])
def test_rows_are_answered_as_in_memory_by_every_model(quick_engine, tmp_path, kind):
    check_answers(quick_engine, tmp_path, kind)


def check_answers(engine, tmp_path, kind):
    model, asked, memory = fitted(kind)
    relation = engine.from_arrow(asked, tmp_path)
    answered = model.predict_frame(relation)
    assert type(answered) is type(relation)
    compare(model, memory, rows_of(engine, answered), atol=1e-9 if kind in FAR else 1e-12)


def test_numbers_of_trees(quick_engine, tmp_path):
    trained, asked = odd_table(), odd_table(seed=1, new=True)
    names = [n for n in trained.column_names if n not in ("no", "y", "far")]
    far = np.nan_to_num(np.array(trained["far"].to_pandas()), nan=1e9)
    model = TreeRegressor(types=NAMES, max_depth=3).fit(trained.select(names).to_pandas(), far)
    rows = rows_of(quick_engine, model.predict_frame(quick_engine.from_arrow(asked, tmp_path)))
    found = [row[f"predicted {model.target_.name}"] for row in rows]
    np.testing.assert_allclose(found, model.predict(asked.select(names).to_pandas()), rtol=1e-12)


def test_rows_that_no_class_could_have_made_get_the_prior(engine, tmp_path):
    rows = {"a": list("uuvvuu"), "b": list("ppqqpp"), "n": [0.0, 0.0, 3.0, 2.0, 0.0, 1.0], "y": list("001122")}
    asked = {
        "no": list(range(7)), "a": ["u", "v", "u", None, "w", "u", "u"], "b": ["q", "p", "q", "p", "q", "p", "p"],
        "n": [0.0, 0.0, 5.0, None, 1.0, 1e200, -1.0],
    }  # fmt: skip
    for law in ("poisson", "gaussian"):
        model = NaiveBayesClassifier({"n": law}, smoothing=0, prior=[0.2, 0.5, 0.3]).fit(rows, "y")
        found = rows_of(engine, model.predict_frame(engine.from_arrow(pa.table(asked), tmp_path)))
        memory = {name: np.array(asked[name], dtype=object if name != "n" else float) for name in "abn"}
        compare(model, memory, found, atol=1e-12)
        assert found[0]["P(1)"] == pytest.approx(0.5)


@pytest.mark.parametrize("covariance", ["shared", "own"])
def test_gaps_of_discriminants(engine, tmp_path, covariance, monkeypatch):
    monkeypatch.setattr("countwise.discriminant.scoring._MOST_NUMBERS", 0)  # no more than one gap at a time
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 200)
    X = rng.normal(size=(200, 4)) @ rng.normal(size=(4, 4)) + y[:, None]
    names = [f"c{j}" for j in range(4)]
    model = DiscriminantClassifier(covariance).fit({**dict(zip(names, X.T, strict=True)), "y": y}, "y")
    asked = X[:24].copy()
    for j in range(4):
        asked[j, j] = np.nan
    asked[10] = np.nan
    asked[11, :2] = np.nan
    columns = {n: pa.array(c, from_pandas=True) for n, c in zip(names, asked.T, strict=True)}
    rows = rows_of(engine, model.predict_frame(engine.from_arrow(pa.table({"no": range(24), **columns}), tmp_path)))
    assert rows[11]["predicted y"] is None
    assert rows[11]["P(0)"] is None
    kept = [i for i in range(24) if i != 11]
    compare(model, dict(zip(names, asked[kept].T, strict=True)), [rows[i] for i in kept], atol=1e-12)


@pytest.mark.parametrize("encode", ["labels", "codes", "onehot"])
def test_numbers_are_cut_where_they_lie(engine, tmp_path, encode):
    trained, asked = odd_table(), odd_table(seed=1, new=True)
    columns = ["SELECT", "x; --", "far", "count"]
    cutter = Discretizer("equal_frequency", n_bins=4, encode=encode).fit(trained.select(columns).to_pandas())
    relation = engine.from_arrow(asked.select(["no", *columns]), tmp_path)
    cut = cutter.transform_frame(relation)
    assert type(cut) is type(relation)
    rows = rows_of(engine, cut)
    want = cutter.transform(asked.select(columns).to_pandas())
    assert list(rows[0]) == ["no", *want.columns]
    for name in want.columns:
        cells = [None if v != v or v is None else v for v in want[name].astype(object)]
        assert [row[name] for row in rows] == cells
    with pytest.raises(RowsRefused, match="transform_frame"):
        cutter.transform(relation)


def test_reasons_are_columns(quick_engine, tmp_path):
    tennis = pd.DataFrame(samples.load("tennis").frame).assign(no=range(14))
    engine = quick_engine
    relation = engine.of(tennis, tmp_path)
    tree = TreeClassifier().fit(tennis.drop(columns="no"), "play")
    rows = rows_of(engine, tree.predict_frame(relation, proba=False, reasons=3))
    asked = {"Sunny": ("outlook", "humidity", ""), "Rain": ("outlook", "wind", ""), "Overcast": ("outlook", "", "")}
    for row in rows:
        assert (row["reason 1"], row["reason 2"], row["reason 3"]) == asked[row["outlook"]]
        assert "P(Yes)" not in row
    rule = RuleClassifier("one_r").fit(tennis.drop(columns="no"), "play")
    rows = rows_of(engine, rule.predict_frame(relation, reasons=2))
    assert {(row["reason 1"], row["reason 2"]) for row in rows} == {("outlook", "")}


@pytest.mark.parametrize("covariance", ["shared", "own"])
def test_reasons_of_a_discriminant_are_the_largest_of_its_working(covariance):
    weather = samples.load("weather").columns("temperature", "humidity", "play")
    frame = pd.DataFrame(weather)
    model = DiscriminantClassifier(covariance).fit(frame, "play")
    found = model.predict_frame(frame, reasons=2)
    for i in range(len(frame)):
        grid = model.explain(frame, row=i).sections[-1].table
        odds = {
            n: float(str(o).replace("−", "-")) for n, o in zip(grid[""], grid["log-odds"], strict=True) if n in frame
        }
        for_it = sorted((n for n, o in odds.items() if o > 0), key=lambda n: -odds[n])
        assert found.loc[i, ["reason 1", "reason 2"]].tolist() == [*for_it, "", ""][:2]


def test_eager_frames_stay_what_they_are():
    tennis = pd.DataFrame(samples.load("tennis").frame)
    model = NaiveBayesClassifier().fit(tennis, "play")
    found = model.predict_frame(tennis)
    assert type(found) is pd.DataFrame
    np.testing.assert_allclose(found["P(Yes)"], model.predict_proba(tennis)[:, 1], atol=1e-12)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda f: f.drop(columns="wind"), "has no column 'wind'"),
        (lambda f: f.rename(columns={"wind": "Wind"}), "did you mean 'Wind'"),
        (
            lambda f: f.assign(**{"predicted play": 1}),
            "'predicted play', which is the name of a column of the result",
        ),
        (lambda f: f.assign(cw_l0=1), "'cw_l0', which starts with cw_"),
    ],
)
def test_tables_that_cannot_be_answered_are_told(change, told):
    tennis = pd.DataFrame(samples.load("tennis").frame)
    for model in (NaiveBayesClassifier(), TreeClassifier(), RuleClassifier(simplify=None)):
        model.fit(tennis, "play")
        with pytest.raises(TableError, match=told):
            model.predict_frame(change(tennis))

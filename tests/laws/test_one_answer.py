"""One class for one row: whatever is asked for a prediction, probabilities or a score decides ties alike."""

from __future__ import annotations

import csv
import io
import warnings
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.metrics import log_loss

import countwise
from countwise import (
    BayesNetworkClassifier,
    DiscriminantClassifier,
    NaiveBayesClassifier,
    NeighborsClassifier,
    ParzenClassifier,
    PEBLSClassifier,
    PrototypeClassifier,
    RoteClassifier,
    RuleClassifier,
    TreeClassifier,
    cross_validate,
)
from countwise.cli.predict import command as predict_command
from countwise.errors import OptionError
from countwise.evaluation import decide
from countwise.evaluation.holdout import Holdout

LEARNERS = {
    "naive Bayes": NaiveBayesClassifier(),
    "unsmoothed": NaiveBayesClassifier(smoothing=0),
    "tree": TreeClassifier(max_depth=3),
    "rules": RuleClassifier(),
    "2 neighbors": NeighborsClassifier(2),
    "4 neighbors": NeighborsClassifier(4, weights="distance"),
    "PEBLS": PEBLSClassifier(2),
    "rote": RoteClassifier(),
    "naive network": BayesNetworkClassifier("naive"),
    "TAN": BayesNetworkClassifier("tan"),
    "discriminant": DiscriminantClassifier(nominal="onehot"),
    "Parzen": ParzenClassifier(),
    "prototype": PrototypeClassifier(),
}


def table(n: int, k: int, seed: int) -> pd.DataFrame:
    """Few values, so that many rows are tied, and missing values, which trees divide among branches."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.integers(0, 3, n) / 10, "b": rng.choice(list("uvw"), n).astype(object)})
    frame["c"] = frame["b"].map({"u": "x", "v": "y", "w": "x"})
    for name in frame:
        frame.loc[rng.random(n) < 0.25, name] = np.nan
    frame["y"] = [f"k{i % k}" for i in rng.permutation(n)]
    return frame


@pytest.fixture(params=LEARNERS)
def learner(request: pytest.FixtureRequest) -> Any:
    return LEARNERS[request.param]


@pytest.mark.parametrize("k", [2, 30])
def test_every_answer_about_a_row_is_the_same_class(learner: Any, k: int, tmp_path: Any) -> None:
    train, new = table(max(60, 3 * k), k, 1), table(max(60, k), k, 2)
    X = new.drop(columns="y")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = learner.fit(train, "y")
        predicted, proba = model.predict(X), model.predict_proba(X)
        codes = [model.classes_.tolist().index(c) for c in predicted]
        if not isinstance(model, RuleClassifier):  # a rule predicts its class, the frequencies are those of its rows
            assert (proba[np.arange(len(X)), codes] >= proba.max(axis=1) - 1e-12).all()
        for i in range(0, len(X), 7):
            working = model.explain(X, row=i)
            text = str(working)
            assert f"y = {predicted[i]} with probability" in text
        holdout = Holdout(model, "y")
        holdout.add(new)
        assert holdout.predictions.accuracy == pytest.approx(model.score(X, new["y"]), abs=1e-12)
        assert decide(model, X).tolist() == predicted.tolist()
        path, rows = tmp_path / "model.json", tmp_path / "rows.csv"
        countwise.save(model, path)
        X.to_csv(rows, index=False)
        told = list(csv.reader(io.StringIO(CliRunner().invoke(predict_command, [str(path), str(rows)]).output)))
        assert [line[0] for line in told[1:]] == predicted.tolist()
        try:
            frames = [model.predict_frame(X), model.predict_frame(duckdb.from_df(X)).df()]
        except (AttributeError, OptionError):
            return
        for found in frames:
            assert found["predicted y"].tolist() == predicted.tolist()
            shares = found[[f"P({c})" for c in model.classes_]].to_numpy()
            assert shares.max() <= 1.0
            np.testing.assert_allclose(shares, proba, atol=1e-12)


@pytest.mark.parametrize("k", [2, 200])
def test_probabilities_are_probabilities(learner: Any, k: int) -> None:
    train, new = table(3 * max(k, 20), k, 3), table(2 * max(k, 20), k, 4)
    X = new.drop(columns="y")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = learner.fit(train, "y")
        proba, logs = model.predict_proba(X), model.predict_log_proba(X)
    assert proba.min() >= 0
    assert proba.max() <= 1.0
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    np.testing.assert_allclose(np.exp(logs), proba, rtol=0, atol=1e-12)
    assert (proba[np.isneginf(logs)] == 0).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(log_loss(new["y"], proba, labels=model.classes_.tolist()))


@pytest.mark.parametrize("name", ["2 neighbors", "naive Bayes", "tree"])
def test_cross_validation_counts_the_predictions_of_the_models_themselves(name: str) -> None:
    frame = table(60, 3, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = cross_validate(LEARNERS[name], frame, "y", cv=4, fast=False)
        for fold in found.folds:
            held = frame.iloc[fold.test]
            again = LEARNERS[name].fit(frame.iloc[fold.train], "y").score(held.drop(columns="y"), held["y"])
            assert fold.predictions.accuracy == pytest.approx(again, abs=1e-12)


def test_rounding_errors_break_no_tie() -> None:
    """The factors of the two classes are the same numbers in another order."""
    x = {"p": list("uuvuvv"), "q": list("uvvuuv"), "r": list("uuvuuv")}
    model = NaiveBayesClassifier(smoothing=0.1).fit(x, list("aaabbb"))
    rows = [{"p": a, "q": b, "r": c} for a in "uv" for b in "uv" for c in "uv"]
    proba, predicted = model.predict_proba(rows), model.predict(rows)
    tied = np.abs(proba[:, 0] - 0.5) < 1e-12
    assert tied.any()
    assert (predicted[tied] == "a").all()


def test_an_engine_names_one_of_hundreds_of_classes() -> None:
    frame = table(900, 300, 6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model in (NaiveBayesClassifier().fit(frame, "y"), TreeClassifier(max_depth=2).fit(frame, "y")):
            X = frame.drop(columns="y")
            assert model.predict_frame(X)["predicted y"].tolist() == model.predict(X).tolist()

"""Missing values left out, as evidence, and by the decision of the training data, against SciPy and refits."""

from __future__ import annotations

import subprocess
import sys

import duckdb
import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2_contingency

from countwise import NaiveBayesClassifier, TreeClassifier, cross_validate, leave_one_out, load, samples, save
from countwise.errors import OptionError, TableError
from countwise.evaluation import missing_values, paired_test

CREDIT = samples.load("credit")


def with_missing(n: int = 300, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Two columns: the values of one are missing in one class more often, those of the other everywhere alike."""
    rng = np.random.default_rng(seed)
    y = np.array(["no", "yes"], dtype=object)[rng.integers(0, 2, n)]
    a, b = rng.normal(size=n) + (y == "yes"), np.array(["u", "v"], dtype=object)[rng.integers(0, 2, n)]
    a[rng.random(n) < np.where(y == "yes", 0.4, 0.05)] = np.nan
    b[rng.random(n) < 0.2] = None
    return pd.DataFrame({"a": a, "b": b}), y


def test_the_chi_square_tests_are_those_of_scipy():
    found = missing_values(NaiveBayesClassifier(), CREDIT.X, CREDIT.y)
    y = np.asarray(CREDIT.y)
    assert list(found.tables) == ["Home", "Marital", "Job", "Income", "Assets", "Debt"]
    for name, table in found.tables.items():
        gone = pd.isna(np.asarray(CREDIT.X[name], dtype=object))
        counts = np.array(
            [[(gone & (y == c)).sum() for c in ("bad", "good")], [(~gone & (y == c)).sum() for c in ("bad", "good")]]
        )
        np.testing.assert_array_equal(table.counts, counts)
        chi2, p, *_ = chi2_contingency(counts, correction=False)
        assert (table.chi_square, table.p_value) == (pytest.approx(chi2), pytest.approx(p))
    assert found.informative == ["Income", "Debt"]


def test_both_readings_are_cross_validated_on_the_same_folds_and_tested():
    X, y = with_missing()
    found = missing_values(NaiveBayesClassifier(), X, y, cv=5, random_state=3)
    settings = {"cv": 5, "random_state": 3, "scoring": ["accuracy", "log_loss"]}
    left_out = cross_validate(NaiveBayesClassifier(), X, y, **settings)
    evidence = cross_validate(NaiveBayesClassifier(missing="value"), X, y, **settings)
    for score in ("accuracy", "log_loss"):
        test = paired_test(evidence, left_out, score)
        assert found.tests[score].difference == pytest.approx(test.difference, rel=1e-12)
        assert found.tests[score].p_value == pytest.approx(test.p_value, rel=1e-9)
    assert found.scores["left out"] == pytest.approx([left_out.mean(s) for s in ("accuracy", "log_loss")])
    assert found.scores["as evidence"] == pytest.approx([evidence.mean(s) for s in ("accuracy", "log_loss")])


def test_it_shows_itself_in_every_form():
    found = missing_values(NaiveBayesClassifier(), *with_missing())
    account = found.explain()
    assert str(found).startswith("Missing values depend on class in 'a' (p < 0.01); ")
    assert max(map(len, found.text(80).splitlines())) <= 80
    assert {section.title for section in account.sections} >= {
        "Does being missing depend on the class?",
        "a: observed counts",
        "Cross-validated scores of both readings",
        "accuracy: corrected standard error",
    }
    assert found._repr_html_() == found.html()
    assert r"\chi" in found.latex(56)


@pytest.mark.parametrize("y", ["class", None])
def test_tables_of_every_kind_give_the_same(y):
    X, target = with_missing()
    frame = X.assign(**{"class": target})
    first = missing_values(NaiveBayesClassifier(), X, target)
    second = missing_values(NaiveBayesClassifier(), *((frame, "class") if y else (dict(X), target)))
    assert first.scores["difference"] == second.scores["difference"]


def test_wrong_arguments_are_refused():
    X, y = with_missing()
    with pytest.raises(OptionError, match="TreeClassifier"):
        missing_values(TreeClassifier(), X, y)
    with pytest.raises(TableError, match="No value is missing"):
        missing_values(NaiveBayesClassifier(), X[["a"]].fillna(0.0), y)
    with pytest.raises(OptionError, match="missing"):
        NaiveBayesClassifier(missing="maybe").fit(X, y)


# -- missing="auto" ------------------------------------------------------------------------------------------


def auto() -> NaiveBayesClassifier:
    return NaiveBayesClassifier(missing="auto")


def test_auto_takes_the_columns_where_missing_values_depend_on_the_class():
    X, y = with_missing()
    model = auto().fit(X, y)
    assert model.missing_ == {"a": "value", "b": "ignore"}
    by_hand = NaiveBayesClassifier(missing={"a": "value"}).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), by_hand.predict_proba(X))
    assert model.unused_absence() == []
    only = NaiveBayesClassifier(missing={"b": "auto"}).fit(X, y)
    assert only.missing_ == {"a": "ignore", "b": "ignore"}
    np.testing.assert_array_equal(only.predict_proba(X), NaiveBayesClassifier().fit(X, y).predict_proba(X))


def test_the_working_says_that_the_data_decided():
    X, y = with_missing()
    working = auto().fit(X, y).explain([{"a": None, "b": None}])
    assert any(step.attribute == "a missing" for step in working.used)
    assert [note for note in working.notes if "'a' is missing depends on the class: p = " in note]
    assert not any("'b'" in note for note in working.notes)


def test_pieces_merged_models_and_forgotten_rows_decide_by_all_rows():
    X, y = with_missing()
    whole = auto().fit(X, y)
    pieces = auto().partial_fit(X[:10], y[:10], classes=["no", "yes"])
    assert pieces.missing_["a"] == "ignore"  # ten rows do not show it
    pieces.partial_fit(X[10:], y[10:])
    merged = auto().fit(X[:150], y[:150]) + auto().fit(X[150:], y[150:])
    more, labels = with_missing(seed=1)
    longer = auto().fit(pd.concat([X, more]), [*y, *labels]).forget(more, labels)
    for model in (pieces, merged, longer):
        assert model.missing_ == whole.missing_
        np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), rtol=1e-9)


def test_engines_and_model_files_decide_alike(tmp_path):
    X, y = with_missing()
    frame = X.assign(**{"class": y})
    memory = auto().fit(frame, "class")
    engine = auto().fit(duckdb.from_df(frame), "class")
    assert engine.missing_ == memory.missing_
    np.testing.assert_allclose(engine.predict_proba(X), memory.predict_proba(X), rtol=1e-9)
    save(memory, tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.missing_ == memory.missing_
    np.testing.assert_array_equal(again.predict_proba(X), memory.predict_proba(X))
    shown = memory.predict_frame(frame)
    np.testing.assert_allclose(shown["P(yes)"], memory.predict_proba(X)[:, 1], rtol=1e-9)


def test_folds_and_left_out_rows_decide_by_their_training_rows():
    X, y = with_missing(60, seed=4)
    fast = cross_validate(auto(), X, y, cv=5, scoring="log_loss")
    slow = cross_validate(auto(), X, y, cv=5, scoring="log_loss", fast=False)
    np.testing.assert_allclose(fast.values("log_loss"), slow.values("log_loss"), rtol=1e-9)
    left_out = leave_one_out(auto(), X, y).predictions.proba
    decisions = set()
    for i in range(60):
        keep = np.arange(60) != i
        model = auto().fit(X[keep], y[keep])
        decisions.add(model.missing_["a"])
        np.testing.assert_allclose(left_out[i], model.predict_proba(X[i : i + 1])[0], rtol=1e-9)
    assert decisions == {"value", "ignore"}  # single rows change the decision


def test_the_command_line_takes_auto(tmp_path):
    X, y = with_missing()
    X.assign(**{"class": y}).to_csv(tmp_path / "t.csv", index=False)
    command = [sys.executable, "-m", "countwise", "train", "t.csv", "-y", "class", "-o", "m.json", "--missing"]
    done = subprocess.run([*command, "auto"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert load(tmp_path / "m.json").missing_ == {"a": "value", "b": "ignore"}
    done = subprocess.run([*command, "auto", "--missing", "a"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert "cannot be combined" in done.stderr

"""Rote learning: rows that were met, and rows that were not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from countwise import NaiveBayesClassifier, RoteClassifier, load, samples, save
from countwise.errors import CountwiseError

TENNIS = samples.load("tennis")
NEW = {"outlook": "Sunny", "temperature": "Cool", "humidity": "High", "wind": "Strong"}


def test_rows_that_were_met_are_told_and_others_left_open():
    model = RoteClassifier("abstain").fit(TENNIS.X, TENNIS.y)
    assert model.predict(TENNIS.X).tolist() == list(TENNIS.y)
    assert model.predict([NEW]).tolist() == [None]
    assert np.isnan(model.predict_proba([NEW])).all()
    assert model.n_different_ == 14


def test_the_commonest_class_is_told_otherwise():
    model = RoteClassifier().fit(TENNIS.X, TENNIS.y)
    assert model.predict([NEW]).tolist() == ["Yes"]
    assert model.predict_proba([NEW])[0].tolist() == [5 / 14, 9 / 14]


def test_another_classifier_is_asked_otherwise():
    model = RoteClassifier(NaiveBayesClassifier()).fit(TENNIS.X, TENNIS.y)
    other = NaiveBayesClassifier().fit(TENNIS.X, TENNIS.y)
    rows = [NEW, {name: column[0] for name, column in TENNIS.X.items()}]
    assert model.predict_proba(rows)[0] == pytest.approx(other.predict_proba([NEW])[0])
    assert model.predict_proba(rows)[1].tolist() == [1.0, 0.0]
    assert model.predict(rows).tolist() == ["No", "No"]
    told = str(model.explain(rows))
    assert told.startswith("class = No with probability")
    assert "predicted by NaiveBayesClassifier" in told
    assert "P(outlook = Sunny | class)" in told  # the other's own working


def test_it_says_how_often_it_matched():
    X = {"a": ["x", "x", "y"], "b": [1, 1, 2]}
    model = RoteClassifier().fit(X, ["p", "q", "p"], [1, 3, 2])
    asked = {"a": ["x", "y", "x", "z"], "b": [1, 2, 2, 1]}
    assert model.matches(asked).tolist() == [4.0, 2.0, 0.0, 0.0]
    assert model.coverage(asked) == 0.5


def test_equal_rows_of_different_classes_share():
    model = RoteClassifier().fit({"a": list("xxxy")}, list("qppq"))
    assert model.predict_proba({"a": ["x"]})[0].tolist() == [2 / 3, 1 / 3]
    assert model.predict({"a": ["x", "y"]}).tolist() == ["p", "q"]
    assert RoteClassifier().fit({"a": list("xx")}, list("qp")).predict({"a": ["x"]}).tolist() == ["p"]


def test_missing_cells_are_the_same_as_missing_cells_only():
    X = {"a": np.array([None, "x"], dtype=object), "b": [np.nan, 1.0]}
    model = RoteClassifier("abstain").fit(X, ["p", "q"])
    assert model.predict({"a": [None, "x", None], "b": [np.nan, np.nan, 1.0]}).tolist() == ["p", None, None]


def test_numbers_are_the_same_to_the_last_bit_and_zero_has_no_sign():
    model = RoteClassifier("abstain").fit({"x": [0.0, 0.1 + 0.2]}, ["p", "q"])
    assert model.predict({"x": [-0.0, 0.3, 0.1 + 0.2]}).tolist() == ["p", None, "q"]


def test_texts_are_the_same_letter_by_letter():
    model = RoteClassifier("abstain", types={"t": "text"}).fit({"t": ["good day", "bad day"]}, ["p", "q"])
    assert model.predict({"t": ["good day", "day good"]}).tolist() == ["p", None]


def test_frames_of_every_kind_are_deferred_alike():
    frame = pd.DataFrame(TENNIS.X)
    model = RoteClassifier(NaiveBayesClassifier()).fit(frame, TENNIS.y)
    asked = pd.concat([frame, pd.DataFrame([NEW])], ignore_index=True)
    wanted = model.predict(asked).tolist()
    assert model.predict(pl.DataFrame(asked.to_dict("list"))).tolist() == wanted
    assert model.predict(asked.to_dict("list")).tolist() == wanted
    assert model.predict(asked.to_dict("records")).tolist() == wanted


def test_a_model_file_knows_the_rows(tmp_path):
    penguins = samples.load("penguins")
    model = RoteClassifier("abstain").fit(penguins.X, penguins.y)
    save(model, tmp_path / "m.json")
    again = load(tmp_path / "m.json")
    assert again.coverage(penguins.X) == 1.0
    assert again.predict(penguins.X).tolist() == model.predict(penguins.X).tolist()


@pytest.mark.parametrize("odd", ["never", 7, None])
def test_what_cannot_tell_otherwise_is_refused(odd):
    with pytest.raises(CountwiseError, match="otherwise"):
        RoteClassifier(odd).fit(TENNIS.X, TENNIS.y)


def test_an_infinite_number_is_refused_by_name():
    model = RoteClassifier().fit({"x": [1.0, 2.0]}, ["p", "q"])
    with pytest.raises(CountwiseError, match="'x'"):
        model.predict({"x": [np.inf]})


def test_the_summary_and_the_table_count_different_rows():
    tennis = samples.load("tennis")
    model = RoteClassifier().fit(tennis.frame, "play")
    assert model.summary() == "14 rows, 4 attributes; play: 14 distinct rows stored"
    assert dict(model.tables()["rows"]) == {"rows": [14], "distinct": [14]}


def test_a_summary_counts_in_the_singular_and_the_plural():
    model = RoteClassifier().fit({"x": [1, 1, 2]}, ["a", "b", "a"])
    assert model.summary().startswith("3 rows, 1 attribute; class: ")

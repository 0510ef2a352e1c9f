"""A Gaussian on the codes of an ordinal column: the same numbers as for a column of codes, shown with the values."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import pytest

import countwise as cw
from countwise import Gaussian, NaiveBayesClassifier, Ordinal, samples
from countwise.errors import DataWarning, OptionError

TENNIS = samples.load("tennis")
ORDER = ("Cool", "Mild", "Hot")
FRAME = pd.DataFrame({**TENNIS.X, "play": TENNIS.y})
CODES = {**TENNIS.X, "temperature": np.array([float(ORDER.index(v)) for v in TENNIS.X["temperature"]])}
SHARES = ["P(No)", "P(Yes)"]


def model(**settings):
    types = {"temperature": Ordinal("temperature", ORDER)}
    return NaiveBayesClassifier({"temperature": Gaussian()}, types=types, **settings)


@pytest.fixture(scope="module")
def fitted():
    return model().fit(TENNIS.X, TENNIS.y)


def test_the_codes_are_numbers(fitted, tmp_path):
    numbers = NaiveBayesClassifier().fit(CODES, TENNIS.y)
    wanted = numbers.predict_proba(CODES)
    pieces = model().partial_fit(FRAME[:6], "play").partial_fit(FRAME[6:], "play")
    forgotten = model().fit(FRAME, "play").partial_fit(FRAME[:3], "play").forget(FRAME[:3], "play")
    merged = model().fit(FRAME[:6], "play") + model().fit(FRAME[6:], "play")
    engine = model().fit(duckdb.from_df(FRAME), "play")
    cw.save(fitted, tmp_path / "m.json")
    for other in (fitted, pieces, forgotten, merged, engine, cw.load(tmp_path / "m.json")):
        assert np.abs(other.predict_proba(TENNIS.X) - wanted).max() < 1e-12
    assert str(cw.leave_one_out(fitted, TENNIS.X, TENNIS.y)) == str(cw.leave_one_out(numbers, CODES, TENNIS.y))
    rows = FRAME.drop(columns="play")
    rows.loc[2, "temperature"] = None
    rows.loc[3, "temperature"] = "Warm"
    ours = fitted.predict_proba(rows)
    assert np.abs(fitted.predict_frame(duckdb.from_df(rows)).df()[SHARES].to_numpy() - ours).max() < 1e-12
    assert np.abs(duckdb.sql(fitted.to_sql("rows")).df()[SHARES].to_numpy() - ours).max() < 1e-12


def test_weights_are_copies(fitted):
    weights = np.arange(14) % 3 + 1
    weighted = model().fit(TENNIS.X, TENNIS.y, sample_weight=weights)
    copies = model().fit(FRAME.loc[np.repeat(np.arange(14), weights)].reset_index(drop=True), "play")
    assert np.allclose(weighted.predict_proba(TENNIS.X), copies.predict_proba(TENNIS.X), rtol=1e-12)


def test_the_working_shows_the_code_beside_the_value(fitted):
    text = str(fitted.explain(TENNIS.X, row=0))
    assert "P(temperature = Hot (2) | class)  φ(2; 1.2, 0.83666) = 0.301874" in text
    assert "Hot (2)" in fitted.explain(TENNIS.X, row=0).html()
    row = {"outlook": "Sunny", "humidity": "High", "wind": "Weak"}
    assert "temperature = Warm (never seen in training)" in str(fitted.explain([{**row, "temperature": "Warm"}]))
    assert "temperature (missing)" in str(fitted.explain([row]))
    assert fitted.portrait("Yes")["typical"][1] == "0.888889 (Mild)"
    assert set(fitted.sample(50, 0, cls="Yes")["temperature"]) == set(ORDER)


def test_the_order_must_be_declared():
    ordered = pd.DataFrame({**TENNIS.X, "temperature": pd.Categorical(TENNIS.X["temperature"], ORDER, ordered=True)})
    by_dtype = NaiveBayesClassifier({"temperature": "gaussian"}).fit(ordered, TENNIS.y)
    assert np.array_equal(by_dtype.predict_proba(ordered), model().fit(TENNIS.X, TENNIS.y).predict_proba(TENNIS.X))
    with (
        pytest.raises(OptionError, match="The codes of 'temperature' need a declared order"),
        pytest.warns(DataWarning, match="alphabetical"),
    ):
        NaiveBayesClassifier({"temperature": "gaussian"}, types={"temperature": "ordinal"}).fit(TENNIS.X, TENNIS.y)
    with pytest.raises(OptionError, match="'wind' has type nominal; a Gaussian distribution needs a numeric"):
        NaiveBayesClassifier({"wind": "gaussian"}).fit(TENNIS.X, TENNIS.y)

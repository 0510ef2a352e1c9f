"""Numbers of the training rows behind each count of a working, compared with a search of the table."""

from __future__ import annotations

import json

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import countwise as cw
from countwise import samples
from countwise.errors import CountwiseError, OptionError, TableError
from countwise.working.numbers import RowNumbers

WEATHER = samples.load("weather")
TENNIS = samples.load("tennis")
PENGUINS = samples.load("penguins")
QUERY = [{"outlook": "sunny", "temperature": 66, "humidity": 90, "windy": True}]


def behind(working):
    """Return the row numbers of each count."""
    section = next(s for s in working.sections if s.title.startswith("Training rows"))
    return dict(zip(section.table["count of"], map(list, section.table["row numbers"]), strict=True)), section


def where(frame, **values):
    """Return the numbers of the rows with these values; None for any known value."""
    found = pd.Series(True, index=range(len(frame)))
    for name, value in values.items():
        found &= frame[name].notna() if value is None else (frame[name] == value)
    return np.flatnonzero(found).tolist()


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_naive_bayes_names_the_rows_of_each_count(make):
    model = cw.NaiveBayesClassifier().fit(make(WEATHER.frame), "play")
    found, section = behind(model.explain(QUERY, rows=make(WEATHER.frame)))
    frame = pd.DataFrame(WEATHER.frame)
    for c in ("no", "yes"):
        assert found[f"play = {c}"] == where(frame, play=c)
        assert found[f"outlook = sunny, play = {c}"] == where(frame, play=c, outlook="sunny")
        assert found[f"temperature, play = {c}"] == where(frame, play=c)
        assert found[f"windy = True, play = {c}"] == where(frame, play=c, windy=True)
    assert section.lines == ()


def test_every_count_is_the_number_of_its_rows():
    model = cw.NaiveBayesClassifier("binned").fit(PENGUINS.frame, PENGUINS.target)
    for row in range(0, 300, 23):
        working = model.explain(PENGUINS.X, row=row, rows=PENGUINS.frame, interval=None, changes=False)
        found, section = behind(working)
        counts = [f.count for step in (working.prior, *working.used) for f in step.factors]
        assert [len(rows) for rows in found.values()] == counts
        assert section.lines == ()


def test_rows_without_a_target_are_counted_but_not_listed():
    frame = pd.DataFrame(WEATHER.frame)
    frame.loc[[0, 5], "play"] = None
    with pytest.warns(UserWarning, match="skipped"):
        model = cw.NaiveBayesClassifier().fit(frame, "play")
    found, _ = behind(model.explain(QUERY, rows=frame))
    assert found["outlook = sunny, play = no"] == [1, 7]


def test_a_missing_value_is_behind_no_count():
    frame = pd.DataFrame(WEATHER.frame)
    frame.loc[3, "temperature"] = np.nan
    frame.loc[1, "outlook"] = None
    found, _ = behind(cw.NaiveBayesClassifier().fit(frame, "play").explain(QUERY, rows=frame))
    assert 3 not in found["temperature, play = yes"]
    assert found["outlook = sunny, play = no"] == [0, 7]


@pytest.mark.parametrize("distribution", ["bernoulli", "multinomial"])
def test_words_name_the_documents_that_contain_them(distribution):
    docs = {
        "text": ["buy cheap pills", "meet me", "cheap cheap tickets", "buy a house", "see me"],
        "y": list("abaab"),
    }
    model = cw.NaiveBayesClassifier({"text": distribution}, types={"text": "text"}).fit(docs, "y")
    found, _ = behind(model.explain([{"text": "cheap me"}], rows=docs))
    assert found["text: cheap, y = a"] == [0, 2]
    assert found["text: me, y = b"] == [1, 4]


def test_weights_are_named_where_a_count_is_not_a_number_of_rows():
    weights = np.arange(1, 15)
    model = cw.NaiveBayesClassifier().fit(WEATHER.X, WEATHER.y, sample_weight=weights)
    found, section = behind(model.explain(QUERY, rows=(WEATHER.X, WEATHER.y)))
    assert found["outlook = sunny, class = no"] == [0, 1, 7]
    assert "sums of weights" in section.lines[0]


def test_a_network_names_the_rows_with_the_values_of_the_parents():
    model = cw.BayesNetworkClassifier("tan").fit(WEATHER.frame, "play")
    working = model.explain(QUERY, rows=WEATHER.frame)
    found, section = behind(working)
    frame, graph = pd.DataFrame(WEATHER.frame), model.graph_
    assert section.lines == ()
    for step in working.used:
        given = {p: QUERY[0][p] for p in graph.parents[step.attribute] if p != "play"}
        own = {step.attribute: QUERY[0][step.attribute] if step.factors[0].count is not None else None}
        for c in ("no", "yes"):
            name = step.event if step.factors[0].count is not None else step.attribute
            label = ", ".join([name, *([step.given] if step.given else []), f"play = {c}"])
            assert found[label] == where(frame, play=c, **given, **own)


def test_a_tree_names_the_rows_of_its_leaf_and_every_leaf_of_a_missing_value():
    model = cw.TreeClassifier().fit(TENNIS.frame, "play")
    for row, leaf in enumerate(model.apply(TENNIS.X)):
        found, _ = behind(model.explain(TENNIS.X, row=row, rows=TENNIS.frame))
        same = np.flatnonzero(model.apply(TENNIS.X) == leaf)
        rows = sorted(i for numbers in found.values() for i in numbers)
        assert rows == same.tolist()
    everywhere, _ = behind(model.explain([{"outlook": None, "humidity": "High", "wind": "Weak"}], rows=TENNIS.frame))
    assert len(everywhere) == 6
    hours = samples.load("hours")
    regressor = cw.TreeRegressor(max_depth=1).fit(hours.frame, hours.target)
    found, _ = behind(regressor.explain(hours.X, row=0, rows=hours.frame))
    assert found["the leaf"] == np.flatnonzero(regressor.apply(hours.X) == regressor.apply(hours.X)[0]).tolist()


@pytest.mark.parametrize("model", [cw.RuleClassifier(), cw.RuleClassifier("one_r")])
def test_rules_name_the_rows_that_they_decide(model):
    model.fit(TENNIS.frame, "play")
    decided = model.decides(TENNIS.X)
    for row in range(14):
        found, _ = behind(model.explain(TENNIS.X, row=row, rows=TENNIS.frame))
        for c in ("No", "Yes"):
            assert found[f"play = {c}"] == np.flatnonzero((decided == decided[row]) & (TENNIS.y == c)).tolist()


def test_rote_learning_and_discriminants():
    twice = pd.concat([pd.DataFrame(TENNIS.frame)] * 2, ignore_index=True)
    model = cw.RoteClassifier().fit(twice, "play")
    assert behind(model.explain(TENNIS.X, row=2, rows=twice))[0] == {"play = No": [], "play = Yes": [2, 16]}
    days = WEATHER.columns("temperature", "humidity", "play")
    found, _ = behind(cw.DiscriminantClassifier().fit(days, "play").explain(QUERY, rows=days))
    assert found["play = no"] == [0, 1, 5, 7, 13]


def test_the_text_is_shortened_and_the_data_are_complete():
    assert str(RowNumbers([3])) == "3"
    assert str(RowNumbers(range(9))) == "0, 1, 2, 3, 4, 5, 6, 7, 8"
    assert str(RowNumbers(range(10))).endswith("7 and 2 more")
    model = cw.NaiveBayesClassifier().fit(PENGUINS.frame, PENGUINS.target)
    working = model.explain(PENGUINS.X, rows=PENGUINS.frame, interval=None, changes=False)
    data = json.loads(json.dumps(working.to_dict()))["sections"][-1]["table"]
    assert [len(rows) for rows in data["row numbers"]] == data["rows"]
    assert " more" in working.text(80)
    assert max(map(len, working.text(80).split("\n"))) <= 80
    assert " more" in working.html()
    assert " more" in working.latex(56)


def test_wrong_rows_are_refused_in_words():
    model = cw.NaiveBayesClassifier().fit(WEATHER.frame, "play")
    with pytest.raises(OptionError, match="keeps no training rows"):
        model.explain(QUERY, rows=True)
    with pytest.raises(TableError, match="3 rows with a target; the model was trained on 14"):
        model.explain(QUERY, rows={name: column[:3] for name, column in WEATHER.frame.items()})
    with pytest.raises(CountwiseError, match="play"):
        model.explain(QUERY, rows=WEATHER.X)
    for odd in (3, "nowhere.csv", [1, 2], object()):
        with pytest.raises(CountwiseError):
            model.explain(QUERY, rows=odd)
    relation = duckdb.from_df(pd.DataFrame(WEATHER.frame))
    with pytest.raises(CountwiseError):
        model.explain(QUERY, rows=relation)


def test_a_file_is_a_training_table(tmp_path):
    pd.DataFrame(WEATHER.frame).to_csv(tmp_path / "t.csv", index=False)
    model = cw.NaiveBayesClassifier().fit(str(tmp_path / "t.csv"), "play")
    found, _ = behind(model.explain(QUERY, rows=str(tmp_path / "t.csv")))
    assert found["windy = True, play = no"] == [1, 5, 13]

"""Bins of single values, k-means by iterations, bins of a given size, and bins with names."""

from __future__ import annotations

import warnings

import duckdb
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.cluster import KMeans

import countwise as cw
from countwise import Binned, Discretizer, NaiveBayesClassifier, cuts, samples
from countwise.errors import DataWarning, OptionError, TableError, UnseenValueError
from countwise.plots import HistogramDisplay
from countwise.tallies import Values

RAIN, CREDIT = samples.load("rain"), samples.load("credit")
NUMBERS = ["Seniority", "Time", "Age", "Expenses", "Income", "Assets", "Debt", "Amount", "Price"]


def credit(start, stop, *, target=True):
    frame = pd.DataFrame({**CREDIT.X, "Status": CREDIT.y}).iloc[start:stop].reset_index(drop=True)
    return frame if target else frame.drop(columns="Status")


# -- naive: each value is a bin, and any other number is unseen --------------------------------


def test_a_number_that_is_no_training_value_is_in_no_bin():
    cutter = Discretizer("naive", columns=["temp"]).fit(RAIN.X, RAIN.y)
    assert cutter.attributes_["temp"].values == ("18.4", "19.5", "19.7", "20.3", "23.5", "32.1")
    rows = {"wind": ["north"] * 4, "temp": [19.5, 19.6, np.nan, 40.0]}
    with pytest.warns(DataWarning, match="that no training row has are in no bin: 2 of 'temp'"):
        assert cutter.transform(rows)["temp"].tolist() == ["19.5", None, None, None]


def test_one_hot_columns_of_an_unseen_number_are_all_zero():
    cutter = Discretizer("naive", encode="onehot").fit({"t": [1.0, 2.0]})
    with pytest.warns(DataWarning, match="1 of 't'"):
        found = cutter.transform({"t": [2.0, 3.0, np.nan]})
    assert {name: column.tolist()[:2] for name, column in found.items()} == {"t 1": [0.0, 0.0], "t 2": [1.0, 0.0]}
    assert all(np.isnan(column[2]) for column in found.values())


@pytest.mark.parametrize("encode", ["labels", "codes", "onehot"])
@pytest.mark.parametrize("missing", ["keep", "zeros"])
def test_engines_and_sql_find_the_bins_of_single_values(encode, missing):
    cutter = Discretizer("naive", columns=["t"], encode=encode, missing=missing).fit({"t": [0.1, 2.0, 2.0, -7.5]})
    rows = pd.DataFrame({"t": [0.1, 0.2, 2.0, None, -7.5, -8.0, 9.0]})
    with pytest.warns(DataWarning):
        ours = pd.DataFrame(cutter.transform(rows)).astype(object)
    ours = ours.where(ours.notna(), None)
    lazy = cutter.transform_frame(pl.from_pandas(rows).lazy()).collect().to_pandas().astype(object)
    engine = cutter.transform_frame(duckdb.from_df(rows)).df().astype(object)
    queried = duckdb.sql(cutter.to_sql("rows")).df().astype(object)
    for found in (lazy, engine, queried):
        assert found.where(found.notna(), None).to_numpy().tolist() == ours.to_numpy().tolist()


def test_adjacent_floats_are_values_of_their_own():
    above = float(np.nextafter(1.0, 2.0))
    cutter = Discretizer("naive", encode="codes").fit({"t": [1.0, above]})
    rows = pd.DataFrame({"t": [1.0, above, float(np.nextafter(1.0, 0.0)), float(np.nextafter(above, 2.0))]})
    with pytest.warns(DataWarning, match="2 of 't'"):
        ours = cutter.transform(rows)["t"].tolist()
    assert ours[:2] == [0.0, 1.0]
    assert np.isnan(ours[2:]).all()
    found = cutter.transform_frame(pl.from_pandas(rows).lazy()).collect()["t"].to_list()
    assert found == [0.0, 1.0, None, None]


@pytest.mark.parametrize("unseen", ["ignore", "share"])
def test_naive_bins_in_naive_bayes_are_the_values_of_a_nominal_column(unseen):
    train, rows = credit(0, 800), credit(800, 900, target=False)
    rows.loc[3, "Income"] = np.nan
    naive = NaiveBayesClassifier(dict.fromkeys(NUMBERS, "naive"), unseen=unseen).fit(train, "Status")
    nominal = NaiveBayesClassifier("categorical", unseen=unseen).fit(train, "Status")
    wanted = nominal.predict_proba(rows)
    assert np.abs(naive.predict_proba(rows) - wanted).max() < 1e-12
    shares = [f"P({c})" for c in naive.classes_]
    engine = naive.predict_frame(duckdb.from_df(rows)).df()[shares]
    assert np.abs(engine.to_numpy() - wanted).max() < 1e-12
    for form in ("join", "case"):
        queried = duckdb.sql(naive.to_sql("rows", form=form)).df()[shares]
        assert np.abs(queried.to_numpy() - wanted).max() < 1e-12
    ours, others = (cw.leave_one_out(model, train.iloc[:200], "Status") for model in (naive, nominal))
    assert str(ours) == str(others)


def test_naive_bins_are_counted_by_pieces_in_engines_and_in_files(tmp_path):
    train, rows = credit(0, 600), credit(600, 700, target=False)
    model = NaiveBayesClassifier(dict.fromkeys(NUMBERS, "naive")).fit(train, "Status")
    wanted = model.predict_proba(rows)
    pieces = NaiveBayesClassifier(dict.fromkeys(NUMBERS, "naive"))
    pieces.partial_fit(train[:300], "Status", classes=model.classes_).partial_fit(credit(300, 800), "Status")
    pieces.forget(credit(600, 800), "Status")
    engine = NaiveBayesClassifier(dict.fromkeys(NUMBERS, "naive")).fit(duckdb.from_df(train), "Status")
    cw.save(model, tmp_path / "m.json")
    for other in (pieces, engine, cw.load(tmp_path / "m.json")):
        assert np.abs(other.predict_proba(rows) - wanted).max() < 1e-12


def test_the_working_says_that_a_number_was_never_seen():
    model = NaiveBayesClassifier({"temp": "naive"}).fit(RAIN.X, RAIN.y)
    row = {"wind": ["north"], "temp": [19.6]}
    assert "temp = 19.6 (never seen in training)" in str(model.explain(row, changes=False))
    assert "P(temp = 19.5 | class)" in str(model.explain({**row, "temp": [19.5]}, changes=False))
    strict = NaiveBayesClassifier({"temp": "naive"}, unseen="error").fit(RAIN.X, RAIN.y)
    with pytest.raises(UnseenValueError, match=r"'temp' is 19\.6, which no training row has"):
        strict.predict(row)
    assert strict.predict(RAIN.X).tolist() == model.predict(RAIN.X).tolist()


# -- Lloyd's iterations ---------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("seed", range(4))
def test_the_centers_of_the_iterations_are_those_of_scikit_learn(k, seed):
    rng = np.random.default_rng(seed)
    x = np.concatenate([rng.normal(m, 1, 40) for m in (0, 4, 9)])
    start = np.sort(rng.choice(x, k, replace=False))
    found = cuts.lloyd(Values.from_arrays(x), 10, init=start)
    centers, inertia = found.history
    assert np.allclose(centers[0], start)
    for t in range(1, len(centers)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # not converged yet
            theirs = KMeans(k, init=start[:, None], n_init=1, tol=0, algorithm="lloyd", max_iter=t).fit(x[:, None])
        assert np.allclose(centers[t], np.sort(theirs.cluster_centers_[:, 0]), rtol=1e-9)
        assert np.isclose(inertia[t], theirs.inertia_, rtol=1e-9)
    assert (np.diff(inertia) <= 1e-9).all()


def test_the_best_of_many_random_starts_is_the_global_optimum():
    tally = Values.from_arrays([0.0, 1.0, 2.0, 10.0, 11.0, 12.0, 20.0, 21.0, 22.0])
    best = cuts.kmeans(tally, 3).edges
    assert np.allclose(cuts.lloyd(tally, 3, n_init=50).edges, best)
    one = {tuple(cuts.lloyd(tally, 3, n_init=1, random_state=seed).edges) for seed in range(30)}
    assert len(one) > 1  # a single start may end elsewhere


def test_a_weight_is_a_number_of_copies_and_a_seed_repeats_the_result():
    x, w = [1.0, 2.0, 7.0, 9.0, 20.0], [3, 1, 2, 1, 2]
    copies, weights = Values.from_arrays(np.repeat(x, w)), Values.from_arrays(x, weights=w)
    for seed in range(5):
        a, b = (cuts.lloyd(tally, 3, n_init=1, random_state=seed) for tally in (copies, weights))
        assert np.allclose(a.edges, b.edges)
        assert np.allclose(a.history[0], b.history[0])


def test_a_center_without_values_stays_and_is_noted():
    found = cuts.lloyd(Values.from_arrays([0.0, 1.0, 10.0, 11.0]), 3, init=[0.0, 5.0, 11.0])
    assert found.history[0][-1].tolist() == [0.5, 5.0, 10.5]
    assert found.notes == ("1 of the 3 bins contain no training value",)


def test_few_values_and_constant_columns_have_fewer_centers():
    found = cuts.lloyd(Values.from_arrays([1.0, 2.0]), 5)
    assert found.edges.tolist() == [1.5]
    assert "2 bins instead of 5: there are only 2 distinct values" in found.notes
    assert cuts.lloyd(Values.from_arrays([1.0, 1.0]), 5).edges.tolist() == []


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"init": "k-means++"}, "init must be 'random' or a list of centers, not 'k-means"),
        ({"init": []}, "init must be 'random' or a list of centers"),
        ({"init": 5}, "init must be 'random' or a list of centers, not 5"),
        ({"init": [1.0, 1.0]}, "The centers .* must be distinct"),
        ({"init": [1.0, np.inf]}, "The centers .* must be a list of finite numbers"),
        ({"init": ["a"]}, "The centers .* are not numbers"),
        ({"n_init": 0}, "n_init must be an integer"),
        ({"random_state": -1}, "random_state must be an integer"),
        ({"random_state": None}, "random_state must be an integer"),
        ({"min_size": 0}, "min_size must be a number > 0, or None"),
        ({"min_size": "3"}, "min_size must be"),
    ],
)
def test_a_setting_without_meaning_is_refused(settings, words):
    with pytest.raises(OptionError, match=words):
        Discretizer("lloyd", **settings).fit(RAIN.X, RAIN.y)
    with pytest.raises(OptionError, match=words):
        Binned("lloyd", **settings)


def test_the_number_of_bins_of_random_starts_is_chosen_by_leave_one_out():
    found = Discretizer("lloyd", n_bins="leave_one_out", columns=["temp"]).fit(RAIN.X, RAIN.y)
    assert "best number from 1 to 6" in found.cuts_["temp"].notes[0]


# -- bins of a given size -----------------------------------------------------------------------


def brute(values, classes, least):
    """Return the class-contiguous cut points merged from the left until each bin has enough rows."""
    plain = cuts.class_contiguous(Values.from_arrays(values, classes)).edges.tolist()
    kept: list[float] = []
    for edge in plain:
        if sum((kept[-1] if kept else -np.inf) < v <= edge for v in values) >= least:
            kept.append(edge)
    while kept and sum(v > kept[-1] for v in values) < least:
        kept.pop()
    return kept


@pytest.mark.parametrize("least", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("seed", range(6))
def test_every_bin_has_the_given_size(least, seed):
    rng = np.random.default_rng(seed)
    values, classes = rng.integers(0, 30, 40).astype(float), rng.choice(["a", "b", "c"], 40)
    tally = Values.from_arrays(values, classes)
    found = cuts.class_contiguous(tally, min_size=least)
    assert found.edges.tolist() == brute(values, classes, least)
    assert tally.counts_in(found.edges).sum(axis=0).min() >= least or not len(found.edges)
    assert len(found.edges) == len(found.reasons)


def test_the_report_says_how_many_cut_points_were_removed():
    cutter = Discretizer("class_contiguous", min_size=2, columns=["temp"]).fit(RAIN.X, RAIN.y)
    report = cutter.report("temp")
    assert str(report).startswith("temp: 3 bins by class_contiguous, min_size = 2")
    assert report.notes == ["1 of 3 cut points removed, so that each bin has at least 2 rows"]
    with pytest.warns(DataWarning, match="a single bin"):
        Discretizer("class_contiguous", min_size=4, columns=["temp"]).fit(RAIN.X, RAIN.y)


# -- names of bins -----------------------------------------------------------------------------

NAMES = ("low", "medium", "high")


@pytest.mark.parametrize("method", ["equal_width", "equal_frequency", "kmeans", "lloyd", [19.0, 22.0]])
def test_bins_with_names_have_them_everywhere(method, tmp_path):
    cutter = Discretizer(method, n_bins=3, labels=NAMES, columns=["temp"]).fit(RAIN.X, RAIN.y)
    plain = Discretizer(method, n_bins=3, columns=["temp"]).fit(RAIN.X, RAIN.y)
    ranges = plain.attributes_["temp"].values
    assert cutter.attributes_["temp"].values == NAMES
    assert cutter.report("temp").table["bin"] == list(NAMES)
    assert cutter.report("temp").table["range"] == list(ranges)
    assert cutter.report("temp").to_dict()["labels"] == list(NAMES)
    wanted = [NAMES[ranges.index(label)] for label in plain.transform(RAIN.X)["temp"]]
    assert cutter.transform(RAIN.X)["temp"].tolist() == wanted
    rows = pd.DataFrame(RAIN.X)
    assert cutter.transform_frame(duckdb.from_df(rows)).df()["temp"].tolist() == wanted
    assert duckdb.sql(cutter.to_sql("rows")).df()["temp"].tolist() == wanted
    assert cutter.inverse_transform({"temp": ["low"], "wind": ["north"]})["temp"][0] == plain.centers("temp")[0]

    model = NaiveBayesClassifier({"temp": Binned(method, n_bins=3, labels=NAMES)}).fit(RAIN.X, RAIN.y)
    same = NaiveBayesClassifier({"temp": Binned(method, n_bins=3)}).fit(RAIN.X, RAIN.y)
    assert np.array_equal(model.predict_proba(RAIN.X), same.predict_proba(RAIN.X))
    assert model.table("temp")["temp"] == list(NAMES)
    assert f"temp = 32.1 in high ({ranges[2]})" in str(model.explain(RAIN.X, row=0))
    assert model.portrait("yes")["typical"][-1] in NAMES
    cw.save(model, tmp_path / "m.json")
    assert cw.load(tmp_path / "m.json").table("temp") == model.table("temp")
    assert "high" in model.explain(RAIN.X, row=0).html()


def test_columns_have_names_of_their_own():
    table = {"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0], "c": [7.0, 8.0, 9.0]}
    cutter = Discretizer("equal_width", n_bins=2, labels={"a": ["few", "many"]}).fit(table)
    assert cutter.attributes_["a"].values == ("few", "many")
    assert cutter.attributes_["b"].values == ("<= 5", "> 5")
    mapped = Discretizer({"a": {"method": [2.0], "labels": ("few", "many")}, "b": [5.0]}).fit(table)
    assert (mapped.attributes_["a"].values, mapped.attributes_["b"].values) == (("few", "many"), ("<= 5", "> 5"))


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (("low", "high"), r"labels has 2 names \('low', 'high'\), but 'temp' has 3 bins"),
        ("low", "labels must be a list of names, not 'low'"),
        ((), "labels must be a list of names"),
        ((1, 2, 3), "labels must be a list of names"),
        (("low", "low", "high"), "must be distinct"),
        (3, "labels must be a list of names, not 3"),
        ({"tmp": NAMES}, "no such column"),
    ],
)
def test_wrong_names_are_refused(labels, words):
    with pytest.raises(OptionError, match=words):
        Discretizer("equal_width", n_bins=3, labels=labels, columns=["temp"]).fit(RAIN.X, RAIN.y)


def test_the_number_of_names_is_checked_at_once_for_given_cut_points():
    with pytest.raises(OptionError, match=r"labels has 3 names .*, but 1 cut point makes 2 bins"):
        Binned([20.0], labels=NAMES)


def test_a_column_of_missing_values_needs_no_names():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cutter = Discretizer("equal_width", n_bins=3, labels=NAMES, columns=["t"]).fit({"t": [np.nan, np.nan]})
    assert cutter.n_bins_ == {"t": 1}


def test_nodes_of_a_network_have_the_names_of_their_bins(tmp_path):
    bins = {"temp": Binned([19.0, 22.0], labels=NAMES)}
    for structure in ("naive", "tan"):
        model = cw.BayesNetworkClassifier(structure, distributions=bins).fit(RAIN.X, RAIN.y)
        cw.save(model, tmp_path / "n.json")
        for network in (model, cw.load(tmp_path / "n.json")):
            assert "medium" in str(network.cpt("temp"))
    with pytest.raises(OptionError, match="'temp' cannot have the bins of 'naive' in a network"):
        cw.BayesNetworkClassifier("tan", distributions={"temp": "naive"}).fit(RAIN.X, RAIN.y)


# -- the working ---------------------------------------------------------------------------------

PENGUINS, WEATHER = samples.load("penguins"), samples.load("weather")


@pytest.mark.parametrize("method", [*cuts.METHODS, [70.0, 80.0]])
def test_every_rule_has_a_working(method):
    cutter = Discretizer({"temperature": method}, n_bins=3, n=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cutter.fit(WEATHER.X, WEATHER.y)
    working, report = cutter.explain("temperature"), cutter.report("temperature")
    first = working.sections[0]
    assert first.table["value"] == sorted(set(WEATHER.X["temperature"].tolist()))
    assert first.lines[-1] == "class runs: yes | no | yes yes yes | no no/yes | yes | no | yes yes | no"
    cut = [float(edge) for cell in first.table["cut above it"] if cell for edge in cell.split(", ")]
    assert np.allclose(cut, report.cuts.edges, rtol=1e-5)
    assert next(s for s in working.sections if s.title == "bins").table == report.table
    assert all(len(line) <= 80 for line in working.text(80).splitlines())
    assert working.value == len(report.cuts.edges) + 1
    assert r"\begin{" in working.latex(56)
    assert "<table" in working.html()
    assert working.to_dict()["sections"][0]["table"]["value"] == first.table["value"]


@pytest.mark.parametrize("column", ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"])
def test_the_intervals_of_mdl_are_those_of_its_cut_points(column):
    cutter = Discretizer("mdl", columns=[column]).fit(PENGUINS.X, PENGUINS.y)
    parts = [s for s in cutter.explain(column).sections if "gain of each candidate" in s.title]
    accepted = [float(s.lines[-1].split(" is ")[0]) for s in parts if s.lines[-1].endswith("is accepted.")]
    assert np.allclose(sorted(accepted), cutter.edges_[column], rtol=1e-5)
    for part in parts:
        best = part.table[""].index("▶")
        assert part.table["gain"][best] >= max(part.table["gain"]) - 1e-12
        threshold = next(line for line in part.lines if line.startswith("threshold"))
        assert float(threshold.split("= ")[-1]) > 0
    gains, needed = cutter.cuts_[column].parts
    written = " ".join(line for part in parts for line in part.lines)
    assert all(f"{x:.6g}" in written for x in [*gains, *needed])


def test_workings_of_tiny_columns_and_without_a_class():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for cells in ([np.nan, np.nan], [1.0, np.nan], [1.0, 1.0], [1.0, 2.0]):
            for method in cuts.METHODS:
                cutter = Discretizer({"t": method}).fit({"t": np.array(cells)}, ["a", "b"])
                assert cutter.explain("t").text().startswith("t: ")
    bare = Discretizer("equal_width", n_bins=2).fit({"t": [1.0, 2.0, 4.0]}).explain("t")
    assert [s.title for s in bare.sections] == ["values in ascending order", "cut points", "bins"]
    assert list(bare.sections[0].table) == ["value", "rows", "cut above it"]
    clash = Discretizer("equal_width", n_bins=2).fit({"t": [1.0, 2.0, 4.0]}, ["run", "value", "run"]).explain("t")
    assert list(clash.sections[0].table) == ["value", "class = run", "class = value", "run", "cut above it"]


def test_weights_are_in_the_working():
    cutter = Discretizer("mdl").fit({"t": [1.0, 2.0, 3.0, 4.0]}, list("aabb"), sample_weight=[0.5, 2.5, 3.0, 4.0])
    assert cutter.explain("t").sections[0].table["a"] == [0.5, 2.5, 0, 0]
    assert cutter.explain("t").sections[1].lines[-1] == "2.5 is accepted."


def test_the_report_is_latex_and_html():
    report = Discretizer("lloyd", n_bins=3, labels=NAMES, columns=["temp"]).fit(RAIN.X, RAIN.y).report("temp")
    assert "iterations" in report.latex(56)
    assert "medium" in report.latex()
    assert "medium" in report._repr_html_()


# -- the picture -----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [*cuts.METHODS, [40.0, 45.0, 50.0]])
def test_the_histogram_of_every_rule_has_its_cut_points(method):
    column = "bill_length_mm"
    cutter = Discretizer({column: method}, n_bins=4, n=20).fit(PENGUINS.X, PENGUINS.y)
    shown = HistogramDisplay.from_discretizer(cutter, column)
    edges = shown.edges
    assert [line.get_xdata()[0] for line in shown.ax_.lines] == edges.tolist()
    x = np.asarray(PENGUINS.X[column], dtype=float)
    for c, heights in shown.heights.items():
        assert np.array_equal(heights, np.histogram(x[(PENGUINS.y == c) & ~np.isnan(x)], shown.limits)[0])
    assert len(shown.ax_.patches) == 3 * (len(shown.limits) - 1)
    assert shown.ax_.get_xlabel() == column
    assert shown.ax_.get_title(loc="left").startswith(f"{len(edges) + 1} bins by ")
    written = [text.get_text() for text in shown.ax_.texts]
    assert written == ([f"{edge:.6g}" for edge in edges] if len(edges) <= 25 else [])
    plt.close("all")


def test_a_histogram_shows_names_weights_and_columns_without_a_class():
    cutter = Discretizer("equal_width", n_bins=3, labels=NAMES, columns=["temp"])
    cutter.fit(RAIN.X, RAIN.y, sample_weight=[1, 2, 3, 4, 5, 6])
    shown = HistogramDisplay.from_discretizer(cutter, "temp", bars=5)
    assert [text.get_text() for text in shown.ax_.texts][-3:] == list(NAMES)
    assert sum(heights.sum() for heights in shown.heights.values()) == 21
    assert len(shown.limits) == 6
    bare = HistogramDisplay.from_discretizer(
        Discretizer("equal_width", n_bins=3, columns=["temp"]).fit(RAIN.X), "temp"
    )
    assert bare.ax_.get_legend() is None
    assert list(bare.heights) == ["rows"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        constant = HistogramDisplay.from_discretizer(Discretizer("mdl").fit({"t": [2.0, 2.0]}, ["a", "b"]), "t")
        assert constant.limits[0] < 2.0 < constant.limits[-1]
        with pytest.raises(TableError, match="Every value of 't' is missing; there is nothing to draw"):
            HistogramDisplay.from_discretizer(Discretizer("mdl").fit({"t": [np.nan, np.nan]}, ["a", "b"]), "t")
    with pytest.raises(OptionError, match="A discretizer is needed, not NaiveBayesClassifier"):
        HistogramDisplay.from_discretizer(NaiveBayesClassifier(), "t")
    with pytest.raises(TableError, match="values must be a mapping of class"):
        HistogramDisplay([1.0, 2.0], [1.5])
    with pytest.raises(OptionError, match="bars must be"):
        HistogramDisplay.from_discretizer(cutter, "temp", bars=0)
    plt.close("all")

"""Trees that split numbers into the bins of every discretization rule."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import pytest

import countwise as cw
from countwise import Binned, Discretizer, Gaussian, Ordinal, TreeClassifier, TreeRegressor, samples
from countwise.cuts import METHODS, SUPERVISED
from countwise.errors import OptionError

PENGUINS, WEATHER = samples.load("penguins"), samples.load("weather")
BILL = {"bill": PENGUINS.X["bill_length_mm"]}
RULES = [
    *(Binned(method, n_bins=4, n=20) for method in METHODS if method != "naive"),
    Binned([40.0, 45.0, 50.0]),
    Binned("class_contiguous", min_size=30),
]
NAMES = ("low", "medium", "high")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule.how))
def test_the_branches_of_the_root_are_the_bins_of_the_rule(rule):
    report = Discretizer(rule).fit(BILL, PENGUINS.y).report("bill")
    tree = TreeClassifier(numeric="ranges", ranges=rule, max_depth=1, missing="branch").fit(BILL, PENGUINS.y)
    known = ~np.isnan(np.asarray(BILL["bill"], dtype=float))
    grown = TreeClassifier(numeric="ranges", ranges=rule, max_depth=1).fit(
        {"bill": BILL["bill"][known]}, PENGUINS.y[known]
    )
    branches = [line.split(":")[0].split(" ", 1)[1] for line in grown.draw().splitlines()[1:]]
    assert branches == list(report.cuts.labels)
    cells = grown.tree_.cells[list(grown.tree_.children_of(0))]
    assert np.array_equal(cells, report.counts.T)
    assert tree.tree_.children_of(0)[-1] == len(report.cuts.labels) + 1  # and one for missing values


@pytest.mark.parametrize("rule", [r for r in RULES if r.method not in SUPERVISED], ids=lambda rule: str(rule.how))
def test_a_regression_tree_has_the_means_of_the_bins(rule):
    known = ~np.isnan(np.asarray(BILL["bill"], dtype=float))
    X, y = {"bill": BILL["bill"][known]}, np.asarray(PENGUINS.X["body_mass_g"], dtype=float)[known]
    codes = np.asarray(Discretizer(rule, encode="codes").fit(X).transform(X)["bill"], dtype=int)
    tree = TreeRegressor(numeric="ranges", ranges=rule, max_depth=1).fit(X, y)
    means = np.array(
        [y[codes == code].mean() if (codes == code).any() else y.mean() for code in range(codes.max() + 1)]
    )
    assert np.allclose(tree.predict(X), means[codes], rtol=1e-12)


@pytest.mark.parametrize("rule", [r for r in RULES if r.method not in SUPERVISED], ids=lambda rule: str(rule.how))
@pytest.mark.parametrize("model", [TreeClassifier, TreeRegressor])
def test_bins_of_every_rule_are_saved_and_told_by_engines(rule, model, tmp_path):
    X = pd.DataFrame(WEATHER.X)
    y = WEATHER.y if model is TreeClassifier else np.arange(14.0)
    tree = model(numeric="ranges", ranges=rule).fit(X, y)
    cw.save(tree, tmp_path / "t.json")
    loaded = cw.load(tmp_path / "t.json")
    assert loaded.draw() == tree.draw()
    rows = pd.DataFrame({**X, "temperature": np.linspace(50, 100, 14)})
    rows.loc[2, "temperature"] = np.nan
    assert np.array_equal(loaded.predict(rows), tree.predict(rows))
    found = tree.predict_frame(duckdb.from_df(rows)).df().iloc[:, len(X.columns)]
    queried = duckdb.sql(tree.to_sql("rows")).df().iloc[:, len(X.columns)]
    for column in (found, queried):
        same = column.to_numpy() == tree.predict(rows)
        assert same.all() or np.allclose(column.to_numpy(dtype=float), tree.predict(rows))


@pytest.mark.parametrize("model", [TreeClassifier, TreeRegressor])
def test_naive_bins_of_a_tree_are_values_of_a_nominal_column(model):
    y = WEATHER.y if model is TreeClassifier else np.arange(14.0)
    naive = model(numeric="ranges", ranges={"temperature": "naive"}, types={"temperature": "numeric"})
    nominal = model(numeric="ranges", types={"temperature": "nominal"})
    naive.fit(WEATHER.X, y)
    nominal.fit(WEATHER.X, y)
    assert naive.draw() == nominal.draw()
    rows = {name: np.asarray(column)[:3] for name, column in WEATHER.X.items()}
    rows["temperature"] = np.array([85.0, 82.0, np.nan])  # 82 was never seen: as if it were missing
    assert np.array_equal(naive.predict(rows), nominal.predict(rows))
    size = {"size": np.array(list("SMLSML"), dtype=object)}
    ordinal = model(numeric="ranges", ranges="naive", types={"size": Ordinal("size", ("S", "M", "L"))})
    branches = ordinal.fit(size, y[[0, 2, 4, 0, 2, 4]]).draw().splitlines()
    assert len(branches) == 4 if model is TreeRegressor else len(branches) >= 3


def test_branches_have_names_wherever_they_are_shown(tmp_path):
    ranges = {"humidity": Binned([75.0, 85.0], labels=NAMES)}
    model = TreeClassifier(numeric="ranges", ranges=ranges).fit(WEATHER.X, WEATHER.y)
    cw.save(model, tmp_path / "t.json")
    for tree in (model, cw.load(tmp_path / "t.json")):
        drawn = tree.draw()
        assert "humidity?" in drawn
        assert "low: yes (2)" in drawn
        assert "high: no (2)" in drawn
        assert "outlook = sunny and humidity = high then class = no" in str(tree.rules())
        assert "humidity = high" in str(tree.explain(WEATHER.X, row=1))
        assert "{high}" in tree.latex()
    plain = TreeClassifier(numeric="ranges", ranges={"humidity": [75.0, 85.0]}).fit(WEATHER.X, WEATHER.y)
    assert np.array_equal(plain.predict_proba(WEATHER.X), model.predict_proba(WEATHER.X))
    assert model.to_sql("t") == plain.to_sql("t")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"ranges": Gaussian()}, r"ranges=Gaussian\(.*\) is not a discretization rule"),
        ({"ranges": "mld"}, "ranges is invalid: There is no discretization method 'mld'"),
        ({"ranges": {"temp": "mdl"}, "numeric": "ranges"}, "ranges refers to column 'temp', but the table has no"),
        ({"ranges": Binned("equal_width", labels=NAMES)}, "ranges='equal_width' cannot have labels"),
        ({"ranges": None}, "ranges is invalid: method must be"),
        ({"ranges": [1.0, 1.0]}, "ranges is invalid: The cut points"),
        ({"ranges": 4}, "ranges is invalid: method must be"),
    ],
)
def test_a_wrong_rule_is_refused(settings, words):
    with pytest.raises(OptionError, match=words):
        TreeClassifier(**settings).fit(WEATHER.X, WEATHER.y)


@pytest.mark.parametrize("rule", SUPERVISED)
def test_a_supervised_rule_needs_classes(rule):
    with pytest.raises(OptionError, match=f"ranges='{rule}' is supervised and needs a target with classes"):
        TreeRegressor(numeric="ranges", ranges=rule).fit(WEATHER.X, np.arange(14.0))
    with pytest.raises(OptionError, match=f"ranges='{rule}' for 'humidity' is supervised"):
        TreeRegressor(numeric="ranges", ranges={"humidity": rule}).fit(WEATHER.X, np.arange(14.0))

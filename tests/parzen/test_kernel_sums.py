"""The sum of kernels behind a density, against sums by the definition and SciPy's densities."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import norm, poisson

from countwise import Gaussian, Kernel, NaiveBayesClassifier, Ordinal, ParzenClassifier, ParzenDensity, samples, save
from countwise.errors import OptionError
from countwise.working import Working

RNG = np.random.default_rng(0)
X = RNG.normal(size=40)
SIZES = np.array(["S", "M", "L"], dtype=object)[RNG.integers(0, 3, 40)]
NAMES = np.array(["a", "b"], dtype=object)[RNG.integers(0, 2, 40)]
Y = np.array(["no", "yes"], dtype=object)[(X + RNG.normal(size=40) > 0).astype(int)]


def terms(section) -> list[float]:
    """The last column without the sum: the terms that are listed, and the sum of the others."""
    column = list(section.table.values())[-1]
    assert sum(column[:-1]) == pytest.approx(column[-1], rel=1e-12)
    return column[:-1]


KERNELS = {
    "gaussian": norm.pdf,
    "epanechnikov": lambda u: 0.75 * np.maximum(1 - u * u, 0),
    "uniform": lambda u: 0.5 * (np.abs(u) <= 1),
}


@pytest.mark.parametrize("kernel", list(KERNELS))
def test_the_terms_are_the_kernels_and_their_sum_over_n_and_h_is_the_density(kernel):
    model, x, h = ParzenDensity(0.4, kernel=kernel).fit({"x": X}), 0.3, 0.4
    section = model.explain({"x": [x]}, all_terms=True).sections[0]
    np.testing.assert_allclose(terms(section), KERNELS[kernel]((x - X) / h), rtol=1e-12, atol=1e-300)
    f = np.exp(model.score_samples({"x": [x]})[0])
    assert section.table["K(u)"][-1] / (40 * h) == pytest.approx(f, rel=1e-9)
    np.testing.assert_allclose(section.table["u"][:-1], (x - X) / h, rtol=1e-12)
    assert section.table["training row"][:-1] == list(range(40))
    assert section.lines[-1].startswith("f = sum/(n·h) = ")


def test_many_rows_are_shown_by_the_largest_terms_and_the_sum_of_the_others():
    section = ParzenDensity(0.4).fit({"x": X}).explain({"x": [0.3]}).sections[0]
    order = np.argsort(-norm.pdf((0.3 - X) / 0.4))
    assert section.table["training row"] == [*order[:6].tolist(), "34 more", "sum"]
    rest = norm.pdf((0.3 - X[order[6:]]) / 0.4).sum()
    assert terms(section)[-1] == pytest.approx(rest, rel=1e-12)


def test_columns_of_every_kind_have_their_kernels_in_the_product():
    bandwidths = {"x": 0.5, "size": 0.3, "name": 0.2}
    types = {"size": Ordinal("size", ("S", "M", "L"))}
    model = ParzenClassifier(bandwidths, types=types).fit({"x": X, "size": SIZES, "name": NAMES}, Y)
    working = model.explain([{"x": 0.1, "size": "M", "name": "a"}], all_terms=True)
    for c, label in enumerate(("no", "yes")):
        mine = label == Y
        order = {"S": 0, "M": 1, "L": 2}
        total = {"S": 1 + 0.3 + 0.09, "M": 1 + 0.6, "L": 1 + 0.3 + 0.09}
        ordinal = np.array([0.3 ** abs(order[v] - 1) / total[v] for v in SIZES[mine]])
        nominal = np.where(NAMES[mine] == "a", 0.8, 0.2)
        expected = norm.pdf((0.1 - X[mine]) / 0.5) * ordinal * nominal
        np.testing.assert_allclose(terms(working.sections[c]), expected, rtol=1e-12)
        f = np.exp(working.steps[0].factors[c].log)
        assert expected.sum() / (mine.sum() * 0.5) == pytest.approx(f, rel=1e-9)
        assert working.sections[c].table["training row"][:-1] == np.flatnonzero(mine).tolist()


def test_missing_values_and_weights_are_in_the_terms():
    values, weights = np.array([1.0, 2.0, 4.0, np.nan]), np.array([1, 2, 1, 1])
    model = ParzenDensity(1.5).fit({"x": values}, sample_weight=weights)
    section = model.explain({"x": [2.5]}).sections[0]
    kernels = norm.pdf((2.5 - values[:3]) / 1.5)
    marginal = (kernels @ weights[:3]) / 4  # h times the density of the rows with a value
    np.testing.assert_allclose(terms(section), [*(weights[:3] * kernels), marginal], rtol=1e-12)
    assert any(line.startswith("?: missing") for line in section.lines)


def test_a_row_far_from_all_rows_has_terms_that_no_float_can_hold():
    text = ParzenDensity(0.01).fit({"x": [0.0, 1.0]}).explain({"x": [50.0]}).text()
    assert "e-5213" in text
    assert "f = 0: no kernel reaches the row." in str(
        ParzenDensity(1.0, kernel="uniform").fit({"x": [0.0, 1.0]}).explain({"x": [50.0]})
    )


def written(model: NaiveBayesClassifier, row: dict, **settings) -> Working:
    return model.explain([row], densities=True, changes=False, interval=None, **settings)


@pytest.mark.parametrize("divisor", ["n", "n-1"])
def test_a_gaussian_is_written_out_from_its_sums(divisor):
    working = written(NaiveBayesClassifier(Gaussian(divisor)).fit({"x": X}, Y), {"x": 0.4})
    (section,) = working.sections
    _, means, deviations = section.table.values()
    for c, label in enumerate(("no", "yes")):
        mine = X[label == Y]
        sd = mine.std(ddof=divisor == "n-1")
        assert (means[c], deviations[c]) == (pytest.approx(mine.mean()), pytest.approx(sd))
        below = f"({len(mine)} - 1)" if divisor == "n-1" else f"{len(mine)}"
        assert str(deviations[c]).startswith(f"√({((mine - mine.mean()) ** 2).sum():.6g}/{below}) = ")
        assert section.lines[c].endswith(f" = {norm.pdf(0.4, mine.mean(), sd):.6g}")


def test_a_standard_deviation_of_the_whole_column_is_said_to_be_one():
    model = NaiveBayesClassifier().fit({"x": [1.0, 2.0, 4.0, 9.0]}, ["a", "a", "a", "b"])
    lines = written(model, {"x": 2.0}).sections[0].lines
    assert lines[0] == "σ of class = b is computed from the whole column: its values are too few."


@pytest.mark.parametrize("smoothing", [0, 1])
def test_a_rate_is_written_out_from_its_counts(smoothing):
    counts = np.array([3, 4, 5, 2, 0, 1])
    y = np.array(list("aaabbb"), dtype=object)
    model = NaiveBayesClassifier(types={"n": "count"}, smoothing=smoothing).fit({"n": counts}, y)
    (section,) = written(model, {"n": 2}).sections
    rates = [(12 + smoothing * 2.5) / (3 + smoothing), (3 + smoothing * 2.5) / (3 + smoothing)]
    assert list(section.table.values())[1] == pytest.approx(rates)
    for line, rate in zip(section.lines[-2:], rates, strict=True):
        assert line == f"Pois(2; {rate:.6g}) = {rate:.6g}^2·e^-{rate:.6g}/2! = {poisson.pmf(2, rate):.6g}"


def test_kernels_of_naive_bayes_are_summed_over_the_distinct_values():
    x = np.round(X, 1)
    model = NaiveBayesClassifier(Kernel(0.5)).fit({"x": x}, Y)
    every = written(model, {"x": 0.4}, all_terms=True)
    for c, label in enumerate(("no", "yes")):
        values, counts = np.unique(x[label == Y], return_counts=True)
        np.testing.assert_allclose(terms(every.sections[c]), counts * norm.pdf((0.4 - values) / 0.5), rtol=1e-12)
        f = list(every.sections[c].table.values())[-1][-1] / ((label == Y).sum() * 0.5)
        assert np.log(f) == pytest.approx(every.steps[0].factors[c].log, rel=1e-9)
    assert written(model, {"x": 0.4}).sections[0].table["value"][-2].endswith(" more")


def test_weights_are_shown_as_they_were_given():
    x, w = np.array([1.0, 2.0, 4.0, 9.0]), [0.5, 1.5, 2.0, 1.0]
    model = NaiveBayesClassifier(Kernel(0.5)).fit({"x": x}, list("aabb"), sample_weight=w)
    sections = written(model, {"x": 3.0}).sections
    assert [section.table["weight"][:-1] for section in sections[:1]] == [[0.5, 1.5]]
    for section, factor in zip(sections, written(model, {"x": 3.0}).steps[0].factors, strict=True):
        total = list(section.table.values())[-1][-1]
        n = 2.0 if section is sections[0] else 3.0
        assert np.log(total / (n * 0.5)) == pytest.approx(factor.log, rel=1e-9)
        assert f"/({n:g}·0.5) = " in section.lines[-1]


def test_the_densities_chosen_by_auto_are_written_out_too():
    penguins = samples.load("penguins")
    model = NaiveBayesClassifier("auto").fit(penguins.X, penguins.y)
    working = written(model, {name: column[0] for name, column in penguins.X.items()})
    assert not any("nan" in section.text(80) for section in working.sections)
    assert working.html().count("<h4>") == len(working.sections)


def test_missing_and_constant_attributes_are_not_written_out():
    model = NaiveBayesClassifier().fit({"x": X, "one": np.ones(40)}, Y)
    assert written(model, {"x": None, "one": 1.0}).sections == ()


@pytest.mark.parametrize("argument", ["densities", "all_terms"])
def test_flags_are_true_or_false(argument):
    with pytest.raises(OptionError, match=argument):
        NaiveBayesClassifier().fit({"x": X}, Y).explain([{"x": 1.0}], **{argument: np.array([True, False])})
    for model in (ParzenClassifier().fit({"x": X}, Y), ParzenDensity().fit({"x": X})):
        with pytest.raises(OptionError, match="all_terms"):
            model.explain([{"x": 1.0}], all_terms=np.array([True, False]))


def test_the_command_line_writes_densities_out(tmp_path):
    rain = samples.load("rain")
    save(NaiveBayesClassifier(Kernel(1.0)).fit(rain.frame, "rain"), tmp_path / "bayes.json")
    save(ParzenClassifier().fit(rain.frame, "rain"), tmp_path / "parzen.json")

    def explain(model: str, *options: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "countwise", "explain", model, "--set", "temp=22.8", *options]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    shown = explain("bayes.json", "--densities", "--all-terms").stdout
    assert "f(22.8) = Σ K(u)/(n·h) = 0.313977/(3·1) = 0.104659" in shown
    assert "kernels of" not in explain("bayes.json").stdout
    assert "rain = no: kernel sum" in explain("parzen.json", "--all-terms").stdout
    refused = explain("parzen.json", "--densities")
    assert (refused.returncode, "only with naive Bayes" in refused.stderr) == (2, True)

"""The frequencies before and after smoothing, as they are shown beside each other."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countwise import MEstimate, NaiveBayesClassifier, samples
from countwise.distributions import Smoothing
from countwise.errors import OptionError
from countwise.working import Formula

SMOOTHINGS = (0, 1, 0.5, "global", MEstimate(2), MEstimate(3, 0.25), Smoothing(1, k="classes"),
              Smoothing("global", denominator="literal"))  # fmt: skip


def value_of(text: str) -> Fraction:
    """Compute a formula of whole numbers and fractions exactly."""
    exact = re.sub(r"\d+(\.\d+)?(e-?\d+)?", lambda found: f"Fraction('{found[0]}')", text.replace("^", "**"))
    return Fraction(eval(exact, {"Fraction": Fraction}))


def check(table, counts, totals, probabilities):
    """Check each row: the count it says, and three numbers that agree in what is smoothed."""
    for raw, smoothed, count, total, p in zip(
        table["raw"], table["smoothed"], counts, totals, probabilities, strict=True
    ):
        assert isinstance(raw, Formula)
        assert isinstance(smoothed, Formula)
        assert raw == f"{count}/{total}"
        first, *others = smoothed.split(" = ")
        assert all(abs(value_of(first) - value_of(other)) <= 5e-6 * value_of(first) for other in others)
        assert float(value_of(first)) == pytest.approx(p, rel=1e-12)


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("yn")), min_size=4, max_size=30),
    st.sampled_from(SMOOTHINGS),
)
def test_a_nominal_column_shows_its_counts_and_what_the_model_uses(rows, smoothing):
    rows = [*rows, ("a", "y"), ("b", "n")]  # both classes occur
    model = NaiveBayesClassifier(smoothing=smoothing).fit({"x": [x for x, _ in rows]}, [y for _, y in rows])
    density = model.densities_["x"]
    cells = [(v, c) for v in density.of.values for c in model.classes_]
    counts = [rows.count(cell) for cell in cells]
    totals = [sum(y == c for _, y in rows) for _, c in cells]
    check(model.table("x", smoothing=True), counts, totals, density.prob.T.ravel())


@pytest.mark.parametrize("smoothing", [0, 1, "global"])
@pytest.mark.parametrize("distribution", ["multinomial", "bernoulli"])
def test_words_show_their_counts_and_what_the_model_uses(distribution, smoothing):
    mail = samples.load("mail")
    model = NaiveBayesClassifier(distribution, types="text", smoothing=smoothing).fit(mail.X, mail.y)
    density = model.densities_["text"]
    texts = {
        c: [text.split() for text, y in zip(mail.X["text"], mail.y, strict=True) if y == c] for c in model.classes_
    }
    table = model.table("text", smoothing=True)
    words = [re.fullmatch(r"P\(text: (\w+) \| (\w+)\)", label).groups() for label in table["probability"]]
    present = distribution == "bernoulli"
    counts = [sum(min(t.count(w), 1) if present else t.count(w) for t in texts[c]) for w, c in words]
    totals = [len(texts[c]) if present else sum(map(len, texts[c])) for _, c in words]
    place = {c: i for i, c in enumerate(model.classes_)}
    probabilities = [density.prob[place[c], density.kept_words.index(w)] for w, c in words]
    check(table, counts, totals, probabilities)
    assert len(words) == 2 * len(density.kept_words)


def test_an_absent_word_and_a_repeated_one_show_the_frequency_that_they_are_made_of():
    mail = samples.load("mail")
    absent = NaiveBayesClassifier("bernoulli", types="text").fit(mail.X, mail.y)
    table = absent.explain([{"text": "review us"}], smoothing=True).sections[-1].table
    shown = dict(zip(table["probability"], zip(table["raw"], table["smoothed"], strict=True), strict=True))
    assert shown["P(text: no send | spam)"] == ("1 - 3/4", "1 - (3 + 1)/(4 + 2) = 1/3 = 0.333333")
    twice = NaiveBayesClassifier("multinomial", types="text").fit(mail.X, mail.y)
    table = twice.explain([{"text": "us us"}], smoothing=True).sections[-1].table
    assert table["raw"][-2:] == ["(3/13)^2", "(1/6)^2"]


def test_a_rate_shows_the_sum_of_the_counts_over_the_rows():
    loan = samples.load("loan")
    model = NaiveBayesClassifier("poisson", types={"job_years": "count"}).fit(loan.columns("job_years"), loan.y)
    table = model.table("job_years", smoothing=True)
    assert table["raw"] == ["25/7", "7/3"]
    assert table["smoothed"] == ["(25 + 1·3.2)/(7 + 1) = 3.525", "(7 + 1·3.2)/(3 + 1) = 2.55"]
    assert model.densities_["job_years"].rate.tolist() == pytest.approx([3.525, 2.55], rel=1e-12)


def test_the_section_is_added_only_on_request_and_fits_a_terminal():
    tennis = samples.load("tennis")
    model = NaiveBayesClassifier(prior="smoothed").fit(tennis.X, tennis.y)
    assert not model.explain(tennis.X).sections
    working = model.explain(tennis.X, smoothing=True)
    assert max(map(len, working.sections[-1].text(80).split("\n"))) <= 80
    assert working.sections[-1].table["probability"][:2] == ["P(No)", "P(Yes)"]
    assert r"\frac{0 + 1}{5 + 3}" in model.table("outlook", smoothing=True).latex()
    assert "0/5" in working.html() or "2/5" in working.html()
    assert working.to_dict()["sections"][0]["table"]["raw"][0] == "5/14"


def test_a_uniform_prior_is_no_frequency():
    tennis = samples.load("tennis")
    model = NaiveBayesClassifier(prior="uniform").fit(tennis.X, tennis.y)
    assert model.table("class", smoothing=True).n_rows == 0


def test_a_density_without_frequencies_says_so():
    rain = samples.load("rain")
    model = NaiveBayesClassifier().fit(rain.X, rain.y)
    with pytest.raises(OptionError, match="has no frequencies to smooth"):
        model.table("temp", smoothing=True)
    working = model.explain([{"temp": 20.0}], smoothing=True)
    assert list(working.sections[-1].table["probability"]) == ["P(no)", "P(yes)"]
    assert np.isfinite(working.log_joint).all()

"""Options of the model that no worked example of the lectures shows."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from countwise import Bernoulli, MEstimate, Multinomial, NaiveBayesClassifier, samples

MAILS = {"mail": ["win prize", "win prize now", "meet lunch", "meet lunch today", "meet prize"]}
LABELS = ["spam", "spam", "ham", "ham", "ham"]


@pytest.mark.parametrize("law", [Multinomial, Bernoulli])
def test_no_word_speaks_louder_than_the_cap(law):
    model = NaiveBayesClassifier({"mail": law(cap=0.25)}).fit(MAILS, LABELS)
    working = model.explain({"mail": "win prize now meet lunch today"}, interval=None)
    assert max(abs(step.log_odds(0, 1)) for step in working.used) <= 0.25 + 1e-12
    free = NaiveBayesClassifier({"mail": law()}).fit(MAILS, LABELS)
    loud = free.explain({"mail": "win prize now meet lunch today"}, interval=None)
    assert max(abs(step.log_odds(0, 1)) for step in loud.used) > 0.25


def test_padding_with_one_word_does_not_fool_a_model_that_caps_repeats():
    padded = {"mail": "win prize now " + "meet " * 50}
    plain = NaiveBayesClassifier({"mail": Multinomial()}).fit(MAILS, LABELS)
    capped = NaiveBayesClassifier({"mail": Multinomial(repeats=1)}).fit(MAILS, LABELS)
    assert plain.predict(padded).tolist() == ["ham"]
    assert capped.predict(padded).tolist() == ["spam"]


def test_the_words_kept_are_those_that_occur_most():
    model = NaiveBayesClassifier({"mail": Multinomial(max_words=2)}).fit(MAILS, LABELS)
    density = model.densities_["mail"]
    assert [density.words[w] for w in density.kept] == ["meet", "prize"]


def test_global_smoothing_adds_the_share_of_each_value_in_all_classes():
    tennis = samples.load("tennis")
    model = NaiveBayesClassifier(smoothing="global").fit({"outlook": tennis.frame["outlook"]}, tennis.y)
    factor = model.explain({"outlook": "Overcast"}, interval=None).used[0].factors[0]
    assert factor.fraction == (0 + Fraction(4, 14)) / (5 + 1)
    same = NaiveBayesClassifier(smoothing=MEstimate(1, "global")).fit({"outlook": tennis.frame["outlook"]}, tennis.y)
    assert same.explain({"outlook": "Overcast"}, interval=None).used[0].factors[0].fraction == factor.fraction


@pytest.mark.parametrize("features", [[0], [-2], [True, False], ["x0"], np.array([0])])
def test_nominal_columns_are_declared_as_scikit_learn_declares_them(features):
    X = np.array([[1.0, 2.0], [2.0, 3.0], [1.0, 5.0]])
    model = NaiveBayesClassifier(categorical_features=features).fit(X, [0, 1, 0])
    assert [a.kind for a in model.schema_.attributes] == ["nominal", "numeric"]

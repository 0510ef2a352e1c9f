"""A distribution of words named for all columns, and a column of sentences whose type is not declared."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import BernoulliNB, MultinomialNB

from countwise import Bernoulli, Multinomial, NaiveBayesClassifier, samples
from countwise.errors import OptionError

MAIL = samples.load("mail")
TEXTS, LABELS = MAIL.frame["text"], MAIL.frame["label"]


@pytest.mark.parametrize("name", ["bernoulli", "multinomial", Bernoulli(), Multinomial()])
@pytest.mark.parametrize("kind", ["array", "pandas", "list", "polars", "one matrix"])
def test_sentences_that_are_not_declared_are_refused_with_what_to_do(name, kind):
    table = {"text": TEXTS}
    if kind == "polars":
        table = pytest.importorskip("polars").DataFrame({"text": TEXTS.tolist()})
    elif kind != "array":
        table = {"pandas": pd.DataFrame(table), "list": [{"text": t} for t in TEXTS], "one matrix": TEXTS[:, None]}[
            kind
        ]
    with pytest.raises(OptionError, match="holds text") as caught:
        NaiveBayesClassifier(name).fit(table, LABELS)
    assert "'text'}" in caught.value.hint


@pytest.mark.parametrize(("name", "theirs"), [("bernoulli", BernoulliNB()), ("multinomial", MultinomialNB())])
def test_the_hint_gives_the_probabilities_of_sklearn(name, theirs):
    counts = CountVectorizer()
    theirs.fit(counts.fit_transform(TEXTS), LABELS)
    expected = theirs.predict_proba(counts.transform(TEXTS))
    declared = NaiveBayesClassifier(name, types={"text": "text"}).fit({"text": TEXTS}, LABELS)
    by_column = NaiveBayesClassifier({"text": name}).fit({"text": TEXTS}, LABELS)
    np.testing.assert_allclose(declared.predict_proba({"text": TEXTS}), expected, rtol=1e-10)
    np.testing.assert_allclose(by_column.predict_proba({"text": TEXTS}), expected, rtol=1e-10)


def test_what_is_declared_nominal_or_repeats_or_is_a_single_word_stays_nominal():
    for settings in ({"types": {"text": "nominal"}}, {"categorical_features": ["text"]}):
        model = NaiveBayesClassifier("multinomial", **settings).fit({"text": TEXTS}, LABELS)
        assert model.schema_["text"].kind == "nominal"
    table = pd.DataFrame({"text": pd.Categorical(TEXTS)})
    assert NaiveBayesClassifier("bernoulli").fit(table, LABELS).schema_["text"].kind == "nominal"
    words = {"a": ["very good", "very bad"] * 3, "b": list("uvwxyz"), "c": ["not so", None, None, None, "a b", None]}
    schema = NaiveBayesClassifier("bernoulli").fit(words, LABELS).schema_
    assert [schema[name].kind for name in words] == ["nominal"] * 3
    assert NaiveBayesClassifier().fit({"text": TEXTS}, LABELS).schema_["text"].kind == "nominal"

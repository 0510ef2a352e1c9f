"""The metric: its settings, its rules for each kind of column, and what it tells."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import countwise
from countwise import Ordinal, Text, samples
from countwise.errors import DataWarning, OptionError, TableError
from countwise.neighbors import DistanceMetric, distance_matrix
from countwise.neighbors.edit_distance import edit_distance, edit_distances

NAN = float("nan")


def objects(*values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


# Settings


def test_only_what_is_not_usual_is_shown():
    assert repr(DistanceMetric()) == "DistanceMetric()"
    assert repr(DistanceMetric("manhattan", weights={"a": 2})) == "DistanceMetric(p='manhattan', weights={'a': 2})"
    assert repr(DistanceMetric(2)) == "DistanceMetric()"
    assert repr(DistanceMetric(np.inf, unit_length=True)) == "DistanceMetric(p=inf, unit_length=True)"


def test_settings_are_read_and_changed_by_name():
    metric = DistanceMetric(1, nominal="mvdm")
    assert metric.get_params()["nominal"] == "mvdm"
    assert metric.set_params(p=2, missing="ignore") is metric
    assert (metric.p, metric.missing) == (2, "ignore")
    copy = clone(metric)
    assert copy is not metric
    assert repr(copy) == repr(metric)
    with pytest.raises(OptionError, match=r"no parameter 'nummeric'.*did you mean 'numeric'"):
        metric.set_params(p=7, nummeric="sd")
    assert metric.p == 2  # a refused change changes nothing


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"p": 0}, "p must be a number above 0 .*, not 0"),
        ({"p": -1}, "p must be a number above 0 .*, not -1"),
        ({"p": NAN}, "p must be a number above 0 .*, not nan"),
        ({"p": True}, "p must be a number above 0 .*, not True"),
        ({"p": "euclid"}, "did you mean 'euclidean'"),
        ({"p": "xyz"}, "use 2 for the Euclidean"),
        ({"p": None}, "p must be a number above 0 .*, not None"),
        ({"numeric": "rnage"}, "did you mean 'range'"),
        ({"nominal": "Overlap"}, "did you mean 'overlap'"),
        ({"nominal": "steps"}, "nominal must be .*, not 'steps'"),
        ({"ordinal": "step"}, "did you mean 'steps'"),
        ({"text": "cos"}, "text must be .*, not 'cos'"),
        ({"missing": "max"}, "missing must be .*, not 'max'"),
        ({"divisor": "N"}, "did you mean 'n'"),
        ({"unit_length": "yes"}, "unit_length must be .*, not 'yes'"),
        ({"n_bins": 0}, "n_bins must be an integer"),
        ({"n_bins": 2.5}, "n_bins must be an integer"),
        ({"attributes": {"aa": "range"}}, "attributes refers to column 'aa'"),
        ({"attributes": {"a": "levenshtein"}}, "'levenshtein' is not a distance for numeric column 'a'"),
        ({"attributes": ["range"]}, "attributes must be a mapping of column names"),
        ({"weights": {"a": -1}}, "weight of 'a' must be a finite number >= 0, not -1"),
        ({"weights": {"a": NAN}}, "weight of 'a' must be a finite number >= 0, not nan"),
        ({"weights": {"a": math.inf}}, "weight of 'a' must be a finite number >= 0, not inf"),
        ({"weights": {"a": "much"}}, "weight of 'a' must be a finite number >= 0, not 'much'"),
        ({"weights": {"b": 1}}, "weights refers to column 'b'"),
        ({"weights": [1.0]}, "weights must be a mapping of column names"),
        ({"weights": "gian"}, "did you mean 'gain'"),
        ({"weights": "gain"}, "needs the class of each row"),
        ({"numeric": "mvdm"}, "needs the class of each row"),
    ],
)
def test_unknown_settings_are_refused_when_fitted_with_a_hint(settings, told):
    with pytest.raises(OptionError, match=told):
        DistanceMetric(**settings).fit({"a": [1.0, 2.0]})


def test_classes_that_are_not_there_in_every_row_are_none():
    with pytest.raises(OptionError, match="a class for each row"):
        DistanceMetric(nominal="mvdm").fit({"a": ["x", "y"]}, ["u", None])


def test_a_metric_that_is_not_fitted_does_not_answer():
    for ask in (
        lambda m: m.pairwise([[1.0]]),
        lambda m: m([1.0], [2.0]),
        lambda m: m.explain([[1.0]]),
        lambda m: m.scaled([[1.0]]),
    ):
        with pytest.raises(NotFittedError):
            ask(DistanceMetric())


def test_infinity_is_refused_by_name():
    with pytest.raises(TableError, match=r"contains infinity: 'b' is -?inf in row 1"):
        DistanceMetric().fit({"a": [1.0, 2.0], "b": [1.0, math.inf]})
    metric = DistanceMetric().fit({"a": [1.0, 2.0], "b": [1.0, 2.0]})
    with pytest.raises(TableError, match=r"contains infinity: 'a' is -?inf in row 0"):
        metric.pairwise({"a": [-math.inf], "b": [0.0]})


def test_a_range_that_is_no_number_is_refused_by_name():
    with pytest.raises(TableError, match="'a' ranges from"):
        DistanceMetric().fit({"a": [-1.7e308, 1.7e308]})


# Numbers


def test_huge_and_tiny_numbers_keep_their_distances():
    for unit in (1e300, 1e200, 1.0, 1e-200, 1e-300):
        for numeric, far in (("range", 1.0), ("sd", math.sqrt(2))):
            metric = DistanceMetric(numeric=numeric).fit([[0.0], [unit]])
            assert metric.pairwise([[0.0], [unit]])[0, 1] == pytest.approx(far, rel=1e-14)
        assert DistanceMetric(1, numeric="none").fit([[0.0], [unit]])([0.0], [unit]) == unit


def test_distances_that_no_number_can_hold_are_infinite_and_those_of_gaps_too():
    metric = DistanceMetric(numeric="none").fit([[0.0, 1.0], [1e200, 2.0]])
    d = metric.pairwise([[0.0, 1.0], [1e200, 1.0], [NAN, 1.0]])
    assert d[0].tolist() == [0.0, math.inf, math.inf]


def test_numbers_far_from_0_keep_their_differences():
    X = 1e9 + np.array([[0.0], [0.25], [1.0]])
    assert distance_matrix(X).tolist() == [[0.0, 0.25, 1.0], [0.25, 0.0, 0.75], [1.0, 0.75, 0.0]]
    deviation = np.std([0.0, 0.25, 1.0], ddof=1)
    assert distance_matrix(X, metric=DistanceMetric(numeric="sd"))[0, 2] == pytest.approx(1 / deviation, rel=1e-14)


def test_constant_numbers_say_nothing():
    metric = DistanceMetric().fit({"a": [3.0, 3.0], "b": [0.0, 1.0]})
    assert metric({"a": 3.0, "b": 0.0}, {"a": 99.0, "b": 0.0}) == 0.0
    assert "difference × 0" in str(metric.explain({"a": [3.0, 9.0], "b": [0.0, 1.0]}))


def test_numbers_outside_the_training_rows_are_further_away_than_any_of_these():
    assert DistanceMetric().fit([[0.0], [2.0]])([-2.0], [4.0]) == 3.0


def test_scaled_numbers_begin_at_the_lower_end_or_at_the_mean():
    X = {"a": [2.0, 4.0, 6.0], "b": ["x", "y", "x"]}
    assert dict(DistanceMetric().fit(X).scaled(X)) == {"a": [0.0, 0.5, 1.0]}
    assert dict(DistanceMetric(numeric="sd").fit(X).scaled(X)) == {"a": [-1.0, 0.0, 1.0]}
    assert dict(DistanceMetric(numeric="none").fit(X).scaled(X)) == {"a": [2.0, 4.0, 6.0]}
    weighted = DistanceMetric(numeric="sd").fit({"a": [2.0, 6.0]}, sample_weight=[3, 1])
    copies = DistanceMetric(numeric="sd").fit({"a": [2.0, 2.0, 2.0, 6.0]})
    assert dict(weighted.scaled(X)) == dict(copies.scaled(X))


def test_rows_of_unit_length_are_compared_by_their_direction():
    X = np.array([[3.0, 4.0], [6.0, 8.0], [0.0, 0.0], [-3.0, -4.0], [1e200, 0.0]])
    metric = DistanceMetric(unit_length=True).fit(X)
    d = metric.pairwise(X)
    assert d[0].tolist() == pytest.approx([0.0, 0.0, 1.0, 2.0, math.sqrt(0.4**2 + 0.8**2)], rel=1e-14)
    scaled = metric.scaled(X)
    assert [scaled["x0"][0], scaled["x1"][0]] == pytest.approx([0.6, 0.8], rel=1e-15)


def test_a_gap_of_rows_of_unit_length_is_the_most_that_these_differ_by():
    metric = DistanceMetric(1, unit_length=True).fit([[30.0, 40.0], [0.0, 10.0]])  # 0.6 and 0.8, 0 and 1
    assert metric([NAN, 5.0], [1.0, 0.0]) == pytest.approx(0.6 + 1.0, rel=1e-14)
    assert metric([NAN, NAN], [1.0, 0.0]) == pytest.approx(0.6 + 0.2, rel=1e-14)


# Names, orders, gaps


def test_values_never_seen_are_as_gaps_on_either_side():
    metric = DistanceMetric(1).fit({"a": ["x", "y"]})
    for a in ("never", "new", None):
        for b in ("never", "new", None, "x"):
            assert metric({"a": a}, {"a": b}) == 1.0
            assert metric({"a": b}, {"a": a}) == 1.0
    ignoring = DistanceMetric(1, missing="ignore").fit({"a": ["x", "y"], "b": [0.0, 2.0]})
    assert ignoring({"a": "new", "b": 1.0}, {"a": "new", "b": 2.0}) == 1.0  # 0.5 of half the weight


def test_rows_with_nothing_in_common_are_at_the_most_there_is():
    metric = DistanceMetric(1, missing="ignore").fit({"a": ["x", "y"], "b": [0.0, 2.0]})
    assert metric({"a": "x", "b": NAN}, {"a": None, "b": 1.0}) == 2.0
    assert "no attribute is known in both rows" in str(
        metric.explain({"a": objects("x", None), "b": np.array([NAN, 1.0])}, row=0, other=1)
    )


def test_orders_are_compared_by_their_steps():
    grades = Ordinal("grade", ("bad", "fair", "good", "best"))
    X = {"grade": ["bad", "good", None]}
    metric = DistanceMetric(1, types={"grade": grades}).fit(X)
    assert metric({"grade": "bad"}, {"grade": "best"}) == 1.0
    assert metric({"grade": "bad"}, {"grade": "good"}) == pytest.approx(2 / 3, rel=1e-15)
    assert metric({"grade": "bad"}, {"grade": None}) == 1.0
    overlap = DistanceMetric(1, ordinal="overlap", types={"grade": grades}).fit(X)
    assert overlap({"grade": "bad"}, {"grade": "fair"}) == 1.0


def test_a_rule_for_a_single_column_comes_before_that_for_its_kind():
    X = {"a": ["ann", "anne"], "b": ["ann", "anne"]}
    metric = DistanceMetric(1, attributes={"a": "levenshtein"}).fit(X)
    assert metric({"a": "ann", "b": "ann"}, {"a": "anne", "b": "ann"}) == 0.25
    assert metric({"a": "ann", "b": "ann"}, {"a": "ann", "b": "anne"}) == 1.0


def test_numbers_by_value_differences_are_put_into_ranges_of_equal_frequency():
    x = np.arange(12.0)
    y = np.repeat(["a", "b", "a"], 4)
    metric = DistanceMetric(1, numeric="mvdm", n_bins=3).fit({"x": x}, y)
    assert metric([0.0], [3.0]) == metric([0.0], [9.0]) == metric([-99.0], [99.0]) == 0.0
    assert metric([0.0], [5.0]) == metric([NAN], [5.0]) == 2.0
    edges = metric.distance_.locals[0].edges
    assert metric([float(edges[0])], [0.0]) == 0.0  # an edge belongs to the range below


def test_a_column_of_very_many_names_is_compared_by_overlap_and_by_value_differences():
    n = 100_000
    names = np.array([f"name {i}" for i in range(n)], dtype=object)
    y = np.where(np.arange(n) % 3 == 0, "yes", "no")
    for nominal, far in (("overlap", 1.0), ("mvdm", 2.0)):
        metric = DistanceMetric(1, nominal=nominal).fit({"a": names}, y)
        d = metric.pairwise({"a": names[:4]}, {"a": names[-4:]})  # rows 99996 to 99999
        same = y[:4, None] == y[-4:]
        assert d.tolist() == np.where(same & (nominal == "mvdm"), 0.0, far).tolist()
        assert metric({"a": names[7]}, {"a": names[7]}) == 0.0


def test_names_that_all_tell_different_things_of_the_class_are_too_many_for_a_table():
    n = 5000
    names = np.repeat(np.arange(n), 2)
    weights = np.stack([np.arange(n) + 1, np.full(n, n)], axis=1).ravel()
    with pytest.raises(OptionError, match=r"5000 values with different class probabilities.*'overlap'"):
        DistanceMetric(nominal="mvdm", types="nominal").fit(
            {"a": names}, np.tile(["u", "v"], n), sample_weight=weights
        )


@pytest.mark.parametrize(
    ("weights", "column"),
    [
        ("gain", "information_gain"),
        ("mutual_information", "information_gain"),
        ("gain_ratio", "gain_ratio"),
        ("chi_square", "chi_square"),
    ],
)
def test_weights_by_what_attributes_tell_of_the_class_are_the_scores(weights, column):
    tennis = samples.load("tennis")
    metric = DistanceMetric(weights=weights).fit(tennis.X, tennis.y)
    ours = {local.of.name: local.weight for local in metric.distance_.locals}
    scores = countwise.feature_selection.attribute_scores(tennis.X, tennis.y)
    assert ours == pytest.approx(dict(zip(scores["attribute"], scores[column], strict=True)), rel=1e-12)
    d = metric.pairwise(tennis.X)
    apart = [ours[name] for name, c in tennis.X.items() if c[0] != c[1]]
    assert d[0, 1] == pytest.approx(math.sqrt(sum(apart)), rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n", [100, 1000])
def test_numeric_noise_never_outweighs_an_attribute_that_depends_on_the_class(n, seed):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = {"name": np.where(rng.random(n) < 0.2, 1 - y, y).astype(str), "number": y + 0.5 * rng.normal(size=n)}
    X |= {f"noise{i}": rng.normal(size=n) for i in range(5)}
    weights = {part.of.name: part.weight for part in DistanceMetric(weights="gain").fit(X, y).distance_.locals}
    noise = [weights[f"noise{i}"] for i in range(5)]
    assert max(noise) < min(weights["name"], weights["number"])
    assert noise.count(0) >= 3  # MDL accepts no cut point


def test_weights_of_numeric_columns_are_the_scores_of_the_filters():
    birds = samples.load("penguins")
    scores = countwise.feature_selection.attribute_scores(birds.frame, "species")
    found = DistanceMetric(weights="gain_ratio").fit(birds.frame, "species").parts_
    assert dict(zip(found["attribute"], found["weight"], strict=True)) == pytest.approx(
        dict(zip(scores["attribute"], scores["gain_ratio"], strict=True)), rel=1e-12
    )


def test_weights_that_are_all_0_are_reported():
    with pytest.warns(DataWarning, match="all weights and all distances are 0"):
        DistanceMetric(weights="gain").fit({"x": [1.0, 2.0, 3.0, 4.0]}, ["u", "v", "u", "v"])


def test_texts_have_no_weight_by_a_measure():
    with pytest.raises(OptionError, match="is not defined for text column 't'"):
        DistanceMetric(weights="gain", types={"t": "text"}).fit({"t": ["a", "b"]}, ["u", "v"])


def test_a_weight_of_0_takes_an_attribute_out():
    X = {"a": [0.0, 1.0], "b": [0.0, 1.0]}
    assert DistanceMetric(weights={"a": 0}).fit(X)([0.0, 0.0], [1.0, 0.0]) == 0.0
    ignoring = DistanceMetric(1, weights={"a": 0}, missing="ignore").fit(X)
    assert ignoring([0.0, NAN], [1.0, 0.0]) == 1.0  # what is in common has no weight
    for p in (1, 2, 3, math.inf):
        d = DistanceMetric(p, weights={"a": 4.0, "b": 1.0}).fit(X)([0.0, 0.0], [1.0, 0.0])
        assert d == pytest.approx({1: 4.0, 2: 2.0, 3: 4 ** (1 / 3), math.inf: 4.0}[p], rel=1e-14)


# Strings


def test_edit_distances_of_single_strings():
    assert edit_distance("kitten", "sitting") == 3
    assert edit_distance("", "") == 0
    assert edit_distance("", "abc") == edit_distance("abc", "") == 3
    assert edit_distance("👩‍👧", "👩") == 2  # code points
    assert edit_distance("a" * 10_000, "a" * 9_999 + "b") == 1
    assert edit_distance("\ud800", "a") == 1
    assert edit_distances([], ["a"]).shape == (0, 1)
    assert edit_distances(["a"], []).shape == (1, 0)


def test_many_strings_are_compared_in_blocks():
    strings = [f"{i * 7919 % 1000:03d}" for i in range(700)]
    d = edit_distances(strings, strings[:30])
    for i in (0, 1, 255, 256, 257, 511, 512, 699):
        assert d[i].tolist() == [edit_distance(strings[i], other) for other in strings[:30]]


def test_strings_are_compared_over_the_length_of_the_longest_in_training():
    metric = DistanceMetric(1, nominal="levenshtein").fit({"a": ["", "abcd", "ab", None]})
    assert metric({"a": ""}, {"a": "abcd"}) == 1.0
    assert metric({"a": "ab"}, {"a": "abcd"}) == 0.5
    assert metric({"a": "never seen, and long"}, {"a": ""}) == 5.0
    assert metric({"a": "zz"}, {"a": "zz"}) == 0.0  # strings never seen are as good as others
    assert metric({"a": None}, {"a": "zz"}) == metric({"a": None}, {"a": None}) == 1.0
    only_empty = DistanceMetric(1, nominal="levenshtein").fit({"a": ["", ""]})
    assert only_empty({"a": ""}, {"a": "x"}) == 1.0


def test_numbers_that_are_names_are_the_same_strings_whatever_their_type():
    metric = DistanceMetric(1, nominal="levenshtein", types={"a": "nominal"})
    for train in ([1, 2, 13], np.array([1.0, 2.0, 13.0, NAN]), np.array([1, 2, 13], dtype=np.int8)):
        metric.fit({"a": train})
        for asked in ([1, 13], np.array([1.0, 13.0]), np.array([1, 13], dtype=np.uint16)):
            assert metric.pairwise({"a": asked}, {"a": train}).tolist()[0][:3] == [0.0, 0.5, 0.5]
            assert metric.pairwise({"a": asked}).tolist() == [[0.0, 0.5], [0.5, 0.0]]


def test_tables_between_strings_and_texts_are_made_in_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    words = np.array(["send", "us", "review", "password", "über", "now"], dtype=object)
    X = {
        "s": objects(None, *["".join(rng.choice(list("abcd"), 6)) for _ in range(199)]),
        "t": objects("", None, *[" ".join(rng.choice(words, 4)) for _ in range(198)]),
    }
    Y = {"s": X["s"][::-7], "t": objects(*["new words", *X["t"][::-7][1:]])}
    metric = DistanceMetric(attributes={"s": "levenshtein"}, types={"t": "text"}).fit(X)
    model = countwise.NeighborsClassifier(3, metric=metric).fit(X, np.arange(200) % 3)
    wanted = [metric.pairwise(X), metric.pairwise(Y, X), metric.pairwise(X, Y), model.predict_proba(Y)]
    monkeypatch.setattr("countwise.neighbors.layout._TABLE_CELLS", 201 * 7)
    again = [metric.pairwise(X), metric.pairwise(Y, X), metric.pairwise(X, Y), model.predict_proba(Y)]
    for ours, theirs in zip(again, wanted, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_very_long_strings():
    long = "ab" * 5_000
    metric = DistanceMetric(1, nominal="levenshtein").fit({"a": [long, long[:-1], "b"]})
    d = metric.pairwise({"a": [long]}, {"a": [long[:-1], "b", ""]})
    assert d[0].tolist() == pytest.approx([1 / 10_000, 9_999 / 10_000, 1.0], rel=1e-15)


# Texts


def counts_of(texts):
    from sklearn.feature_extraction.text import CountVectorizer

    return CountVectorizer().fit(texts).transform(texts).toarray()


TEXTS = ["send us the review", "review review password", "us us us", "the password of the review", "send"]


def test_cosines_are_scikit_learns():
    from sklearn.metrics.pairwise import cosine_distances

    ours = distance_matrix({"t": TEXTS}, metric=DistanceMetric(1, types={"t": "text"}))
    np.testing.assert_allclose(ours, cosine_distances(counts_of(TEXTS)), rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(np.diag(ours), 0.0)


def test_shares_of_words_are_scipys_jaccard_distances():
    from scipy.spatial.distance import cdist

    counts = counts_of(TEXTS)
    ours = distance_matrix({"t": TEXTS}, metric=DistanceMetric(1, text="jaccard", types={"t": "text"}))
    np.testing.assert_allclose(ours, cdist(counts > 0, counts > 0, "jaccard"), rtol=1e-12, atol=1e-15)
    bags = distance_matrix({"t": TEXTS}, metric=DistanceMetric(1, text="bag_jaccard", types={"t": "text"}))
    smaller = np.minimum(counts[:, None], counts).sum(axis=2)
    larger = np.maximum(counts[:, None], counts).sum(axis=2)
    np.testing.assert_allclose(bags, 1 - smaller / larger, rtol=1e-12, atol=1e-15)


def test_words_repeated_very_often_are_counted_one_by_one():
    texts = ["word " * 100 + "other", "word " * 70, "other " * 3]
    ours = distance_matrix({"t": texts}, metric=DistanceMetric(1, text="bag_jaccard", types={"t": "text"}))
    assert ours[0].tolist() == pytest.approx([0.0, 1 - 70 / 101, 1 - 1 / 103], rel=1e-12)


@pytest.mark.parametrize("text", ["cosine", "jaccard", "bag_jaccard"])
def test_words_never_seen_count_in_the_length_of_a_text(text):
    from sklearn.metrics.pairwise import cosine_distances

    asked = ["send us money now", "money", "casino", "money send", ""]
    metric = DistanceMetric(1, text=text, types={"t": "text"}).fit({"t": TEXTS})
    together = distance_matrix({"t": [*TEXTS, *asked]}, metric=DistanceMetric(1, text=text, types={"t": "text"}))
    np.testing.assert_allclose(metric.pairwise({"t": asked}, {"t": TEXTS}), together[5:, :5], rtol=1e-14)
    np.testing.assert_allclose(metric.pairwise({"t": asked}), together[5:, 5:], rtol=1e-14)
    np.testing.assert_allclose(metric.pairwise({"t": asked}, {"t": asked[::-1]}), together[5:, :4:-1], rtol=1e-14)
    assert metric({"t": "casino"}, {"t": "money"}) == 1.0
    assert metric({"t": "casino"}, {"t": "casino"}) == 0.0
    if text == "cosine":
        counts = counts_of([*TEXTS, *asked[:-1]])
        np.testing.assert_allclose(together[:-1, :-1], cosine_distances(counts), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("text", ["cosine", "jaccard", "bag_jaccard"])
def test_empty_texts_are_alike_and_gaps_are_not(text):
    metric = DistanceMetric(1, text=text, types={"t": "text"}).fit(
        {"t": ["", "a b", "cc dd"]}
    )  # words have two letters
    d = metric.pairwise({"t": objects("", "! ?", "cc", None)})
    assert d.tolist() == [[0, 0, 1, 1], [0, 0, 1, 1], [1, 1, 0, 1], [1, 1, 1, 1]]


def test_a_vocabulary_that_was_declared_is_all_that_counts():
    words = Text("t", words=("dog", "cat"))
    metric = DistanceMetric(1, types={"t": words}).fit({"t": ["dog zebra", "cat"]})
    assert metric({"t": "dog lion"}, {"t": "dog zebra"}) == 0.0
    assert metric({"t": "lion"}, {"t": "dog zebra"}) == 1.0


# What is told


def test_the_parts_of_a_distance_are_told():
    X = {"a": [0.0, 2.0, NAN], "b": objects("x", "y", "x")}
    told = str(DistanceMetric(1).fit(X).explain(X, row=0, other=1))
    assert told.splitlines()[0] == "The distance is 2."
    assert "a          0    2      difference / 2  1" in told
    assert "b          x    y      overlap         1" in told
    ignoring = str(DistanceMetric(1, missing="ignore").fit(X).explain(X, row=0, other=2))
    assert "sum 0, times 2 / 1 for the ignored attributes: 0" in ignoring
    largest = str(DistanceMetric(np.inf, missing="ignore").fit(X).explain(X, row=1, other=2))
    assert "the distance is the largest of these: 1" in largest
    assert "times" not in largest
    cubes = DistanceMetric(3, weights={"a": 8.0}).fit(X).explain(X, row=0, other=1)
    assert cubes.sections[0].table["w d^3"] == pytest.approx([8.0, 1.0])
    assert cubes.sections[0].table["d"] == pytest.approx([1.0, 1.0])
    assert cubes.value == pytest.approx(9 ** (1 / 3), rel=1e-14)


def test_the_classes_may_be_a_column_of_the_table():
    cheat = samples.load("cheat")
    for metric in (DistanceMetric(nominal="mvdm"), DistanceMetric(nominal="mvdm", weights="gain")):
        ours = distance_matrix(cheat.frame, metric=metric, y="cheat")
        np.testing.assert_array_equal(ours, distance_matrix(cheat.X, metric=metric, y=cheat.y))
    assert not hasattr(metric, "distance_")  # the user's metric is left alone


def test_a_fitted_metric_keeps_its_scales():
    metric = DistanceMetric().fit([[0.0], [10.0]])
    assert distance_matrix([[0.0], [1.0]], metric=metric)[0, 1] == 0.1
    assert distance_matrix([[0.0], [1.0]], metric=DistanceMetric())[0, 1] == 1.0
    assert distance_matrix([[0.0], [10.0]], [[5.0]]).tolist() == [[0.5], [0.5]]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("hamming", "use 'manhattan': equal nominal values have distance 0"),
        ("cityblock", "use 'manhattan'"),
        ("L2", "use 'euclidean'"),
        ("minkowski", "use a power above 0"),
        ("mvdm", r"use metric=DistanceMetric\(nominal='mvdm'\)"),
        ("levenshtein", r"use metric=DistanceMetric\(nominal='levenshtein'\)"),
        ("cosine", r"use metric=DistanceMetric\(text='cosine'\)"),
        ("euclidian", "did you mean 'euclidean'"),
        ("xyz", "use one of 'euclidean', 'manhattan'"),
    ],
)
def test_the_name_of_an_unknown_metric_has_a_hint(name, hint):
    from countwise import NeighborsClassifier, PrototypeClassifier

    X, y = {"x": [0.0, 1.0, 2.0], "k": ["u", "v", "u"]}, ["a", "b", "b"]
    for work in (
        lambda: NeighborsClassifier(1, metric=name).fit(X, y),
        lambda: distance_matrix(X, metric=name),
        lambda: PrototypeClassifier(metric=name).fit(X, y),
    ):
        with pytest.raises(OptionError, match=hint if name != "xyz" else "use "):
            work()


def test_hamming_is_the_overlap_of_nominal_values():
    for name in ("nominal", "ordinal"):
        with pytest.raises(OptionError, match="Hint: use 'overlap'"):
            DistanceMetric(**{name: "hamming"}).fit({"k": ["u", "v"]})
    with pytest.raises(OptionError, match="use 'manhattan'"):
        DistanceMetric("hamming").fit({"k": ["u", "v"]})

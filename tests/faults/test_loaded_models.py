"""What is loaded satisfies the invariants of its model, whoever wrote it; what was fitted is loaded as it was."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import math
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import countwise as cw
from countwise.errors import CountwiseError, CountwiseWarning, ModelFileError
from countwise.jsonfile import enveloped

from .model_documents import MODELS, changed, check_answers, content_of, paths, rows, write

ODD = [
    -1,
    -0.5,
    0,
    0.5,
    1.5,
    3,
    1e18,
    1e160,
    -1e160,
    1e308,
    2**63,
    2**70,
    math.nan,
    math.inf,
    "x",
    "",
    None,
    True,
    [],
    {},
]


@st.composite
def damaged(draw):
    """A document in which one part is replaced, cut, doubled, reversed or removed."""
    name = draw(st.sampled_from(sorted(MODELS)))
    content = content_of(name)
    path: tuple = ()
    part = content
    while isinstance(part, dict | list) and part and (not path or draw(st.integers(0, 9))):
        keys = sorted(part) if isinstance(part, dict) else range(len(part))
        path = (*path, draw(st.sampled_from(keys)))
        part = part[path[-1]]
    if isinstance(part, list) and part and draw(st.booleans()):
        at = draw(st.integers(0, len(part) - 1))
        new = draw(
            st.sampled_from([part[:at], part[at:], part[::-1], part + part, [*part[:at], part[at], *part[at:]]])
        )
    elif isinstance(part, dict) and part and draw(st.booleans()):
        gone = draw(st.sampled_from(sorted(part)))
        new = {key: v for key, v in part.items() if key != gone}
    else:
        # the parameters of an estimator are not what a file is checked for: fit accepts extreme ones, too
        odd = [v for v in ODD if not (path[0] == "settings" and isinstance(v, float) and abs(v) > 1e18)]
        new = draw(st.sampled_from(odd))
    return name, path, changed(content, path, lambda _: new)


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(damaged())
def test_a_damaged_document_with_a_right_checksum_is_refused_or_answers_soundly(tmp_path_factory, found):
    _, _, content = found
    place = write(tmp_path_factory.getbasetemp() / "damaged.json", content)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", CountwiseWarning)
        try:
            model = cw.load(place)
        except ModelFileError as error:
            assert "\n" not in str(error)  # noqa: PT017 - one of two outcomes
            return
        try:
            check_answers(model)
        except CountwiseError:  # such as a column of another name
            return
        cw.save(model, place)
        cw.load(place)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_a_document_that_was_not_changed_is_loaded_and_answers_soundly(name, tmp_path):
    model = cw.load(write(tmp_path / "m.json", content_of(name)))
    check_answers(model)
    cw.save(model, tmp_path / "again.json")
    assert json.loads((tmp_path / "again.json").read_text())["model"] == content_of(name)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_a_loaded_model_answers_bit_for_bit_like_the_fitted_one(name, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = MODELS[name]()
        cw.save(fitted, tmp_path / "m.json")
        loaded = cw.load(tmp_path / "m.json")
        if not hasattr(fitted, "predict") or "t" in fitted.schema_:
            return
        some = {column: cells for column, cells in rows().items() if column in fitted.schema_}
        assert np.array_equal(loaded.predict(some), fitted.predict(some))
        if hasattr(fitted, "predict_proba"):
            assert np.array_equal(loaded.predict_proba(some), fitted.predict_proba(some))


@pytest.mark.parametrize("missing", ["fractions", "branch", "majority"])
@pytest.mark.parametrize("pruning", [None, "pessimistic", "cost_complexity"])
@pytest.mark.parametrize("numeric", ["binary", "ranges"])
def test_a_pruned_tree_is_loaded_as_it_was(tmp_path, missing, pruning, numeric):
    sample = cw.samples.load("penguins")
    model = cw.TreeClassifier("gain_ratio", missing=missing, pruning=pruning, numeric=numeric)
    model.fit(sample.frame, "species")
    cw.save(model, tmp_path / "m.json")
    assert np.array_equal(cw.load(tmp_path / "m.json").predict_proba(sample.X), model.predict_proba(sample.X))


IMPOSSIBLE = {
    "negative counts of a tree": ("tree", ("tree", "cells", 0), lambda c: [-9.0, *c[1:]]),
    "counts of a node that its branches do not have": ("tree", ("tree", "cells", 1), lambda c: [n + 5 for n in c]),
    "a root without rows": ("tree", ("tree", "cells"), lambda c: [[0.0] * len(row) for row in c]),
    "a cycle of nodes": ("tree", ("tree", "parent", 1), lambda _: 1),
    "a child that does not exist": ("tree", ("tree", "children", 0), lambda _: 99),
    "a threshold that is missing": ("tree", ("tree", "limits", 0), lambda _: None),
    "negative squared deviations": ("regression tree", ("tree", "cells", 0), lambda c: [*c[:2], -1.0]),
    "negative class counts": ("naive Bayes", ("tallies", "class", "cells", 0), lambda _: -1),
    "more rows of a value than of the class": ("naive Bayes", ("tallies", "b", "cells", 0, 0), lambda n: n + 100),
    "a negative number of values": ("naive Bayes", ("tallies", "x", "n", 0), lambda _: -1.0),
    "a negative variance": ("naive Bayes", ("tallies", "x", "m2", 0), lambda _: -1.0),
    "a count as text": ("naive Bayes", ("tallies", "b", "cells", 0, 0), lambda _: "1"),
    "a count as a truth value": ("naive Bayes", ("tallies", "class", "cells"), lambda c: [True] * len(c)),
    "a ragged table": ("naive Bayes", ("tallies", "b", "cells", 0), lambda c: c[:-1]),
    "a tally of another type": ("naive Bayes", ("tallies", "x", "tally"), lambda _: "values"),
    "a tally of another column": ("naive Bayes", ("tallies", "x", "of"), lambda _: "z"),
    "a tally too many": ("naive Bayes", ("tallies",), lambda t: t | {"more": t["x"]}),
    "values that descend": ("naive Bayes, kernel", ("tallies", "x", "sets", 0, 0), lambda v: v[::-1]),
    "a value without weight": ("naive Bayes, kernel", ("tallies", "x", "sets", 0, 1), lambda w: [0, *w[1:]]),
    "negative counts of words": ("naive Bayes, text", ("tallies", "t", "cells", 0), lambda c: [-1 for _ in c]),
    "an asymmetric scatter matrix": (
        "discriminant, own", ("tallies", "row", "cells", "c0", 2, 0, 0), lambda r: [r[0], r[1] + 50]),
    "a scatter matrix with a negative eigenvalue": (
        "discriminant, own", ("tallies", "row", "cells", "c0", 2, 0), lambda m: [[m[0][0], 1e6], [1e6, m[1][1]]]),
    "a row without weight": ("parzen", ("tallies", "row", "weights", 0), lambda _: 0),
    "a class that does not exist": ("parzen", ("tallies", "row", "codes", 0), lambda _: 7),
    "a code that does not exist": ("neighbors", ("instances", "b", 0), lambda _: 7),
    "a negative weight": ("neighbors", ("weights",), lambda _: [-1.0] * 36),
    "a row twice": ("neighbors", ("order",), lambda order: [order[0], *order[:-1]]),
    "a confidence above 1": ("rules", ("rules", "rules", 0, "confidence"), lambda _: 1.5),
    "a rule with negative counts": ("rules", ("rules", "rules", 0, "counts", 0), lambda _: -1),
    "a rule of an unknown class": ("rules", ("rules", "rules", 0, "then"), lambda _: "none"),
    "rows that are not in order": ("rote", ("keys",), lambda keys: keys[::-1]),
    "a stored value that does not exist": ("rote", ("keys", 0), lambda key: "000000ff" + key[8:]),
    "probabilities that do not sum to 1": (
        "network by hand", ("settings", "cpts", "rain", "table"), lambda _: [0.8, 0.8]),
    "a negative probability": ("network by hand", ("settings", "cpts", "rain", "table"), lambda _: [1.5, -0.5]),
    "a cycle of arcs": ("network by hand", ("settings", "arcs"), lambda arcs: [*arcs, ["wet", "rain"]]),
    "a cycle of parents": ("network", ("parents",), lambda p: {n: [m for m in p if m != n] for n in p}),
    "a domain with a value twice": ("tree", ("schema", 2, "values"), lambda v: [v[0], v[0], v[2]]),
    "a domain with a list": ("tree", ("schema", 2, "values"), lambda v: [[1], *v[1:]]),
    "a name that is a number": ("tree", ("schema", 0, "name"), lambda _: 5),
    "a pattern that is no regular expression": ("naive Bayes, text", ("schema", 1, "pattern"), lambda _: "("),
    "a setting that the class refuses": ("tree", ("settings", "criterion"), lambda _: "odd"),
    "a numeric target of a classifier": ("tree", ("target",), lambda _: {"kind": "numeric", "name": "y"}),
    "a type of classes that does not suit them": ("tree", ("labels",), lambda _: "<i8"),
    "a type of classes that NumPy has given up": ("tree", ("labels",), lambda _: "a"),
    "a score that does not exist": ("network", ("settings", "criterion"), lambda _: "odd"),
    "a list of scores": ("network", ("settings", "criterion"), lambda _: ["bic"]),
    "a gain as text": ("network", ("tried", 0, 2), lambda _: "Infinity"),
    "a score as text": ("network", ("score",), lambda _: "nan"),
    "a huge type of classes": ("tree", ("labels",), lambda _: "V1000000000"),
    "a negative number of rows": ("tree", ("rows",), lambda _: -1),
    "a number of rows that is no integer": ("tree", ("rows",), lambda _: 1.5),
    "a document that is a list": ("tree", (), lambda _: []),
}  # fmt: skip


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_an_impossible_document_with_a_right_checksum_is_refused(case, tmp_path):
    name, path, change = IMPOSSIBLE[case]
    assert path in set(paths(content_of(name)))
    place = write(tmp_path / "m.json", changed(content_of(name), path, change))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ModelFileError) as caught:
            cw.load(place)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "number", ["1e999", "-1e999", "NaN", "Infinity", "-Infinity", "9" * 500, "1." + "0" * 500, "0" * 5 + "1"]
)
def test_a_number_that_is_none_is_refused(tmp_path, number):
    body = json.dumps(content_of("naive Bayes"), separators=(",", ":")).replace('"rows":36', f'"rows":{number}')
    (tmp_path / "m.json").write_bytes(enveloped(body))
    with pytest.raises(ModelFileError):
        cw.load(tmp_path / "m.json")


def test_a_key_twice_is_refused(tmp_path):
    body = json.dumps(content_of("tree"), separators=(",", ":")).replace('"rows":36', '"rows":36,"rows":36')
    (tmp_path / "m.json").write_bytes(enveloped(body))
    with pytest.raises(ModelFileError, match="a key twice"):
        cw.load(tmp_path / "m.json")


def test_a_value_of_an_unknown_type_is_refused(tmp_path):
    odd = {"@": "value", "type": "os.system", "of": "true"}
    place = write(tmp_path / "m.json", changed(content_of("tree"), ("target", "values", 0), lambda _: odd))
    with pytest.raises(ModelFileError, match="unknown type"):
        cw.load(place)


# -- values of all types --------------------------------------------------------------------------

VALUES = {
    "bool": [True, False],
    "large int": [2**60, 2**60 + 1, -(2**70)],
    "float": [0.1, 1e-300, -0.5],
    "infinite float": [0.5, math.inf, -math.inf],
    "str": ["é", "\x00", "a\r\nb", "漢", ""],
    "lone surrogate": ["\ud800", "\udfff", "x"],
    "bytes": [b"a", b"\xff\x00"],
    "Decimal": [decimal.Decimal("1.10"), decimal.Decimal("-2")],
    "date": [dt.date(2024, 1, 31), dt.date(1, 1, 1)],
    "datetime": [dt.datetime(2024, 1, 31, 5, 6, 7, 8), dt.datetime(1999, 1, 1)],
    "aware datetime": [dt.datetime(2024, 1, 1, tzinfo=dt.UTC), dt.datetime(2024, 2, 1, tzinfo=dt.UTC)],
    "time": [dt.time(1, 2, 3, 4), dt.time(5)],
    "timedelta": [dt.timedelta(1, 2, 3), dt.timedelta(-1)],
    "Timestamp": [pd.Timestamp("2024-01-01 00:00:00.123456789"), pd.Timestamp("2024-02-01")],
    "Timedelta": [pd.Timedelta(1, "ns"), pd.Timedelta("2D")],
    "Interval": [pd.Interval(0, 1), pd.Interval(1, 2, closed="right")],
    "Interval of times": [
        pd.Interval(pd.Timestamp("2024-01-01"), pd.Timestamp("2024-01-02")),
        pd.Interval(pd.Timestamp("2024-01-02"), pd.Timestamp("2024-01-03")),
    ],
    "Period": [pd.Period("2024-01"), pd.Period("2024-02")],
    "tuple": [("a", 1), ("b", dt.date(2024, 1, 1))],
}
LEARNERS = [cw.NaiveBayesClassifier, cw.TreeClassifier, cw.RuleClassifier, cw.NeighborsClassifier, cw.RoteClassifier]


def _column(values, n=30):
    found = np.empty(n, dtype=object)
    found[:] = [values[i % len(values)] for i in range(n)]
    return found


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("kind", VALUES)
def test_a_model_of_values_of_any_type_is_loaded_as_it_was_or_fit_refuses_them(tmp_path, kind, learner):
    values, x = _column(VALUES[kind]), np.linspace(-1, 1, 30)
    for X, y in (({"x": x, "b": values}, _column(["p", "q", "r"])), ({"x": x}, values)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                fitted = learner().fit(X, y)
            except CountwiseError:
                continue
            cw.save(fitted, tmp_path / "m.json")
            loaded = cw.load(tmp_path / "m.json")
            answers = loaded.predict(X).tolist(), fitted.predict(X).tolist()
            probabilities = loaded.predict_proba(X), fitted.predict_proba(X)
        assert loaded.target_ == fitted.target_
        assert loaded.schema_ == fitted.schema_
        assert list(map(type, loaded.target_.values)) == list(map(type, fitted.target_.values))
        assert answers[0] == answers[1]
        assert np.array_equal(*probabilities)


class Odd:
    def __init__(self, n):
        self.n = n

    def __lt__(self, other):
        return self.n < other.n


@pytest.mark.parametrize("values", [[Odd(1), Odd(2)], [10**500, 1], [1j, 2j]])
def test_a_value_that_no_file_can_hold_is_refused_with_its_column(tmp_path, values):
    try:
        model = cw.NaiveBayesClassifier().fit({"b": pd.Categorical(_column(values))}, _column(["p", "q", "r"]))
    except CountwiseError:
        return  # it is refused earlier
    with pytest.raises(ModelFileError, match="value of 'b'"):
        cw.save(model, tmp_path / "m.json")
    assert not (tmp_path / "m.json").exists()


def test_two_surrogates_in_a_row_are_refused_with_their_column(tmp_path):
    model = cw.NaiveBayesClassifier().fit({"b": _column(["\ud83d\ude00", "x"])}, _column(["p", "q", "r"]))
    with pytest.raises(ModelFileError, match=r"value of 'b'.*surrogates"):
        cw.save(model, tmp_path / "m.json")


def test_a_parameter_that_no_file_can_hold_is_refused_by_its_name(tmp_path):
    model = cw.RoteClassifier(otherwise=cw.NaiveBayesClassifier()).fit({"b": ["u", "v"]}, ["p", "q"])
    with pytest.raises(ModelFileError, match="'otherwise'"):
        cw.save(model, tmp_path / "m.json")


@pytest.mark.parametrize("seed", range(12))
def test_a_model_that_has_forgotten_rows_of_very_different_weights_is_loaded_as_it_was(tmp_path, seed):
    rng = np.random.default_rng(seed)
    n = 40
    X = {"x": rng.normal(size=n) + 1e4, "z": rng.normal(size=n), "b": rng.choice(list("uvw"), n).astype(object)}
    X["z"][::5] = np.nan
    y, weights = rng.choice(["p", "q"], n).astype(object), rng.random(n) * 10.0 ** rng.integers(-6, 7, n)
    gone = rng.permutation(n)[:30]
    learners = [
        cw.NaiveBayesClassifier(),
        cw.NaiveBayesClassifier("kernel"),
        cw.ParzenClassifier(),
        cw.DiscriminantClassifier(nominal="onehot", shrinkage=0.5),
        cw.PrototypeClassifier(),
    ]
    for learner in learners:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CountwiseWarning)
            try:
                model = learner.fit(X, y, sample_weight=weights)
                model.forget({name: cells[gone] for name, cells in X.items()}, y[gone], sample_weight=weights[gone])
                probabilities = model.predict_proba(X)
            except CountwiseError:
                continue
            cw.save(model, tmp_path / "m.json")
            assert np.array_equal(cw.load(tmp_path / "m.json").predict_proba(X), probabilities)

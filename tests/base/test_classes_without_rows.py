"""A class that no training row has is not a class, or has probability 0 until its first row comes."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import countwise
from countwise import (
    BayesNetworkClassifier,
    DiscriminantClassifier,
    NaiveBayesClassifier,
    NeighborsClassifier,
    ParzenClassifier,
    PEBLSClassifier,
    PrototypeClassifier,
    RoteClassifier,
    RuleClassifier,
    TreeClassifier,
    leave_one_out,
    samples,
)
from countwise.errors import OptionError, SchemaError, TableError

pytestmark = pytest.mark.filterwarnings("ignore::countwise.errors.DataWarning")

RNG = np.random.default_rng(7)
N = 24
X = pd.DataFrame({"number": RNG.normal(size=N), "value": RNG.choice(list("uvw"), N)})
Y = np.where(RNG.random(N) < 0.5, "no", "yes")
CODES = (Y == "yes").astype(np.int8)
TARGETS: dict[str, Any] = {
    "a filtered category": pd.Series(pd.Categorical(Y, categories=["yes", "maybe", "no"])),
    "an ordered category": pd.Series(pd.Categorical(Y, categories=["no", "maybe", "yes"], ordered=True)),
    "a Categorical": pd.Categorical(Y, categories=["yes", "maybe", "no"]),
    "an Enum": pl.Series("class", Y.tolist(), dtype=pl.Enum(["no", "maybe", "yes"])),
    "an Arrow dictionary": pa.DictionaryArray.from_arrays(pa.array(CODES), ["no", "yes", "maybe"]),
}
LEARNERS: dict[str, Any] = {
    "naive Bayes": NaiveBayesClassifier(),
    "kernel": NaiveBayesClassifier("kernel", prior="uniform"),
    "uniform": NaiveBayesClassifier(prior="uniform"),
    "smoothed": NaiveBayesClassifier(prior="smoothed"),
    "global": NaiveBayesClassifier(prior="smoothed", smoothing="global"),
    "discriminant": DiscriminantClassifier(nominal="onehot", prior="uniform", divisor="n-classes"),
    "own covariances": DiscriminantClassifier("own", nominal="onehot", prior="uniform", shrinkage=0.1),
    "Parzen": ParzenClassifier(prior="uniform"),
    "prototype": PrototypeClassifier(),
    "naive network": BayesNetworkClassifier("naive", prior="uniform"),
    "tan": BayesNetworkClassifier("tan", prior="smoothed"),
    "class with parents": BayesNetworkClassifier([("value", "class"), ("class", "number")], missing="available"),
    "PEBLS": PEBLSClassifier(),
    "neighbors": NeighborsClassifier(3),
    "tree": TreeClassifier(),
    "rules": RuleClassifier(),
    "rote": RoteClassifier(),
}
every_learner = pytest.mark.parametrize("name", LEARNERS)
BY_TALLIES = [name for name, learner in LEARNERS.items() if hasattr(learner, "partial_fit")]
BOOLEANS: dict[str, Any] = {
    "NumPy": np.array,
    "pandas": lambda y: pd.Series(y, dtype="boolean"),
    "Polars": lambda y: pl.Series("class", y),
    "objects": lambda y: np.array(y, dtype=object),
    "list": list,
    "Arrow": pa.array,
}


def blank(name: str) -> Any:
    learner = LEARNERS[name]
    return type(learner)(**learner.get_params(deep=False))


@pytest.mark.parametrize("target", TARGETS)
@every_learner
def test_a_declared_class_without_rows_is_no_class(name, target):
    model, plain = blank(name).fit(X, TARGETS[target]), blank(name).fit(X, Y)
    assert model.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))


@pytest.mark.parametrize("kind", BOOLEANS)
@every_learner
def test_a_truth_value_without_rows_is_no_class(name, kind):
    model = blank(name).fit(X, BOOLEANS[kind]([True] * N))
    assert model.classes_.tolist() == [True]
    assert (model.predict_proba(X) == 1).all()


@every_learner
def test_a_class_whose_rows_have_weight_0_is_no_class(name):
    if "sample_weight" in inspect.signature(LEARNERS[name].fit).parameters:
        model = blank(name).fit(X, TARGETS["a filtered category"], sample_weight=CODES)
        assert model.classes_.tolist() == ["yes"]


def test_penguins_of_a_species_that_was_filtered_out_are_not_predicted():
    penguins = pd.DataFrame(samples.load("penguins").frame).astype({"species": "category"})
    two = penguins[penguins["species"] != "Gentoo"]
    for model in (PrototypeClassifier(), NaiveBayesClassifier(prior="uniform")):
        assert set(model.fit(two, "species").predict(two)) == {"Adelie", "Chinstrap"}


@pytest.mark.parametrize("name", BY_TALLIES)
def test_an_announced_class_has_probability_0_and_changes_nothing_until_its_first_row_comes(name):
    model, plain = blank(name).partial_fit(X, Y, classes=["maybe", "no", "yes"]), blank(name).fit(X, Y)
    assert model.classes_.tolist() == ["maybe", "no", "yes"]
    found = model.predict_proba(X)
    assert (found[:, 0] == 0).all()
    assert (model.predict(X) != "maybe").all()
    np.testing.assert_allclose(found[:, 1:], plain.predict_proba(X), rtol=1e-9, atol=1e-12)
    posterior = model.explain(X).posterior
    np.testing.assert_allclose(posterior, found[0], rtol=1e-9)
    if not name.startswith(("tan", "class with")):  # these keep the structure of the first rows
        more = blank(name).fit(pd.concat([X, X[:6]]), [*Y, *["maybe"] * 6])
        model.partial_fit(X[:6], ["maybe"] * 6)
        np.testing.assert_allclose(model.predict_proba(X), more.predict_proba(X), rtol=1e-6, atol=1e-9)
        model.forget(X[:6], ["maybe"] * 6)
        np.testing.assert_allclose(model.predict_proba(X), found, rtol=1e-6, atol=1e-9)


def test_given_prior_probabilities_of_announced_classes_wait_for_their_rows():
    prior = {"maybe": 0.5, "no": 0.3, "yes": 0.2}
    model = NaiveBayesClassifier(prior=prior).partial_fit(X, Y, classes=["maybe", "no", "yes"])
    np.testing.assert_allclose(model.class_prior_, [0, 0.6, 0.4])
    model.partial_fit(X[:1], ["maybe"])
    np.testing.assert_allclose(model.class_prior_, [0.5, 0.3, 0.2])
    with pytest.raises(OptionError, match="no such class"):
        NaiveBayesClassifier(prior=prior).fit(X, TARGETS["a filtered category"])
    with pytest.raises(OptionError, match="0 for every class that has training rows"):
        NaiveBayesClassifier(prior=[1, 0, 0]).partial_fit(X, Y, classes=["maybe", "no", "yes"])


def test_a_saved_model_keeps_the_announced_classes(tmp_path):
    model = NaiveBayesClassifier(prior="uniform").partial_fit(X, Y, classes=["maybe", "no", "yes"])
    countwise.save(model, tmp_path / "model.json")
    loaded = countwise.load(tmp_path / "model.json")
    assert loaded.target_ == model.target_
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("target", [*TARGETS, "booleans", "strings", "integers"])
@pytest.mark.parametrize("name", BY_TALLIES)
def test_a_class_without_rows_after_forgetting_is_no_class(name, target):
    y = {"booleans": CODES == 1, "strings": Y, "integers": CODES}.get(target, TARGETS.get(target))
    taken = (lambda y, which: y.filter(pa.array(which))) if isinstance(y, pa.Array) else lambda y, which: y[which]
    taken = (lambda y, which: y.filter(pl.Series(which))) if isinstance(y, pl.Series) else taken
    gone = CODES == 0
    model = blank(name).fit(X, y).forget(X[gone], taken(y, gone))
    rest = blank(name).fit(X[~gone], taken(y, ~gone))
    assert len(model.classes_) == 1
    assert (model.classes_.tolist(), model.schema_) == (rest.classes_.tolist(), rest.schema_)
    assert model.target_.values == rest.target_.values


# -- leave-one-out --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["booleans", "strings", "integers", "categories"])
@every_learner
def test_leaving_out_the_only_row_of_a_class_is_fitting_without_it(name, kind):
    rare = np.arange(N) == 5
    y: Any = {"booleans": rare, "strings": np.where(rare, "rare", Y), "integers": np.where(rare, 7, CODES)}.get(kind)
    if y is None:
        y = pd.Series(pd.Categorical(np.where(rare, "rare", Y), categories=["never", "rare", "yes", "no"]))
    found = leave_one_out(blank(name), X, y).predictions
    for i in (5, 6):
        rest = np.arange(N) != i
        again = blank(name).fit(X[rest], y[rest])
        proba = dict(zip(again.classes_.tolist(), again.predict_proba(X[i : i + 1])[0], strict=True))
        np.testing.assert_allclose(found.proba[i], [proba.get(c, 0.0) for c in found.classes], rtol=1e-6, atol=1e-9)


# -- categories -----------------------------------------------------------------------------------


def frame_of(values: list[Any], categories: list[str], **settings: Any) -> pd.DataFrame:
    return pd.DataFrame({"x": pd.Categorical(values, categories=categories, **settings)})


def test_categories_of_pieces_are_united_in_any_order():
    pieces = [
        frame_of(["c", "a"], ["c", "a"]),
        frame_of(["b", "a"], ["a", "b", "d"]),
        pd.DataFrame({"x": ["e", None]}),
    ]
    found = []
    for order in ([0, 1, 2], [1, 2, 0], [2, 1, 0], [2, 0, 1]):
        model = NaiveBayesClassifier()
        for i in order:
            model.partial_fit(pieces[i], ["no", "yes"])
        one, two, three = (NaiveBayesClassifier().fit(pieces[i], ["no", "yes"]) for i in order)
        found += [model.schema_["x"], (one + two + three).schema_["x"], (one + (two + three)).schema_["x"]]
    assert found[0].values == ("a", "b", "c", "d", "e")
    assert set(found[0].fixed) == {"a", "b", "c", "d"}
    assert all(attribute == found[0] for attribute in found)


def test_categories_that_all_pieces_declare_alike_keep_their_order():
    piece = frame_of(["c", "a"], ["c", "a", "b"])
    model = NaiveBayesClassifier().partial_fit(piece, ["no", "yes"]).partial_fit(piece, ["no", "yes"])
    assert model.schema_["x"].values == ("c", "a", "b")
    model.partial_fit(pd.DataFrame({"x": ["aa"]}), ["no"])
    assert model.schema_["x"].values == ("a", "aa", "b", "c")
    assert model.forget(pd.DataFrame({"x": ["aa"]}), ["no"]).schema_["x"].values == ("c", "a", "b")


@pytest.mark.parametrize("types", [None, {"x": "ordinal"}])
@pytest.mark.parametrize("other", [["high", "low"], ["low", "mid", "high"]])
def test_ordered_categories_that_differ_are_refused(other, types):
    one, two = (
        frame_of(["low", "high"], ["low", "high"], ordered=True),
        frame_of(["low", "high"], other, ordered=True),
    )
    for a, b in ((one, two), (two, one)):
        with pytest.raises(SchemaError, match="are ordered"):
            NaiveBayesClassifier(types=types).partial_fit(a, ["no", "yes"]).partial_fit(b, ["no", "yes"])
        models = [NaiveBayesClassifier(types=types).fit(piece, ["no", "yes"]) for piece in (a, b)]
        with pytest.raises(SchemaError, match="are ordered"):
            models[0] + models[1]


def test_numbers_of_a_nominal_column_are_of_one_type_in_any_order():
    types = {"x": "nominal"}
    pieces = [{"x": [1, 2]}, {"x": [1.5, None]}]
    for order in (pieces, pieces[::-1]):
        model = NaiveBayesClassifier(types=types)
        for piece in order:
            model.partial_fit(piece, ["no", "yes"])
        assert str(model.schema_["x"].values) == "(1.0, 1.5, 2.0)"
        assert str(model.forget(pieces[1], ["no", "yes"]).schema_["x"].values) == "(1, 2)"


def test_a_column_that_the_first_rows_did_not_have_is_refused():
    one, two = [{"a": "u"}, {"a": "v"}], [{"a": "u", "b": "p"}, {"a": "v", "b": "q"}]
    for make in (list, pd.DataFrame):
        model = NaiveBayesClassifier().partial_fit(make(one), ["no", "yes"])
        with pytest.raises(TableError, match="The model has no column 'b'"):
            model.partial_fit(make(two), ["no", "yes"])
    with pytest.raises(TableError, match="no column 'b'"):
        NaiveBayesClassifier().partial_fit(pd.DataFrame(two), ["no", "yes"]).partial_fit(
            pd.DataFrame(one), ["no", "yes"]
        )


def test_classes_of_pieces_have_a_dtype_that_holds_them_all():
    model = NaiveBayesClassifier().partial_fit(X[:2], np.array([1, 2], dtype=np.int8))
    model.partial_fit(X[:2], np.array([300, 2]))
    assert model.classes_.tolist() == [1, 2, 300]
    assert model.predict(X).dtype == np.int64


@pytest.mark.parametrize(
    "classes",
    [["yes", "no", "maybe"], ("no", "no", "yes", "maybe"), {"no", "maybe", "yes"}, np.array(["yes", "no", "maybe"]),
     pd.Index(["yes", "no", "maybe"]), pd.Series(["no", None, "yes", "maybe"]),
     pd.Categorical(["yes", "no", "maybe"], categories=["yes", "no", "maybe", "never"])],
)  # fmt: skip
def test_classes_are_announced_in_any_container(classes):
    model = NaiveBayesClassifier().partial_fit(X, Y, classes=classes)
    assert model.classes_.tolist() == ["maybe", "no", "yes"]


def test_classes_that_floats_cannot_represent_stay_integers(tmp_path):
    large = 2**60 + 1
    model = NaiveBayesClassifier().fit({"a": [1.0, 2.0]}, [large, large])
    model.partial_fit({"a": [3.0, 4.0]}, [2.0, 1.0])
    assert model.classes_.tolist() == [1, 2, large]
    countwise.save(model, tmp_path / "m.json")
    assert countwise.load(tmp_path / "m.json").classes_.tolist() == [1, 2, large]

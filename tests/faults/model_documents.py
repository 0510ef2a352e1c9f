"""Fitted models of every type, their documents, and changes of a document that keep its checksum right."""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import countwise as cw
from countwise.errors import CountwiseWarning
from countwise.jsonfile import enveloped

__all__ = ["MODELS", "changed", "check_answers", "content_of", "paths", "rows", "write"]


@cache
def _table() -> tuple[dict[str, Any], Any, Any]:
    rng = np.random.default_rng(7)
    n = 36
    x = rng.normal(size=n)
    z = x + rng.normal(size=n)
    z[::7] = np.nan
    b = np.array([None if i % 11 == 5 else "uvw"[int(v)] for i, v in enumerate(rng.integers(0, 3, n))], dtype=object)
    k = rng.poisson(3, n)
    y = np.where(x + (b == "u") > 0.3, "p", np.where(z > 0.5, "r", "q")).astype(object)
    return {"x": x, "z": z, "b": b, "k": k}, y, 2.0 * x + (b == "v")


def rows() -> dict[str, Any]:
    """Return rows to predict, with missing and new values."""
    X, _, _ = _table()
    some = {name: column[:9].copy() for name, column in X.items()}
    some["b"][0], some["x"][1], some["x"][2] = "new", np.nan, 1e6
    return some


def _fit(make: Callable[[], Any], *columns: str, numeric: bool = False) -> Callable[[], Any]:
    def fitted() -> Any:
        X, y, numbers = _table()
        table = {name: X[name] for name in columns or X}
        return make().fit(table, numbers if numeric else y)

    return fitted


def _with_text() -> Any:
    X, y, _ = _table()
    words = np.array(["send money now", "see you", "you send", "", "now now"], dtype=object)
    return cw.NaiveBayesClassifier(types={"t": "text"}).fit({"x": X["x"], "t": np.resize(words, 36)}, y)


def _network() -> Any:
    X, y, _ = _table()
    return cw.BayesNetwork("hill_climb").fit({"b": X["b"], "y": y, "x": X["x"]})


def _by_hand() -> Any:
    net = cw.BayesNetwork().add_node("rain", ["no", "yes"], [0.8, 0.2]).add_arc("rain", "wet")
    return net.set_cpt("wet", {"no": {"no": 0.9, "yes": 0.1}, "yes": {"no": 0.2, "yes": 0.8}})


MODELS: dict[str, Callable[[], Any]] = {
    "naive Bayes": _fit(cw.NaiveBayesClassifier),
    "naive Bayes, kernel": _fit(lambda: cw.NaiveBayesClassifier("kernel")),
    "naive Bayes, auto": _fit(lambda: cw.NaiveBayesClassifier("auto")),
    "naive Bayes, binned and Poisson": _fit(
        lambda: cw.NaiveBayesClassifier({"x": "binned", "z": "gaussian", "b": "categorical", "k": "poisson"})
    ),
    "naive Bayes, text": _with_text,
    "discriminant": _fit(lambda: cw.DiscriminantClassifier(nominal="onehot"), "x", "z", "b"),
    "discriminant, own": _fit(lambda: cw.DiscriminantClassifier("own", shrinkage="auto"), "x", "k"),
    "parzen": _fit(cw.ParzenClassifier, "x", "z", "b"),
    "parzen density": lambda: cw.ParzenDensity().fit({"x": _table()[0]["x"], "b": _table()[0]["b"]}),
    "prototype": _fit(cw.PrototypeClassifier),
    "tree": _fit(lambda: cw.TreeClassifier(max_depth=4)),
    "tree, branches": _fit(
        lambda: cw.TreeClassifier("gain_ratio", missing="branch", pruning="cost_complexity", ccp_alpha=0.02)
    ),
    "regression tree": _fit(lambda: cw.TreeRegressor(max_depth=3), numeric=True),
    "rules": _fit(lambda: cw.RuleClassifier("c45")),
    "neighbors": _fit(lambda: cw.NeighborsClassifier(3)),
    "neighbors, regression": _fit(lambda: cw.NeighborsRegressor(3), numeric=True),
    "PEBLS": _fit(cw.PEBLSClassifier),
    "rote": _fit(cw.RoteClassifier, "b", "k"),
    "network classifier": _fit(lambda: cw.BayesNetworkClassifier("tan"), "b", "k", "x"),
    "network": _network,
    "network by hand": _by_hand,
}


@cache
def _saved(name: str) -> str:
    import tempfile

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        place = Path(folder) / "m.json"
        cw.save(MODELS[name](), place)
        return json.dumps(json.loads(place.read_text(encoding="utf-8"))["model"])


def content_of(name: str) -> Any:
    """Return a copy of the content of the file of a model."""
    return json.loads(_saved(name))


def write(place: Path, content: Any) -> Path:
    """Write a content with a right checksum; NaN and Infinity are written as Python writes them."""
    place.write_bytes(enveloped(json.dumps(content, separators=(",", ":"))))
    return place


def paths(content: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each part of a content."""
    yield at
    inner = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, part in inner:
        yield from paths(part, (*at, key))


def changed(content: Any, path: tuple[Any, ...], change: Callable[[Any], Any]) -> Any:
    """Return a copy of a content with one part changed."""
    whole = [copy.deepcopy(content)]
    holder: Any = whole
    for key in (0, *path)[:-1]:
        holder = holder[key]
    last = (0, *path)[-1]
    holder[last] = change(holder[last])
    return whole[0]


def check_answers(model: Any) -> None:
    """Assert that the answers of a model satisfy the invariants, without a foreign error or warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", CountwiseWarning)
        if not hasattr(model, "predict"):
            _check_distribution(model)
            return
        some = {name: column for name, column in rows().items() if name in model.schema_}
        if "t" in model.schema_:
            some["t"] = np.resize(np.array(["send now", "other", None], dtype=object), 9)
        if hasattr(model, "predict_proba"):
            P = model.predict_proba(some)
            assert np.isfinite(P).all(), P
            assert P.min() >= 0, P
            assert P.max() <= 1, P
            assert np.abs(P.sum(axis=1) - 1).max() < 1e-9, P
        answers = model.predict(some)
        assert len(answers) == 9
        if answers.dtype.kind == "f":
            assert np.isfinite(answers).all()
        working = model.explain(some)
        for shown in (str(working), working.latex(), working._repr_html_(), model.summary(), model.tables()):
            assert shown


def _check_distribution(model: Any) -> None:
    if not hasattr(model, "marginals"):
        scores = model.score_samples({name: rows()[name] for name in model.schema_})
        assert not (np.isnan(scores) | (scores == np.inf)).any(), scores
        return
    for result in model.marginals({}).values():
        values = np.array(list(result.values()) if hasattr(result, "values") else [1.0])
        assert values.min() >= 0, result
        assert abs(values.sum() - 1) < 1e-9, result

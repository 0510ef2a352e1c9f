"""Settings and arguments of any type: an answer, or an error of this package that says what would be right."""

from __future__ import annotations

import copy
import datetime
import decimal
import inspect
import traceback
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import countwise
from countwise import NaiveBayesClassifier, TreeClassifier, evaluation, feature_selection
from countwise.base.protocol import _defaults
from countwise.errors import CountwiseError, CountwiseWarning
from countwise.neighbors import DistanceMetric

HOSTILE = (
    None, float("nan"), float("inf"), -1, 2.5, 10**30, "", "foo", b"x", True, [], {}, [1], {"n": "foo"}, (1, "a"),
    np.array([1, 2]), np.array([]), np.int64(3), np.float32(0.5), np.bool_(True), np.str_("foo"), object(),
    datetime.date(2020, 1, 1), decimal.Decimal("1.5"), pd.DataFrame(), 1j, [[1]],
)  # fmt: skip
N = 24


@cache
def tables() -> tuple[pd.DataFrame, Any, Any]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"n": rng.normal(size=N).round(2), "c": rng.integers(0, 5, N), "a": rng.choice(list("uvw"), N)})
    return X, np.where(X["n"] + rng.normal(size=N) > 0, "yes", "no"), X["n"] * 2 + rng.normal(size=N)


def data_for(name: str) -> tuple[Any, Any]:
    X, y, t = tables()
    return (X[["n", "c"]], y) if "Discriminant" in name else (X, t) if "Regressor" in name else (X, y)


def estimators() -> list[type]:
    public = [getattr(countwise, name) for name in countwise.__all__]
    return [one for one in public if isinstance(one, type) and hasattr(one, "fit")] + [DistanceMetric]


def fitted(cls: type) -> Any:
    X, y = data_for(cls.__name__)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = cls()
        return (
            model.fit(X) if cls.__name__ in ("BayesNetwork", "ParzenDensity", "DistanceMetric") else model.fit(X, y)
        )


def odd(label: str, call: Callable[[], Any]) -> list[str]:
    """What is wrong with a call: an exception of another library, or one of its warnings."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            call()
        except (CountwiseError, NotFittedError):
            pass
        except Exception as error:
            inside = [line for line in traceback.extract_tb(error.__traceback__) if "/countwise/" in line.filename]
            if inside or not isinstance(error, TypeError):  # Python itself refuses a wrong signature
                at = f"{inside[-1].filename}:{inside[-1].lineno}" if inside else "outside"
                return [f"{label}: {type(error).__name__}: {str(error)[:100]} ({at})"]
    foreign = [one for one in warned if not issubclass(one.category, CountwiseWarning)]
    return [f"{label}: warning {one.message} ({one.filename}:{one.lineno})" for one in foreign]


def shown(value: Any) -> str:
    return " ".join(repr(value).split())[:40]


def used(model: Any, X: Any, y: Any) -> None:
    name = type(model).__name__
    model.fit(X) if name in ("BayesNetwork", "ParzenDensity", "DistanceMetric") else model.fit(X, y)
    for method in ("predict", "predict_proba", "transform", "score_samples", "summary"):
        if hasattr(model, method):
            getattr(model, method)(*([] if method == "summary" else [X[:3]]))


@pytest.mark.parametrize("cls", estimators(), ids=lambda cls: cls.__name__)
def test_a_setting_of_any_type_is_used_or_refused_in_words(cls: type) -> None:
    X, y = data_for(cls.__name__)
    wrong: list[str] = []
    for name in _defaults(cls):
        for value in HOSTILE:
            wrong += odd(
                f"{cls.__name__}({name}={shown(value)})",
                lambda name=name, value=value: used(cls(**{name: value}), X, y),
            )
    assert not wrong, "\n".join(wrong)


USUAL: dict[str, Any] = {
    "row": 0, "table": "t", "name": "n", "cls": "yes", "of": "n", "node": "a", "nodes": ["a"], "given": {"a": "u"},
    "evidence": {"a": "u"}, "parent": "a", "child": "c", "a": "a", "b": "c", "path": "hostile.tmp", "column": "n",
    "first": "a", "second": "c",
}  # fmt: skip
CHANGING = {"fit", "partial_fit", "forget", "add_arc", "remove_arc", "add_node", "set_cpt", "fit_transform",
            "fit_resample"}  # fmt: skip
OF_SKLEARN = {"set_params", "set_fit_request", "set_score_request", "set_partial_fit_request", "get_metadata_routing",
              "set_output"}  # fmt: skip


@pytest.mark.parametrize("cls", estimators(), ids=lambda cls: cls.__name__)
def test_an_argument_of_any_type_is_used_or_refused_in_words(
    cls: type, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    X, y = data_for(cls.__name__)
    model, wrong = fitted(cls), list[str]()
    usual = {**USUAL, "X": X[:5], "y": y[:5], "Y": X[:3]}
    for name, method in inspect.getmembers(cls, inspect.isfunction):
        if name.startswith("_") or name in OF_SKLEARN:
            continue
        named = [p for p in list(inspect.signature(method).parameters.values())[1:] if p.kind not in (2, 4)]
        given = {p.name: usual[p.name] for p in named if p.default is p.empty and p.name in usual}

        def call(changed: dict[str, Any], name: str = name, given: dict[str, Any] = given) -> None:
            owner = copy.deepcopy(model) if name in CHANGING else model
            getattr(owner, name)(**{**given, **changed})

        label = f"{cls.__name__}.{name}"
        wrong += odd(f"{label} before fit", lambda name=name, given=given: getattr(cls(), name)(**given))
        for p in named:
            for value in HOSTILE:
                wrong += odd(
                    f"{label}({p.name}={shown(value)})", lambda p=p, value=value, call=call: call({p.name: value})
                )
    assert not wrong, "\n".join(wrong)


def shown_table(
    X: Any, y: Any, column: Any, sample_weight: Any = None, missing: Any = "ignore", numeric: Any = None,
    nominal: Any = "nominal", ordinal: Any = "nominal", types: Any = None,
) -> str:  # fmt: skip
    return str(
        feature_selection.contingency_table(
            X, y, column=column, sample_weight=sample_weight, missing=missing, numeric=numeric, nominal=nominal,
            ordinal=ordinal, types=types,
        )
    )  # fmt: skip


def functions() -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    X, y, _ = tables()
    model, tree = NaiveBayesClassifier(), TreeClassifier()
    rows = {"X": X, "y": y}
    return {
        "cross_validate": (countwise.cross_validate, {"estimator": model, **rows, "cv": 2}),
        "leave_one_out": (countwise.leave_one_out, {"estimator": model, **rows}),
        "learning_curve": (countwise.learning_curve, {"estimator": model, **rows, "cv": 2, "train_sizes": [10]}),
        "validation_curve": (
            countwise.validation_curve,
            {"estimator": tree, **rows, "param_name": "max_depth", "param_range": [1, 2], "cv": 2},
        ),
        "compare": (countwise.compare, {**rows, "only": ["naive Bayes"], "cv": 2, "curve": False}),
        "decide": (evaluation.decide, {"estimator": fitted(NaiveBayesClassifier), "X": X}),
        "cost_threshold": (evaluation.cost_threshold, {"cost": {"fn": 1, "fp": 1}}),
        "pairwise_scores": (feature_selection.pairwise_scores, {"X": X}),
        "attribute_scores": (feature_selection.attribute_scores, rows),
        "contingency_table": (shown_table, {**rows, "column": "n"}),
        "ContingencyTable": (feature_selection.ContingencyTable, {"counts": [[1, 2], [3, 4]]}),
        "ContingencyTable.text": (feature_selection.ContingencyTable([[1, 2], [3, 4]]).text, {}),
        "ContingencyTable.latex": (feature_selection.ContingencyTable([[1, 2], [3, 4]]).latex, {}),
        "threshold_gains": (feature_selection.threshold_gains, {**rows, "column": "n"}),
        "Discretizer.explain": (countwise.Discretizer("equal_width", columns=["n"]).fit(X).explain, {"name": "n"}),
        "HistogramDisplay": (countwise.plots.HistogramDisplay, {"values": {"a": [1.0, 2.0]}, "edges": [1.5]}),
        "plot_threshold_gains": (
            countwise.plots.plot_threshold_gains,
            {"gains": feature_selection.threshold_gains(X, y, column="n")},
        ),
        "save": (countwise.save, {"model": fitted(NaiveBayesClassifier), "path": "m.json"}),
        "load": (countwise.load, {"path": "m.json"}),
        "samples.load": (countwise.samples.load, {"name": "weather"}),
        **{
            name: (getattr(countwise, name), {"name": "a"})
            for name in ("Nominal", "Ordinal", "Numeric", "Count", "Text")
        },
        **{
            name: (getattr(countwise, name), {})
            for name in ("Auto", "Bernoulli", "Binned", "Categorical", "Gaussian", "Kernel", "MEstimate",
                         "Multinomial", "Poisson", "Schema")
        },
    }  # fmt: skip


@pytest.mark.parametrize("name", list(functions()))
def test_a_function_uses_or_refuses_an_argument_of_any_type(
    name: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    call, given = functions()[name]
    wrong: list[str] = []
    for p in inspect.signature(call).parameters.values():
        if p.kind not in (2, 4):
            for value in HOSTILE:
                wrong += odd(
                    f"{name}({p.name}={shown(value)})", lambda p=p, value=value: call(**{**given, p.name: value})
                )
    assert not wrong, "\n".join(wrong)

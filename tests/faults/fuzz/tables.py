"""Tables x learners x methods."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

from sklearn.base import clone

import countwise as cw

from ...strategies.containers import FAITHFUL, contained
from ...strategies.draw import Draw
from ...strategies.settings import CLASSIFIERS, LEARNERS, REGRESSORS, settings, silly
from ...strategies.tables import Table, target, weights
from .guard import Guard
from .invariants import check_answers, check_explanation, check_interval, same_answers, same_numbers, snapshot

__all__ = ["case"]


def case(draw: Draw, guard: Guard) -> None:
    how = draw.below(20)
    if how == 19:
        containers_agree(draw, guard)
    elif how == 18:
        evaluate(draw, guard)
    else:
        one_model(draw, guard)


def one_model(draw: Draw, guard: Guard) -> None:
    """Fit a model and call some of its methods."""
    cls = draw.pick(LEARNERS)
    table = Table.drawn(draw)
    chosen = settings(draw, cls, table.names)
    made = guard(f"model = {cls.__name__}(**{chosen!r})", lambda: cls(**chosen))
    if not made.ok:
        return
    model = made.value
    if draw.chance(4):
        unfitted(draw, guard, model, table)
    if not fitted(draw, guard, model, table, first=True):
        return
    for _ in range(draw.integer(2, 6)):
        step(draw, guard, model, table)


def fitted(draw: Draw, guard: Guard, model: Any, table: Table, *, first: bool = False) -> bool:
    """Fit, partial_fit or forget rows; a refusal must leave the model as it was."""
    methods = ["fit", "partial_fit"] if first else ["partial_fit", "forget", "fit"]
    method = draw.pick([name for name in methods if hasattr(model, name)])
    shown, X = table.given(draw)
    shown_y, y = target(draw, table.rows, numeric=type(model) in REGRESSORS)
    shown_w, w = weights(draw, table.rows)
    if draw.chance(5):
        shown_y, y = draw.pick([("None", None), ("'a'", "a"), ("'no such column'", "no such column"), ("5", 5)])
    before = None if first else snapshot(model)
    arguments = {"sample_weight": w} if w is not None else {}
    answer = guard(
        f"model.{method}({shown}, y={shown_y}, sample_weight={shown_w})",
        lambda: getattr(model, method)(X, y, **arguments),
        also=(TypeError,) if w is not None and _takes_no_weights(model) else (),
    )
    if before is not None and not answer.ok:
        guard.holds(before == snapshot(model), f"{method} of {type(model).__name__}: a refusal changes the model", "")
    return answer.ok


def _takes_no_weights(model: Any) -> bool:
    import inspect

    return "sample_weight" not in inspect.signature(model.fit).parameters


def unfitted(draw: Draw, guard: Guard, model: Any, table: Table) -> None:
    shown, X = table.given(draw)
    for name in ("predict", "predict_proba", "transform", "summary", "score_samples", "tables", "to_sql", "explain"):
        if hasattr(type(model), name):
            alone = name in ("summary", "tables") or (name == "explain" and isinstance(model, cw.FilterSelector))
            arguments = () if alone else ("t",) if name == "to_sql" else (X,)
            guard(f"model.{name}() before fit: {shown}", lambda n=name, a=arguments: getattr(model, n)(*a))


def step(draw: Draw, guard: Guard, model: Any, table: Table) -> None:
    """One more thing to do with a fitted model."""
    actions: list[Callable[..., None]] = [answers, explained, stored, words, more_rows, odd_calls, added, own_methods]
    draw.pick(actions)(draw, guard, model, table)


def answers(draw: Draw, guard: Guard, model: Any, table: Table) -> None:
    """Every prediction of the model for other rows."""
    asked = table.again(draw)
    shown, X = asked.given(draw)
    check_answers(guard, model, X, shown)
    if draw.chance(30) and hasattr(model, "predict_frame"):
        guard(f"model.predict_frame({shown})", lambda: model.predict_frame(X))
    if draw.chance(30) and hasattr(model, "score"):
        shown_y, y = target(draw, asked.rows, numeric=type(model) in REGRESSORS)
        guard(f"model.score({shown}, {shown_y})", lambda: model.score(X, y))
    if draw.chance(30) and hasattr(model, "predict_interval"):
        check_interval(guard, model, X, shown)
    if hasattr(model, "transform"):
        transformed(draw, guard, model, X, shown)


def transformed(draw: Draw, guard: Guard, model: Any, X: Any, shown: str) -> None:
    if draw.chance(20):
        kind = draw.pick(["pandas", "polars", "default", "x"])
        guard(f"model.set_output(transform={kind!r})", lambda: model.set_output(transform=kind))
    found = guard(f"model.transform({shown})", lambda: model.transform(X))
    guard("model.get_feature_names_out()", lambda: model.get_feature_names_out())
    if found.ok and hasattr(model, "inverse_transform"):
        guard("model.inverse_transform(of it)", lambda: model.inverse_transform(found.value))


def explained(draw: Draw, guard: Guard, model: Any, table: Table) -> None:
    if not hasattr(model, "explain") or isinstance(model, cw.BayesNetwork):
        return
    if isinstance(model, cw.FilterSelector):
        guard("model.explain()", lambda: model.explain())
        return
    if isinstance(model, cw.Discretizer):
        column = draw.pick([*table.names, "", 0, None])
        guard(f"model.explain({column!r})", lambda: model.explain(column))
        return
    asked = table.again(draw)
    shown, X = asked.given(draw)
    check_explanation(guard, model, X, shown, draw.often(10, [0], [0, 1, -1, 99, 0.5, "0", None]))


def stored(draw: Draw, guard: Guard, model: Any, table: Table) -> None:
    """A copy by file, pickle or clone is the same model."""
    asked = table.again(draw)
    X = contained(draw, FAITHFUL[0], asked.names, asked.columns)
    how = draw.below(3)
    if how == 0:
        if guard("countwise.save(model, 'm.json')", lambda: cw.save(model, "m.json")).ok:
            again = guard("countwise.load('m.json')", lambda: cw.load("m.json"))
            guard.holds(again.ok, f"saved, but does not load: {type(model).__name__}", str(again.error))
            if again.ok:
                same_answers(guard, model, again.value, X, "after save and load")
    elif how == 1:
        again = guard(
            "pickle",
            lambda: pickle.loads(pickle.dumps(model)),
            also=(pickle.PicklingError, AttributeError, TypeError),
        )
        if again.ok:
            same_answers(guard, model, again.value, X, "after pickle")
    else:
        again = guard("clone(model)", lambda: clone(model), also=(RuntimeError, TypeError))
        if again.ok:
            old, new = repr(model.get_params()), repr(again.value.get_params())
            guard.holds(old == new or " at 0x" in old, "clone changes a parameter", f"{old} {new}")


def words(draw: Draw, guard: Guard, model: Any, table: Table) -> None:
    """Texts about the model."""
    guard("repr, str", lambda: (repr(model), str(model), model._repr_html_() if hasattr(model, "_repr_html_") else 0))
    for name in (
        "summary",
        "tables",
        "table_titles",
        "rules",
        "missing_report",
        "logistic_form",
        "importances",
        "draw",
    ):
        method = getattr(type(model), name, None)
        if callable(method):
            found = guard(f"model.{name}()", lambda n=name: getattr(model, n)())
            if found.ok:
                guard(
                    f"str(model.{name}())",
                    lambda v=found.value: [str(x) for x in (v.values() if isinstance(v, dict) else [v])],
                )
    if hasattr(model, "to_sql"):
        dialect = draw.often(5, ["duckdb", "sqlite", "postgres", "spark"], ["mysql", None])
        guard(f"model.to_sql('t', {dialect!r})", lambda: model.to_sql("t", dialect))


def more_rows(draw: Draw, guard: Guard, model: Any, table: Table) -> None:
    """partial_fit, forget or another fit."""
    if hasattr(model, "partial_fit"):
        fitted(draw, guard, model, table.again(draw) if draw.chance(60) else table)


def odd_calls(draw: Draw, guard: Guard, model: Any, table: Table) -> None:
    """Settings that are wrong, and rows that are none."""
    name = draw.pick([*model.get_params(deep=False), "no_such_setting"])
    value = silly(draw)
    before = model.get_params(deep=False).get(name)
    done = guard(f"model.set_params({name}={value!r})", lambda: model.set_params(**{name: value}))
    if done.ok and hasattr(model, "predict"):
        shown, X = table.again(draw).given(draw)
        guard(f"model.predict({shown})", lambda: model.predict(X))
    if done.ok:
        model.set_params(**{name: before})


def added(draw: Draw, guard: Guard, model: Any, table: Table) -> None:
    """The sum of two models."""
    if not hasattr(type(model), "__add__"):
        return
    other = clone(model)
    if fitted(draw, guard, other, table.again(draw), first=True):
        left = snapshot(model)
        total = guard("model + other", lambda: model + other)
        guard.holds(left == snapshot(model), f"+ changes {type(model).__name__}", "")
        if total.ok:
            X = contained(draw, FAITHFUL[0], table.names, table.columns)
            check_answers(guard, total.value, X, f"sum: {table}")


def own_methods(draw: Draw, guard: Guard, model: Any, table: Table) -> None:
    """Methods that only some models have."""
    asked = table.again(draw)
    shown, X = asked.given(draw)
    column = draw.often(8, table.names or ["a"], ["no such column", 5, None])
    of_rows = ["contributions", "predict_joint_log_proba", "apply", "decides", "coverage", "matches", "distances",
               "kneighbors", "radius_neighbors", "score_samples", "transform_frame", "fit_resample"]  # fmt: skip
    of_column = ["table", "cpt", "centers", "report", "markov_blanket", "query"]
    alone = ["marginals", "most_probable_explanation", "sample", "get_depth", "get_n_leaves", "bandwidth_curve",
             "get_support", "to_networkx", "feature_importances_"]  # fmt: skip
    has = [name for name in (*of_rows, *of_column, *alone) if hasattr(type(model), name)]
    for name in draw.some(has, 60):
        if name in of_rows:
            more = (table.columns[0],) if name == "fit_resample" and table.columns else ()
            guard(
                f"model.{name}({shown})",
                lambda n=name, m=more: getattr(model, n)(X, *m),
                also=(AttributeError,) if name == "kneighbors" else (),
            )
        elif name in of_column:
            guard(f"model.{name}({column!r})", lambda n=name: getattr(model, n)(column))
        else:
            guard(
                f"model.{name}()",
                lambda n=name: getattr(model, n)() if n != "feature_importances_" else getattr(model, n),
            )


def containers_agree(draw: Draw, guard: Guard) -> None:
    """The same plain cells in two containers: the same answers."""
    cls = draw.pick(CLASSIFIERS)
    table = Table.drawn(draw, plain=True)
    y = [draw.pick(["p", "q"]) for _ in range(table.rows)]
    first, second = draw.pick(FAITHFUL), draw.pick(FAITHFUL)
    found = []
    for make in (first, second):
        X = contained(draw, make, table.names, table.columns)
        fit = guard(f"{cls.__name__}().fit({make.__name__} {table}, {y})", lambda X=X: cls().fit(X, y))
        if fit.ok:
            answer = guard(f"predict_proba({make.__name__})", lambda m=fit.value, X=X: m.predict_proba(X))
            if answer.ok:
                found.append(answer.value)
    if len(found) == 2:
        names = " and ".join(sorted({first.__name__, second.__name__}))
        guard.holds(
            same_numbers(*found), f"{cls.__name__}: {names} differ", f"{found[0].tolist()} {found[1].tolist()}"[:300]
        )


def evaluate(draw: Draw, guard: Guard) -> None:
    """Evaluators on small tables."""
    table = Table.drawn(draw, most=16)
    shown, X = table.given(draw)
    cls = draw.pick([*CLASSIFIERS, *REGRESSORS])
    shown_y, y = target(draw, table.rows, numeric=cls in REGRESSORS)
    shown_w, w = weights(draw, table.rows)
    chosen = settings(draw, cls, table.names, 5)
    name = draw.pick(["cross_validate", "leave_one_out", "learning_curve", "compare", "validation_curve"])
    scoring = draw.often(
        10, [None, "accuracy", "log_loss", "brier", "roc_auc", "r2"], ["x", 5, ["accuracy", "log_loss"]]
    )
    more: dict[str, Any] = {} if scoring is None else {"score" if name == "compare" else "scoring": scoring}
    if name != "leave_one_out":
        more["cv"] = draw.often(10, [2, 3], [1, 0, "loo", None, 100, -1])
    if w is not None and name != "validation_curve":
        more["sample_weight"] = w
    text = f"{name}({cls.__name__}(**{chosen!r}), {shown}, {shown_y}, **{more!r}, w={shown_w})"
    if name == "compare":
        only = draw.pick(["naive Bayes", "C4.5 tree", "LDA", "one rule", "prototype", "x"])
        found = guard(text, lambda: cw.compare(X, y, only=[only, "rote"], curve=False, **more))
    else:
        found = guard(text, lambda: getattr(cw, name)(cls(**chosen), X, y, **more))
    if found.ok:
        guard("str(of it)", lambda: str(found.value))

"""Model files: documents of every kind of model that are changed, with a corrected checksum, and damaged bytes."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from sklearn.base import clone

import countwise as cw
from countwise.cases import Case
from countwise.jsonfile import enveloped

from ...strategies.bytes import damaged
from ...strategies.documents import mutated
from ...strategies.draw import Draw
from .guard import Guard
from .invariants import check_answers, check_explanation

__all__ = ["ASIA", "case"]

ASIA = Path(__file__).parents[2] / "data" / "asia.bif"


_CLASSIFIERS = (
    cw.NaiveBayesClassifier(),
    cw.NaiveBayesClassifier("kernel", smoothing=cw.MEstimate(2.0)),
    cw.NaiveBayesClassifier("auto"),
    cw.NaiveBayesClassifier("mdl"),
    cw.DiscriminantClassifier(nominal="onehot"),
    cw.DiscriminantClassifier("own", shrinkage="auto", nominal="onehot"),
    cw.ParzenClassifier(),
    cw.PrototypeClassifier(),
    cw.TreeClassifier(),
    cw.TreeClassifier("gain_ratio", missing="branch", pruning="pessimistic"),
    cw.RuleClassifier(),
    cw.NeighborsClassifier(3),
    cw.PEBLSClassifier(),
    cw.RoteClassifier(),
    cw.BayesNetworkClassifier("tan"),
    cw.BayesNetworkClassifier("naive"),
)
_OTHERS = (cw.TreeRegressor(), cw.NeighborsRegressor(2), cw.ParzenDensity(), cw.BayesNetwork(), cw.CaseBase())


@cache
def sound(which: int) -> tuple[str, bytes, Any]:
    """The file of a model on a small sample, with rows to predict."""
    model: Any = (*_CLASSIFIERS, *_CLASSIFIERS, *_OTHERS)[which]
    weather = cw.samples.load("weather").frame
    rows = {name: column for name, column in weather.items() if name != "temperature"}
    if which < len(_CLASSIFIERS):
        return repr(model), _bytes(clone(model).fit(weather, "play")), weather
    if which < 2 * len(_CLASSIFIERS):
        few = {name: column[::12] for name, column in cw.samples.load("penguins").frame.items()}
        return repr(model), _bytes(clone(model).fit(few, "species")), few
    if isinstance(model, cw.BayesNetwork):
        return repr(model), _bytes(cw.BayesNetwork.read_bif(ASIA)), {"smoke": ["yes", "no"], "bronc": ["no", None]}
    if isinstance(model, cw.CaseBase):
        base = cw.CaseBase([Case({"n": 1, "s": {1, "a"}}, 10, "a"), Case({"n": 2.5, "s": set()}, 20, 7)])
        return "CaseBase", _bytes(base), {"n": 2}
    return repr(model), _bytes(clone(model).fit(rows, weather["temperature"])), rows


def _bytes(model: Any) -> bytes:
    path = Path("sound.json")
    model.save(path) if isinstance(model, cw.CaseBase) else cw.save(model, path)
    return path.read_bytes()


def case(draw: Draw, guard: Guard) -> None:
    name, raw, rows = sound(draw.below(2 * len(_CLASSIFIERS) + len(_OTHERS)))
    if draw.chance(25):
        done, raw = "bytes", damaged(draw, raw)
    else:
        done, document = mutated(draw, json.loads(raw)["model"])
        raw = enveloped(json.dumps(document).replace("Infinity", "1e999"))
    path = Path("m.json")
    path.write_bytes(raw)
    load = cw.CaseBase.load if name == "CaseBase" else cw.load
    found = guard(f"load({name}; {done})", lambda: load(path))
    if not found.ok:
        return
    model = found.value
    if isinstance(model, cw.CaseBase):
        guard("solve", lambda: str(model.solve(rows)))
        guard("save", lambda: model.save("again.json"))
        return
    use(draw, guard, model, rows, done)


def use(draw: Draw, guard: Guard, model: Any, rows: Any, done: str) -> None:
    """A model that loads is a model: it answers, explains, describes itself and can be saved."""
    check_answers(guard, model, rows, done)
    if not isinstance(model, cw.BayesNetwork):
        check_explanation(guard, model, rows, done, 0)
    guard(
        f"summary ({done})", lambda: (model.summary(), [str(grid) for grid in model.tables().values()], repr(model))
    )
    if guard(f"save ({done})", lambda: cw.save(model, "again.json")).ok:
        again = guard("load again", lambda: cw.load("again.json"))
        guard.holds(again.ok, f"saved, but does not load: {type(model).__name__}", f"{done} {again.error}")
    if hasattr(model, "to_sql") and draw.chance(30):
        guard(f"to_sql ({done})", lambda: model.to_sql("t"))

"""Bayesian networks against pyAgrum and pgmpy, on a network of ALARM's shape with random tables.

Each competitor runs in a process of its own: some change the threads of others that are imported beside them.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from harness import Report, Row, timed

ROWS, PARENTS = 100_000, 3
Codes = dict[str, np.ndarray]

# The nodes of ALARM (Beinlich, Suermondt, Chavez and Cooper, 1989): how many values each has, and its parents.
ALARM = {
    "hypovolemia": (2, ""), "lvfailure": (2, ""), "history": (2, "lvfailure"),
    "lvedvolume": (3, "hypovolemia lvfailure"), "cvp": (3, "lvedvolume"), "pcwp": (3, "lvedvolume"),
    "strokevolume": (3, "hypovolemia lvfailure"), "errlowoutput": (2, ""), "errcauter": (2, ""),
    "insuffanesth": (2, ""), "anaphylaxis": (2, ""), "tpr": (3, "anaphylaxis"), "kinkedtube": (2, ""),
    "fio2": (2, ""), "pulmembolus": (2, ""), "pap": (3, "pulmembolus"), "intubation": (3, ""),
    "shunt": (2, "intubation pulmembolus"), "disconnect": (2, ""), "minvolset": (3, ""),
    "ventmach": (4, "minvolset"), "venttube": (4, "disconnect ventmach"),
    "press": (4, "intubation kinkedtube venttube"), "ventlung": (4, "intubation kinkedtube venttube"),
    "minvol": (4, "intubation ventlung"), "ventalv": (4, "intubation ventlung"), "artco2": (3, "ventalv"),
    "expco2": (4, "artco2 ventlung"), "pvsat": (3, "fio2 ventalv"), "sao2": (3, "pvsat shunt"),
    "catechol": (2, "artco2 insuffanesth sao2 tpr"), "hr": (3, "catechol"), "hrbp": (3, "errlowoutput hr"),
    "hrekg": (3, "errcauter hr"), "hrsat": (3, "errcauter hr"), "co": (3, "hr strokevolume"), "bp": (3, "co tpr"),
}  # fmt: skip
SIZES = {name: size for name, (size, _) in ALARM.items()}
ABOVE = {name: tuple(parents.split()) for name, (_, parents) in ALARM.items()}
KNOWN = {"hrbp": 2, "press": 1, "expco2": 3, "bp": 0, "pap": 1}


def tables(seed: int = 0) -> dict[str, np.ndarray]:
    """P(node | parents), drawn evenly from all laws."""
    rng = np.random.default_rng(seed)
    return {v: rng.dirichlet(np.full(SIZES[v], 0.7), size=[SIZES[p] for p in ABOVE[v]]) for v in ALARM}


def drawn(seed: int = 0, rows: int = ROWS) -> Codes:
    """Rows of the network, as codes."""
    rng = np.random.default_rng(1000 + seed)
    law, found = tables(seed), {}
    for v in ALARM:
        share = law[v][tuple(found[p] for p in ABOVE[v])].reshape(-1, SIZES[v]).cumsum(axis=1)
        found[v] = np.minimum((rng.random((rows, 1)) > share).sum(axis=1), SIZES[v] - 1)
    return found


def frame(kind: str, seed: int = 0) -> Any:
    """The rows as a pandas frame of strings, categories or integers."""
    import pandas as pd

    codes = drawn(seed)
    names = {v: np.array([f"{v}_{i}" for i in range(n)], dtype=object) for v, n in SIZES.items()}
    if kind == "integers":
        return pd.DataFrame(codes)
    if kind == "categories":
        return pd.DataFrame({v: pd.Categorical.from_codes(codes[v], list(names[v])) for v in codes})
    return pd.DataFrame({v: names[v][codes[v]] for v in codes})


# -- ours -------------------------------------------------------------------------------


def table_of(X: Any) -> tuple[Any, Any]:
    from countwise.frames import frame_of
    from countwise.schema import Schema

    opened = frame_of(X)
    schema = Schema.infer(opened, "nominal")
    return schema, schema.encode(opened)


def families(X: Any, score: str = "bic") -> Any:
    from countwise.network.scores import Families

    schema, table = table_of(X)
    return Families(schema.attributes, table, score)


def fit_tables(X: Any) -> dict[str, np.ndarray]:
    counted = families(X)
    found = {}
    for v in ABOVE:
        n = counted.counts(v, ABOVE[v]) + 1.0
        found[v] = n / n.sum(axis=-1, keepdims=True)
    return found


def fit_ordering(X: Any, score: str) -> Any:
    from countwise.network.structure import Constraints, by_ordering

    return by_ordering(families(X, score), list(ABOVE), Constraints(max_parents=PARENTS))


def fit_climb(X: Any, **settings: Any) -> Any:
    from countwise.network.structure import Constraints, hill_climb

    return hill_climb(families(X), list(ABOVE), Constraints(max_parents=PARENTS), **settings)


def fit_orders(X: Any) -> Any:
    from countwise.network.orders import search_orders
    from countwise.network.structure import Constraints

    return search_orders(families(X, "k2"), list(ABOVE), Constraints(max_parents=PARENTS))


def fit_tan(X: Any) -> Any:
    from countwise.network.classes import augmented_tree, conditional_information

    names = [v for v in ABOVE if v != "hr"]
    return augmented_tree(names, "hr", conditional_information(families(X), names, "hr"))


def net() -> Any:
    from countwise import Nominal
    from countwise.network.graph import Graph
    from countwise.network.net import Net

    return Net(Graph(ABOVE), {v: Nominal(v, tuple(range(n))) for v, n in SIZES.items()}, tables(), {})


def best_of(work: Any, repeats: int) -> float:
    return min(timed(work) for _ in range(repeats))

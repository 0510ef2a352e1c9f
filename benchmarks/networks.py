"""Benchmarks of Bayesian networks: pyAgrum and pgmpy, on the structure of ALARM with random tables.

Each competitor runs in a separate process, because some change the number of threads of other libraries.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from harness import Report, Row, has, in_a_process, timed

ROWS, PARENTS = 100_000, 3
# For hill climbing: a node of ALARM has 4 parents, and pyAgrum's search with a tabu list ignores a limit of 3.
MORE_PARENTS = 4
Codes = dict[str, np.ndarray]

# The nodes of ALARM (Beinlich, Suermondt, Chavez and Cooper, 1989): number of values and parents of each.
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
    """Return random tables P(node | parents), drawn from Dirichlet distributions."""
    rng = np.random.default_rng(seed)
    return {v: rng.dirichlet(np.full(SIZES[v], 0.7), size=[SIZES[p] for p in ABOVE[v]]) for v in ALARM}


def drawn(seed: int = 0, rows: int = ROWS) -> Codes:
    """Return rows sampled from the network, as codes."""
    rng = np.random.default_rng(1000 + seed)
    cpts, found = tables(seed), {}
    for v in ALARM:
        cumulative = cpts[v][tuple(found[p] for p in ABOVE[v])].reshape(-1, SIZES[v]).cumsum(axis=1)
        found[v] = np.minimum((rng.random((rows, 1)) > cumulative).sum(axis=1), SIZES[v] - 1)
    return found


def frame(kind: str, seed: int = 0) -> Any:
    """Return the rows as a pandas frame of strings, categories or integers."""
    import pandas as pd

    codes = drawn(seed)
    names = {v: np.array([f"{v}_{i}" for i in range(n)], dtype=object) for v, n in SIZES.items()}
    if kind == "integers":
        return pd.DataFrame(codes)
    if kind == "categories":
        return pd.DataFrame({v: pd.Categorical.from_codes(codes[v], list(names[v])) for v in codes})
    return pd.DataFrame({v: names[v][codes[v]] for v in codes})


# -- ours -------------------------------------------------------------------------------


def families(X: Any, score: str = "bic") -> Any:
    """Return the family scores, which evaluate any structure."""
    from countwise.data.frames import frame_of
    from countwise.data.schema import Schema
    from countwise.network.family_scores import Families

    opened = frame_of(X)
    schema = Schema.kinds(opened, "nominal").learn(opened)
    return Families(schema.attributes, schema.encode(opened), score)


def fitted(structure: Any, X: Any, **settings: Any) -> Any:
    from countwise import BayesNetwork

    return BayesNetwork(structure, types="nominal", **settings).fit(X)


def fit_tables(X: Any) -> Any:
    return fitted({v: list(above) for v, above in ABOVE.items()}, X)


def fit_ordering(X: Any, score: str) -> Any:
    return fitted("ordering", X, order=list(ABOVE), criterion=score, max_parents=PARENTS)


def fit_climb(X: Any, restarts: int) -> Any:
    return fitted("hill_climb", X, max_parents=MORE_PARENTS, restarts=restarts)


def fit_orders(X: Any) -> Any:
    return fitted("orders", X, criterion="k2", max_parents=PARENTS)


def fit_tan(X: Any, target: str = "hr") -> Any:
    return fitted("tan", X, target=target)


def net() -> Any:
    """Return the network itself, built node by node."""
    from countwise import BayesNetwork

    drawn_net = BayesNetwork()
    for v, n in SIZES.items():
        drawn_net.add_node(v, list(range(n)))
    for v, above in ABOVE.items():
        for p in above:
            drawn_net.add_arc(p, v)
    for v, table in tables().items():
        drawn_net.set_cpt(v, table)
    return drawn_net


def bic_of(arcs: list[list[str]], seed: int) -> float:
    """Return the BIC of a structure."""
    scores = families(frame("integers", seed))
    return float(sum(scores.many([(v, [p for p, c in arcs if c == v]) for v in ABOVE])))


# -- each competitor runs in a separate process ---------------------------------------------------------


def best_of(work: Callable[[], Any], repeats: int) -> float:
    return min(timed(work) for _ in range(repeats))


def ours_tables(kind: str) -> float:
    X = frame(kind)
    return best_of(lambda: fit_tables(X), 7)


def ours_ordering(score: str) -> float:
    X = frame("integers")
    return best_of(lambda: fit_ordering(X, score), 5)


def ours_climb(seed: int, restarts: int) -> list[Any]:
    X = frame("integers", seed)
    seconds = best_of(lambda: fit_climb(X, restarts=restarts), 3)
    return [seconds, fit_climb(X, restarts=restarts).graph_.arcs]


def ours_searches() -> list[float]:
    X = frame("integers")
    return [best_of(lambda: fit_orders(X), 2), best_of(lambda: fit_tan(X), 5)]


def evidence() -> list[dict[str, int]]:
    """Return two sets of evidence, used alternately."""
    return [KNOWN, {**KNOWN, "hrbp": 0}]


def ours_marginals() -> list[float]:
    model, known = net(), evidence()
    model.marginals(known[0])

    def anew() -> Any:
        model.net_ = replace(model.net_)  # discards cached results
        return model.marginals(known[0])

    first = best_of(anew, 50)
    again = min(timed(lambda turn=turn: model.marginals(known[turn % 2])) for turn in range(50))  # type: ignore[misc]
    return [first, again]


def split_target(X: Any) -> tuple[Any, Any]:
    """Return all columns but one, and that column as the class."""
    return X.drop(columns="hr"), X["hr"].astype(str)


def ours_classes(kind: str) -> list[Any]:
    from countwise import BayesNetworkClassifier

    X, y = split_target(frame(kind))
    model = BayesNetworkClassifier("tan").fit(X, y)
    return [best_of(lambda: model.predict(X), 7), float((model.predict(X) == y).mean())]


def agrum_classes(kind: str) -> list[Any]:
    from pyagrum.lib.discreteTypeProcessor import DiscreteTypeProcessor
    from pyagrum.skbn import BNClassifier

    X, y = split_target(frame(kind))
    X = X.astype(str)  # it expects strings
    model = BNClassifier(
        type_processor=DiscreteTypeProcessor(), learningMethod="TAN", prior="Smoothing", priorWeight=1
    )
    model.fit(X, y)
    found: list[Any] = []
    seconds = timed(lambda: found.append(model.predict(X)))
    return [seconds, float((np.asarray(found[0]) == y).mean())]


def agrum_network(labels: bool = True) -> Any:
    """Return the network in pyAgrum; without labels the values are integers."""
    import pyagrum as gum

    bn, cpts = gum.BayesNet(), tables()
    for v, n in SIZES.items():
        values = [f"{v}_{i}" for i in range(n)]
        bn.add(gum.LabelizedVariable(v, v, values) if labels else gum.RangeVariable(v, v, 0, n - 1))
    for v, above in ABOVE.items():
        for p in above:
            bn.addArc(p, v)
        for place in np.ndindex(*(SIZES[p] for p in above)):
            bn.cpt(v)[dict(zip(above, place, strict=True))] = cpts[v][place].tolist()
    return bn


def agrum_learner(X: Any, bn: Any, parents: int) -> Any:
    import pyagrum as gum

    learner = gum.BNLearner(X, bn)
    learner.setMaxIndegree(parents)
    return learner


def agrum_tables(kind: str) -> float:
    import pyagrum as gum

    X, bn = frame(kind), agrum_network(kind != "integers")

    def work() -> Any:
        learner = gum.BNLearner(X, bn)
        learner.useSmoothingPrior(1)
        return learner.learnParameters(bn.dag())

    return best_of(work, 3)


def agrum_ordering(score: str) -> float:
    X, bn = frame("integers"), agrum_network(False)

    def work() -> Any:
        learner = agrum_learner(X, bn, PARENTS)
        (learner.useScoreK2 if score == "k2" else learner.useScoreBIC)()
        learner.useK2([bn.idFromName(v) for v in ABOVE])
        return learner.learnDAG()

    return best_of(work, 2)


def agrum_climb(seed: int, tabu: bool) -> list[Any]:
    X, bn = frame("integers", seed), agrum_network(False)

    def work() -> Any:
        learner = agrum_learner(X, bn, MORE_PARENTS)
        learner.useScoreBIC()
        (learner.useLocalSearchWithTabuList if tabu else learner.useGreedyHillClimbing)()
        return learner.learnDAG()

    found: list[Any] = []
    seconds = timed(lambda: found.append(work()))
    return [seconds, [(bn.variable(a).name(), bn.variable(b).name()) for a, b in found[0].arcs()]]


def agrum_marginals() -> list[float]:
    import pyagrum as gum

    bn, known = agrum_network(False), evidence()
    kept = gum.LazyPropagation(bn)

    def query(engine: Any, turn: int) -> list[np.ndarray]:
        engine.setEvidence(known[turn % 2])
        engine.makeInference()
        return [engine.posterior(v).toarray() for v in ABOVE]

    query(kept, 1)
    first = best_of(lambda: query(gum.LazyPropagation(bn), 0), 50)
    return [first, min(timed(lambda turn=turn: query(kept, turn)) for turn in range(50))]  # type: ignore[misc]


def pgmpy_tables(kind: str) -> float:
    import warnings

    warnings.simplefilter("ignore")
    from pgmpy.models import DiscreteBayesianNetwork

    X = frame(kind)

    def work() -> Any:
        model = DiscreteBayesianNetwork([(p, v) for v, above in ABOVE.items() for p in above])
        return model.fit(X)

    return best_of(work, 2)


WORK = {
    f.__name__: f
    for f in (
        ours_tables, ours_ordering, ours_climb, ours_searches, ours_marginals,
        agrum_tables, agrum_ordering, agrum_climb, agrum_marginals, pgmpy_tables, ours_classes, agrum_classes,
    )
}  # fmt: skip


def alone(name: str, *settings: Any) -> Any:
    return in_a_process(__file__, name, *settings)


# -- cases ------------------------------------------------------------------------------


def parameters(report: Report) -> None:
    for kind in ("strings", "categories", "integers"):
        case = f"37 tables of ALARM from {ROWS // 1000}k rows of {kind}"
        ours, target = alone("ours_tables", kind), 8 if kind == "strings" else 20
        if has("pyagrum"):
            report.add(Row(case, ours, alone("agrum_tables", kind), "pyAgrum", target))
        if has("pgmpy"):
            report.add(Row(case, ours, alone("pgmpy_tables", kind), "pgmpy", target))


def ordering(report: Report) -> None:
    for score in ("k2", "bic"):
        ours = alone("ours_ordering", score)
        if has("pyagrum"):
            report.add(
                Row(f"parents along an ordering, {score}", ours, alone("agrum_ordering", score), "pyAgrum K2", 5)
            )


def climbing(report: Report, seeds: int = 5, restarts: int = 3) -> None:
    """Compare the times, and the BIC of the structures."""
    if not has("pyagrum"):
        return
    for seed in range(seeds):
        (plain, _), (longer, arcs) = alone("ours_climb", seed, 0), alone("ours_climb", seed, restarts)
        reached = bic_of(arcs, seed)
        for tabu in (False, True):
            seconds, others = alone("agrum_climb", seed, tabu)
            gain = reached - bic_of(others, seed)
            note = f"BIC {gain:+.1f} relative to the peer: {'met' if gain >= -1e-6 else 'MISSED'}"
            against = f"pyAgrum {'with tabu list' if tabu else 'greedy'}"
            report.add(Row(f"hill climbing, network {seed}", plain, seconds, against, 3))
            report.add(Row(f"hill climbing, network {seed}, {restarts} restarts", longer, seconds, against, 3, note))


def searching(report: Report) -> None:
    orders, tan = alone("ours_searches")
    print(f"  search over orderings {1e3 * orders:.0f} ms, TAN {1e3 * tan:.0f} ms")


def marginals(report: Report) -> None:
    if has("pyagrum"):
        ours, peer = alone("ours_marginals"), alone("agrum_marginals")
        report.add(Row("37 marginals given evidence", ours[0], peer[0], "pyAgrum LazyPropagation", 1))
        report.add(Row("37 marginals given changed evidence", ours[1], peer[1], "pyAgrum LazyPropagation", 1))


def classes(report: Report) -> None:
    if not has("pyagrum"):
        return
    seconds, right = alone("agrum_classes", "strings")
    for kind in ("strings", "categories"):
        ours = alone("ours_classes", kind)
        note = f"accuracy {ours[1]:.1%}, peer {right:.1%}"
        report.add(
            Row(
                f"TAN predictions of {ROWS // 1000}k rows of {kind}",
                ours[0],
                seconds,
                "pyAgrum BNClassifier",
                20,
                note,
            )
        )


CASES = {
    "tables": parameters, "ordering": ordering, "climbing": climbing, "searching": searching, "marginals": marginals,
    "classes": classes,
}  # fmt: skip

if __name__ == "__main__":
    print(json.dumps(WORK[sys.argv[1]](*json.loads(sys.argv[2]))))

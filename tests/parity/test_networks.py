"""Networks against pyAgrum, pgmpy, networkx, scikit-learn, SciPy and enumeration; differences are explained."""

from __future__ import annotations

import itertools
import math
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mutual_info_score

from countwise import BayesNetwork, BayesNetworkClassifier, Nominal, samples
from countwise.data.schema import Schema
from countwise.network import Dirichlet
from countwise.network.family_scores import Families, family_score
from countwise.network.graph import Graph
from countwise.sources import open_whole

gum = pytest.importorskip("pyagrum")
networkx = pytest.importorskip("networkx")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # pgmpy renames its modules and says so when they are imported
    pytest.importorskip("pgmpy")
    from pgmpy import structure_score
    from pgmpy.estimators import BayesianEstimator, MaximumLikelihoodEstimator
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.inference import VariableElimination
    from pgmpy.models import DiscreteBayesianNetwork
    from pgmpy.readwrite import BIFReader, BIFWriter

# pgmpy tells on every call which of its names will change
pytestmark = pytest.mark.filterwarnings("ignore:.*pgmpy.*:FutureWarning")

ASIA = Path(__file__).parents[1] / "data" / "asia.bif"
LOG2 = math.log(2)


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Small tables: a pool of threads for each would take longer than the networks themselves."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COUNTWISE_THREADS", "1")
        yield


# -- random networks, in everyone's words ---------------------------------------------------------------------------


class Random:
    """A network by chance: values, parents and tables, an axis for each parent and the last for the node."""

    def __init__(self, seed: int, *, most: int = 3, even: float = 1.0, zeros: float = 0.0, nodes: int = 10) -> None:
        rng = np.random.default_rng(seed)
        names = [f"n{i}" for i in range(int(rng.integers(5, nodes + 1)))]
        self.values = {v: [f"{v}_{j}" for j in range(int(rng.integers(2, 5)))] for v in names}
        self.parents = {
            v: [names[j] for j in sorted(rng.choice(i, size=min(i, int(rng.integers(0, most + 1))), replace=False))]
            for i, v in enumerate(names)
        }
        self.tables = {}
        for v in names:
            shape = [len(self.values[p]) for p in self.parents[v]]
            table = rng.dirichlet(np.full(len(self.values[v]), even), size=shape)
            table[(rng.random(table.shape) < zeros) & (table < table.max(axis=-1, keepdims=True))] = 0.0
            self.tables[v] = table / table.sum(axis=-1, keepdims=True)
        self.rng = rng

    @property
    def types(self) -> dict[str, Nominal]:
        return {v: Nominal(v, tuple(values)) for v, values in self.values.items()}

    def ours(self) -> BayesNetwork:
        net = BayesNetwork()
        for v, values in self.values.items():
            net.add_node(v, values)
        for v, above in self.parents.items():
            for p in above:
                net.add_arc(p, v)
        for v, table in self.tables.items():
            net.set_cpt(v, table)
        return net

    def bare(self) -> Any:
        bn = gum.BayesNet()
        for v, values in self.values.items():
            bn.add(gum.LabelizedVariable(v, v, values))
        for v, above in self.parents.items():
            for p in above:
                bn.addArc(p, v)
        return bn

    def agrum(self) -> Any:
        bn = self.bare()
        for v, table in self.tables.items():
            cpt = bn.cpt(v)
            own = [*self.parents[v], v]
            cpt[:] = np.ascontiguousarray(table.transpose([own.index(name) for name in reversed(cpt.names)]))
        return bn

    def pgmpy(self) -> Any:
        model = DiscreteBayesianNetwork([(p, v) for v, above in self.parents.items() for p in above])
        model.add_nodes_from(self.values)
        for v, above in self.parents.items():
            flat = self.tables[v].reshape(-1, len(self.values[v])).T
            names = {name: self.values[name] for name in (v, *above)}
            sizes = [len(self.values[p]) for p in above]
            model.add_cpds(TabularCPD(v, len(self.values[v]), flat, above or None, sizes or None, state_names=names))
        return model

    def rows(self, n: int) -> pd.DataFrame:
        codes: dict[str, np.ndarray] = {}
        for v, above in self.parents.items():
            share = self.tables[v][tuple(codes[p] for p in above)] if above else self.tables[v][None].repeat(n, 0)
            codes[v] = (self.rng.random(n)[:, None] > share.cumsum(axis=1)[:, :-1]).sum(axis=1)
        return pd.DataFrame({v: np.array(self.values[v], dtype=object)[c] for v, c in codes.items()})

    def counts(self, rows: pd.DataFrame, v: str, above: list[str] | None = None) -> np.ndarray:
        """By looking at every row, with no help of anyone."""
        above = self.parents[v] if above is None else above
        found = np.zeros([len(self.values[name]) for name in (*above, v)], dtype=int)
        for row in rows[[*above, v]].itertuples(index=False):
            found[tuple(self.values[name].index(cell) for name, cell in zip((*above, v), row, strict=True))] += 1
        return found


def asia() -> Random:
    """The network of the file as if it had been drawn by chance."""
    read = BayesNetwork.read_bif(ASIA)
    read.query("asia")
    found = Random(0)
    found.values = {v: list(read.net_.attributes[v].values) for v in read.graph_}
    order = read.graph_.order()
    found.parents = {v: list(read.graph_.parents[v]) for v in order}
    found.tables = {v: read.net_.tables[v] for v in order}
    return found


def of_agrum(bn: Any, v: str, above: list[str]) -> np.ndarray:
    """A table of pyAgrum with our axes; its arrays have the axes of `names` backwards."""
    cpt = bn.cpt(v)
    names = list(reversed(cpt.names))
    return np.asarray(cpt.toarray()).transpose([names.index(name) for name in (*above, v)])


def of_pgmpy(cpd: Any, v: str, above: list[str]) -> np.ndarray:
    names = list(cpd.variables)
    return np.asarray(cpd.values).transpose([names.index(name) for name in (*above, v)])


# -- tables ---------------------------------------------------------------------------------------------------


def networks_with_rows() -> list[Any]:
    few = [pytest.param(seed, 60, id=f"random {seed}, 60 rows") for seed in range(5)]
    many = [pytest.param(seed, 2000, id=f"random {seed}, 2000 rows") for seed in range(6, 9)]
    return [*few, *many, pytest.param(None, 2000, id="asia")]


def drawn(seed: int | None, n: int) -> tuple[Random, pd.DataFrame]:
    net = asia() if seed is None else Random(seed, most=3 if n < 1000 else 2, even=1.0 if n < 1000 else 5.0)
    return net, net.rows(n)


@pytest.mark.parametrize(("seed", "n"), networks_with_rows())
@pytest.mark.parametrize("weight", [1.0, 0.5, 3.0])
def test_smoothed_tables_are_those_of_pyagrum(seed, n, weight):
    net, rows = drawn(seed, n)
    for smoothing, prior in ((weight, "useSmoothingPrior"), (Dirichlet(weight), "useBDeuPrior")):
        ours = BayesNetwork(net.parents, smoothing=smoothing, types=net.types).fit(rows)
        learner = gum.BNLearner(rows, net.bare())
        getattr(learner, prior)(weight)
        theirs = learner.learnParameters(net.bare().dag())
        for v, above in net.parents.items():
            assert list(ours.graph_.parents[v]) == above
            np.testing.assert_allclose(ours.net_.tables[v], of_agrum(theirs, v, above), rtol=0, atol=1e-9)


@pytest.mark.parametrize(("seed", "n"), networks_with_rows())
def test_smoothed_tables_are_those_of_pgmpy(seed, n):
    """Its "K2" is one imagined row in each cell: our smoothing=1."""
    net, rows = drawn(seed, n)
    judge = BayesianEstimator(net.pgmpy(), rows, state_names=net.values)
    for smoothing, how in (
        (1.0, {"prior_type": "K2"}),
        (Dirichlet(7.0), {"prior_type": "BDeu", "equivalent_sample_size": 7}),
        ("bdeu", {"prior_type": "BDeu", "equivalent_sample_size": 1}),
    ):
        ours = BayesNetwork(net.parents, smoothing=smoothing, types=net.types).fit(rows)
        for v, above in net.parents.items():
            theirs = of_pgmpy(judge.estimate_cpd(v, **how), v, above)
            np.testing.assert_allclose(ours.net_.tables[v], theirs, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("seed", "n"), networks_with_rows())
def test_raw_tables_agree_where_the_parents_were_seen_and_differ_knowingly_where_not(seed, n):
    """A combination of parents that no row has gives 0/0; nobody is right, and each has a way of its own.

    pyAgrum refuses to learn the network. pgmpy takes every value for equally probable. Here the node takes its shares
    in all rows, whatever the parents: what is known of it if nothing is known of its parents.
    """
    net, rows = drawn(seed, n)
    ours = BayesNetwork(net.parents, smoothing=0, types=net.types).fit(rows)
    judge = MaximumLikelihoodEstimator(net.pgmpy(), rows, state_names=net.values)
    whole = True
    for v, above in net.parents.items():
        counts = net.counts(rows, v)
        total = counts.sum(axis=-1)
        seen = total > 0
        whole &= bool(seen.all())
        table, theirs = ours.net_.tables[v], of_pgmpy(judge.estimate_cpd(v), v, above)
        np.testing.assert_allclose(table[seen], counts[seen] / total[seen][:, None], rtol=0, atol=1e-15)
        np.testing.assert_allclose(table[seen], theirs[seen], rtol=0, atol=1e-9)
        np.testing.assert_allclose(theirs[~seen], 1 / len(net.values[v]), rtol=0, atol=1e-12)
        share = counts.reshape(-1, counts.shape[-1]).sum(axis=0) / n
        np.testing.assert_allclose(table[~seen], np.broadcast_to(share, table[~seen].shape), rtol=0, atol=1e-12)
    learner = gum.BNLearner(rows, net.bare())
    learner.useNoPrior()
    if whole:
        found = learner.learnParameters(net.bare().dag())
        for v, above in net.parents.items():
            np.testing.assert_allclose(ours.net_.tables[v], of_agrum(found, v, above), rtol=0, atol=1e-9)
    else:
        with pytest.raises(gum.DatabaseError, match="never appears"):
            learner.learnParameters(net.bare().dag())


def test_both_ways_of_unseen_parents_are_met_by_these_networks():
    whole = []
    for seed in (0, 1, 2, 6, 7, 8):
        net, rows = drawn(seed, 60 if seed < 6 else 2000)
        whole.append(all((net.counts(rows, v).sum(axis=-1) > 0).all() for v in net.parents))
    assert 0 < sum(whole) < len(whole)


# -- scores ---------------------------------------------------------------------------------------------------


def families(rows: pd.DataFrame, net: Random, score: str, ess: float = 1.0) -> Families:
    schema = Schema(net.types.values())
    source = open_whole(rows, None, None, needs_target=False)
    return Families(list(net.types.values()), schema.encode(source.frame), score, ess)


def some_families(net: Random) -> list[tuple[str, list[str]]]:
    names = list(net.values)
    free = [(v, [w for w in names if w != v][:k]) for v, k in zip(names, itertools.cycle((1, 2)), strict=False)]
    return [*net.parents.items(), *free]


@pytest.mark.parametrize("seed", [0, 1, 2, None])
@pytest.mark.parametrize("score", ["bic", "aic", "bdeu", "k2", "log_likelihood"])
def test_scores_of_families_are_those_of_pgmpy(seed, score):
    """pgmpy's K2 adds log Γ(r) for each combination of parents that no row has, where r is the number of the child's
    values; a combination without rows has nothing to predict and adds 0, as exact fractions say below.
    """
    net, rows = drawn(seed, 500)
    name = {"bic": "BIC", "aic": "AIC", "bdeu": "BDeu", "k2": "K2", "log_likelihood": "LogLikelihood"}[score]
    for ess in (1.0, 10.0) if score == "bdeu" else (1.0,):
        how = {"equivalent_sample_size": ess} if score == "bdeu" else {}
        theirs = getattr(structure_score, name)(rows, state_names=net.values, **how)
        ours = families(rows, net, score, ess)
        for v, above in some_families(net):
            counts = net.counts(rows, v, above)
            more = math.lgamma(counts.shape[-1]) * (counts.sum(axis=-1) == 0).sum() if score == "k2" else 0.0
            wanted = theirs.local_score(v, tuple(above)) - more
            assert ours.of(v, above) == pytest.approx(wanted, rel=1e-12, abs=1e-9)
            assert ours.of(v, above) == pytest.approx(family_score(counts, score, ess), rel=1e-12, abs=1e-9)
            if score in ("bdeu", "k2"):
                cell = Fraction(1) if score == "k2" else Fraction(int(ess), counts.size)
                assert ours.of(v, above) == pytest.approx(predicted(counts, cell), rel=1e-12, abs=1e-9)


@pytest.mark.parametrize("seed", [0, 1, 2, None])
def test_scores_of_families_are_those_of_pyagrum_in_nats(seed):
    """pyAgrum's scores are in bits. Two of them are not what their formulas say, and pgmpy agrees with us:

    - its AIC takes 1 bit for each free number off a likelihood in bits; the formula takes 1 nat;
    - its K2 is good to 1e-6 a term, as if log Γ were looked up in a table.
    """
    net, rows = drawn(seed, 500)
    learner = gum.BNLearner(rows, net.bare())
    learner.useNoPrior()
    ours = {score: families(rows, net, score) for score in ("bic", "aic", "k2", "log_likelihood")}
    for v, above in some_families(net):
        free = (len(net.values[v]) - 1) * math.prod(len(net.values[p]) for p in above)
        cells = free * 3
        found = {}
        for score, which in (("bic", "BIC"), ("aic", "AIC"), ("k2", "K2"), ("log_likelihood", "Log2Likelihood")):
            getattr(learner, f"useScore{which}")()
            found[score] = learner.score(v, above) * LOG2
        found["aic"] += free * (LOG2 - 1)
        for score, value in found.items():
            within = 1e-6 * cells if score == "k2" else 1e-9
            assert ours[score].of(v, above) == pytest.approx(value, rel=1e-12, abs=within), score


def predicted(counts: np.ndarray, cell: Fraction) -> float:
    """Log of the marginal likelihood, from the definition: each row is predicted from those before it."""
    total = Fraction(1)
    for row in counts.reshape(-1, counts.shape[-1]).tolist():
        seen = 0
        for many in row:
            for before in range(many):
                total *= (cell + before) / (cell * len(row) + seen)
                seen += 1
    return math.log(total.numerator) - math.log(total.denominator)


@pytest.mark.parametrize("q", [2, 3, 4, 5, 6, 8])
def test_bdeu_is_the_product_of_predictions_and_pyagrum_rounds_small_priors(q):
    """pyAgrum's BDeu of q · 2 cells is right where 1 / 2q is a multiple of a hundredth (q = 2, 5), and off by tenths
    of a nat elsewhere. Exact fractions say that ours is right.
    """
    values = {"p": [f"p{i}" for i in range(q)], "a": ["x", "y"]}
    rng = np.random.default_rng(q)
    rows = pd.DataFrame({name: rng.choice(cells, 40) for name, cells in values.items()})
    net = Random(0)
    net.values, net.parents = values, {"p": [], "a": ["p"]}
    counts = net.counts(rows, "a")
    exact = predicted(counts, Fraction(1, 2 * q))
    assert families(rows, net, "bdeu").of("a", ["p"]) == pytest.approx(exact, abs=1e-10)
    learner = gum.BNLearner(rows, net.bare())
    learner.useNoPrior()
    learner.useScoreBDeu()
    off = abs(learner.score("a", ["p"]) * LOG2 - exact)
    assert off < 1e-4 if q in (2, 5) else 0.01 < off < 2


# -- inference ------------------------------------------------------------------------------------------------


def evidence(net: Random, *, soft: bool) -> dict[str, Any]:
    """Of a row that the network can make, so that it is possible; some of it by weights."""
    row = net.rows(1).iloc[0]
    known: dict[str, Any] = {}
    for v in net.values:
        if net.rng.random() < 0.35:
            known[v] = row[v]
            if soft and net.rng.random() < 0.5:
                weights = 0.01 + 0.99 * net.rng.random(len(net.values[v]))
                known[v] = dict(zip(net.values[v], weights.tolist(), strict=True))
    if len(known) == len(net.values):
        known.popitem()
    return known


def for_agrum(net: Random, known: dict[str, Any]) -> dict[str, Any]:
    return {v: [w[x] for x in net.values[v]] if isinstance(w, dict) else w for v, w in known.items()}


@pytest.mark.parametrize("zeros", [0.0, 0.3])
@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_posteriors_are_those_of_pyagrum(seed, soft, zeros):
    net = Random(seed, zeros=zeros)
    ours, bn = net.ours(), net.agrum()
    for _ in range(3):
        known = evidence(net, soft=soft)
        lazy, shafer = gum.LazyPropagation(bn), gum.ShaferShenoyInference(bn)
        for engine in (lazy, shafer):
            engine.setEvidence(for_agrum(net, known))
            engine.makeInference()
        marginals = ours.marginals(known)
        for v in net.values:
            if v in known and not isinstance(known[v], dict):
                continue
            ask = list(ours.query(v, known).values())
            for engine in (lazy, shafer):
                np.testing.assert_allclose(ask, engine.posterior(v).toarray(), rtol=0, atol=1e-12)
                np.testing.assert_allclose(list(marginals[v].values()), engine.posterior(v).toarray(), atol=1e-12)
        assert ours.log_evidence(known) == pytest.approx(math.log(lazy.evidenceProbability()), abs=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_joint_queries_are_those_of_pyagrum_and_pgmpy(seed):
    net = Random(seed)
    ours, bn, model = net.ours(), net.agrum(), net.pgmpy()
    known = {v: w for v, w in evidence(net, soft=False).items() if v not in list(net.values)[:3]}
    queried = list(net.values)[:3]
    table = np.array(list(ours.query(queried, known).values())).reshape([len(net.values[v]) for v in queried])
    lazy = gum.LazyPropagation(bn)
    lazy.addJointTarget(set(queried))
    lazy.setEvidence(known)
    lazy.makeInference()
    joint = lazy.jointPosterior(set(queried))
    names = list(reversed(joint.names))
    theirs = joint.toarray().transpose([names.index(v) for v in queried])
    np.testing.assert_allclose(table, theirs, rtol=0, atol=1e-12)
    answer = VariableElimination(model).query(queried, evidence=known, show_progress=False)
    theirs = answer.values.transpose([answer.variables.index(v) for v in queried])
    np.testing.assert_allclose(table, theirs, rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_posteriors_are_those_of_pgmpy(seed):
    net = Random(seed, nodes=7)
    ours, engine = net.ours(), VariableElimination(net.pgmpy())
    known = evidence(net, soft=True)
    hard = {v: w for v, w in known.items() if not isinstance(w, dict)}
    soft = [
        TabularCPD(v, len(w), [[p] for p in w.values()], state_names={v: list(w)})
        for v, w in known.items()
        if isinstance(w, dict)
    ]
    for v in (v for v in net.values if v not in known):
        found = engine.query([v], evidence=hard, virtual_evidence=soft or None, show_progress=False)
        order = [found.state_names[v].index(value) for value in net.values[v]]
        np.testing.assert_allclose(list(ours.query(v, known).values()), found.values[order], rtol=0, atol=1e-12)


def probability(net: Random, row: dict[str, str]) -> float:
    code = {v: net.values[v].index(row[v]) for v in net.values}
    return math.prod(float(net.tables[v][(*(code[p] for p in above), code[v])]) for v, above in net.parents.items())


@pytest.mark.parametrize("seed", range(12))
def test_the_most_probable_explanation_is_as_probable_as_pyagrums(seed):
    net = Random(seed, zeros=0.2 * (seed % 2))
    ours, lazy = net.ours(), gum.LazyPropagation(net.agrum())
    known = evidence(net, soft=False)
    lazy.setEvidence(known)
    lazy.makeInference()
    theirs = {v: net.values[v][i] for v, i in lazy.mpe().todict().items()}
    best = ours.most_probable_explanation(known)
    assert set(best) == set(net.values) - set(known)
    p = probability(net, {**known, **best})
    assert p == pytest.approx(probability(net, {**theirs, **known}), rel=1e-12)
    assert p / math.exp(ours.log_evidence(known)) == pytest.approx(2 ** lazy.mpeLog2Posterior()[1], rel=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_rows_with_gaps_are_as_probable_as_pyagrum_says(seed):
    net = Random(seed)
    rows = net.rows(12)
    rows = rows.mask(net.rng.random(rows.shape) < 0.5, None)
    lazy = gum.LazyPropagation(net.agrum())
    wanted = []
    for row in rows.to_dict("records"):
        lazy.setEvidence({v: w for v, w in row.items() if isinstance(w, str)})
        lazy.makeInference()
        wanted.append(math.log(lazy.evidenceProbability()))
    np.testing.assert_allclose(net.ours().score_samples(rows), wanted, rtol=0, atol=1e-12)


# -- EM -------------------------------------------------------------------------------------------------------


def learned_by_em(learner: Any, net: Any, epsilon: float) -> Any:
    """pyAgrum begins by chance, and calls it a divergence when a step raises the likelihood by less than rounding."""
    gum.initRandom(1)
    learner.useEM(epsilon)
    learner.EMsetMaxIter(100_000)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"\s*the learnParameters's EM algorithm has completed prematurely")
        return learner.learnParameters(net.dag())


@pytest.mark.parametrize("smoothing", [0.0, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_em_comes_to_where_pyagrums_em_comes(seed, smoothing):
    net = Random(seed, most=2, even=5.0, nodes=6)
    rows = net.rows(500)
    gone = net.rng.random(rows.shape) < 0.06
    learner = gum.BNLearner(rows.mask(gone, "?"), net.bare())
    learner.useSmoothingPrior(smoothing) if smoothing else learner.useNoPrior()
    theirs = learned_by_em(learner, net.bare(), 1e-10)
    how = {"smoothing": smoothing, "types": net.types, "tol": 1e-9, "max_iter": 100_000}
    ours = BayesNetwork(net.parents, **how).fit(rows.mask(gone, None))
    for v, above in net.parents.items():
        np.testing.assert_allclose(ours.net_.tables[v], of_agrum(theirs, v, above), rtol=0, atol=1e-6)


def test_g56_a_missing_class_is_filled_by_em():
    """Play → Outlook, Play → Wind, and whether it was played on day 14 is not known."""
    tennis = pd.DataFrame(dict(samples.load("tennis").frame))[["play", "outlook", "wind"]]
    tennis.loc[13, "play"] = None
    arcs = {"outlook": ["play"], "wind": ["play"]}
    net = BayesNetwork(arcs, smoothing=0, tol=1e-13, max_iter=10_000).fit(tennis)
    day = {"outlook": tennis.outlook[13], "wind": tennis.wind[13]}
    assert day == {"outlook": "Rain", "wind": "Strong"}
    assert net.query("play", day)["No"] == pytest.approx(0.343695840, abs=1e-9)
    assert net.query("play")["No"] == pytest.approx(0.310263989, abs=1e-9)
    assert net.query("outlook", {"play": "No"})["Rain"] == pytest.approx(0.309343907, abs=1e-9)
    assert net.query("wind", {"play": "No"})["Strong"] == pytest.approx(0.539562604, abs=1e-9)
    assert net.score(tennis) == pytest.approx(-30.342019, abs=1e-6)
    before = BayesNetwork(arcs, smoothing=0, missing="complete")
    with pytest.warns(UserWarning, match="1 of 14 rows"):
        before.fit(tennis)
    assert before.query("play", day)["No"] == pytest.approx(1 / 3, abs=1e-12)  # the first step
    learner = gum.BNLearner(tennis.fillna("?"), _template(tennis, arcs))
    learner.useNoPrior()
    theirs = learned_by_em(learner, _template(tennis, arcs), 1e-12)
    for v in tennis.columns:
        above = arcs.get(v, [])
        np.testing.assert_allclose(net.net_.tables[v], of_agrum(theirs, v, above), rtol=0, atol=1e-9)


def _template(rows: pd.DataFrame, parents: dict[str, list[str]]) -> Any:
    bn = gum.BayesNet()
    for v in rows.columns:
        bn.add(gum.LabelizedVariable(v, v, sorted(rows[v].dropna().unique())))
    for v, above in parents.items():
        for p in above:
            bn.addArc(p, v)
    return bn


# -- structure ------------------------------------------------------------------------------------------------


def heaviest_tree(names: list[str], weight: dict[frozenset[str], float]) -> set[frozenset[str]]:
    graph = networkx.Graph()
    for pair, bits in weight.items():
        graph.add_edge(*sorted(pair), weight=bits)
    assert set(graph) == set(names)
    return {frozenset(edge) for edge in networkx.maximum_spanning_tree(graph).edges}


@pytest.mark.parametrize("seed", range(8))
def test_chow_liu_is_the_heaviest_tree_of_mutual_information(seed):
    net = Random(seed)
    rows = net.rows(400)
    names = list(rows.columns)
    bits = {
        frozenset((a, b)): mutual_info_score(rows[a], rows[b]) / LOG2 for a, b in itertools.combinations(names, 2)
    }
    found = BayesNetwork("chow_liu", root=names[-1]).fit(rows)
    assert {frozenset(arc) for arc in found.graph_.arcs} == heaviest_tree(names, bits)
    assert found.graph_.parents[names[-1]] == ()
    assert all(len(above) == 1 for v, above in found.graph_.parents.items() if v != names[-1])
    for p, c, gain, _ in found.found_.tried:
        assert gain == pytest.approx(bits[frozenset((p, c))], abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_tan_is_the_heaviest_tree_of_mutual_information_within_the_classes(seed):
    net = Random(seed, most=2)
    rows = net.rows(500)
    target, *names = rows.columns
    bits = {}
    for a, b in itertools.combinations(names, 2):
        parts = [(len(part) / len(rows), mutual_info_score(part[a], part[b])) for _, part in rows.groupby(target)]
        bits[frozenset((a, b))] = sum(share * value for share, value in parts) / LOG2
    model = BayesNetworkClassifier("tan").fit(rows[names], rows[target])
    same = BayesNetwork("tan", target=target).fit(rows)
    klass = model.target_.name
    tree = {frozenset(arc) for arc in model.graph_.arcs if klass not in arc}
    assert tree == heaviest_tree(names, bits)
    assert tree == {frozenset(arc) for arc in same.graph_.arcs if target not in arc}
    assert all(model.graph_.parents[v][0] == klass for v in names)
    told = model.conditional_mi_
    for one, other, value in zip(told["one"], told["other"], told["bits"], strict=True):
        assert value == pytest.approx(bits[frozenset((one, other))], abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_k2_gives_the_parents_of_pyagrums_k2(seed):
    """The same order, score and most parents; pyAgrum's score is good to 1e-6, far less than the gains differ by."""
    net = asia() if not seed else Random(seed, most=3, even=0.7)
    rows = net.rows(1000)
    order = list(net.values) if seed % 2 else list(reversed(net.values))
    learner = gum.BNLearner(rows, net.bare())
    learner.useNoPrior()
    learner.useScoreK2()
    learner.useK2([net.bare().idFromName(v) for v in order])
    learner.setMaxIndegree(3)
    dag = learner.learnBN()
    ours = BayesNetwork("ordering", order=order, criterion="k2", max_parents=3, types=net.types).fit(rows)
    for v in order:
        assert set(ours.graph_.parents[v]) == set(dag.variable(p).name() for p in dag.parents(v)), v  # noqa: C401


# -- what a graph says ----------------------------------------------------------------------------------------


def random_graph(rng: np.random.Generator) -> dict[str, tuple[str, ...]]:
    names = [f"n{i}" for i in rng.permutation(int(rng.integers(3, 12)))]
    share = rng.uniform(0.1, 0.5)
    return {v: tuple(w for w in names[:i] if rng.random() < share) for i, v in enumerate(names)}


def test_separations_are_those_of_networkx_on_200_graphs():
    rng = np.random.default_rng(0)
    answers = []
    for _ in range(200):
        parents = random_graph(rng)
        graph = Graph(parents)
        other = networkx.DiGraph([(p, v) for v, above in parents.items() for p in above])
        other.add_nodes_from(parents)
        names = list(parents)
        for _ in range(5):
            mixed = rng.permutation(names).tolist()
            a, b = mixed[: rng.integers(1, max(2, len(mixed) // 3))], []
            rest = mixed[len(a) :]
            b, rest = rest[:1], rest[1:]
            given = rest[: rng.integers(0, len(rest) + 1)]
            answers.append(graph.d_separated(a, b, given))
            assert answers[-1] == networkx.is_d_separator(other, set(a), set(b), set(given)), (parents, a, b, given)
    assert 100 < sum(answers) < 900  # both answers are tried


def test_markov_blankets_are_those_of_pyagrum():
    rng = np.random.default_rng(1)
    for _ in range(60):
        parents = random_graph(rng)
        graph = Graph(parents)
        bn = gum.BayesNet()
        for v in parents:
            bn.add(gum.LabelizedVariable(v, v, 2))
        for v, above in parents.items():
            for p in above:
                bn.addArc(p, v)
        for v in parents:
            theirs = {bn.variable(i).name() for i in gum.MarkovBlanket(bn, v).nodes()} - {v}
            assert set(graph.markov_blanket(v)) == theirs


# -- numbers --------------------------------------------------------------------------------------------------


def numbers_below_names(n: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    c, d = rng.choice(["u", "v", "w"], n), rng.choice(["l", "r"], n)
    x = rng.normal(100, 3, n) + 2 * (c == "v")
    z = rng.gamma(2, 2, n)
    y = np.where(c == "u", 1.5, -0.7) * x + np.where(d == "l", 0.3, 2.0) * z + rng.normal(0, 1 + (d == "r"), n)
    return pd.DataFrame({"c": c, "d": d, "x": x, "z": z, "y": y})


def test_lines_are_those_of_least_squares_within_each_combination():
    rows = numbers_below_names(400)
    net = BayesNetwork({"y": ["c", "x", "d", "z"], "x": ["c"]}, smoothing=0).fit(rows)
    line = net.net_.numbers.lines["y"]
    assert line.numbers == ("x", "z")
    cases = list(itertools.product("uvw", "lr"))
    total = np.zeros(len(rows))
    for i, (c, d) in enumerate(cases):
        mine = (rows.c == c) & (rows.d == d)
        part = rows[mine]
        fit = LinearRegression().fit(part[["x", "z"]], part["y"])
        design = np.column_stack([np.ones(len(part)), part[["x", "z"]]])
        beta, *_ = np.linalg.lstsq(design, part["y"].to_numpy(), rcond=None)
        np.testing.assert_allclose([line.intercept[i], *line.slope[i]], beta, rtol=1e-9)
        np.testing.assert_allclose([line.intercept[i], *line.slope[i]], [fit.intercept_, *fit.coef_], rtol=1e-9)
        left = part["y"] - fit.predict(part[["x", "z"]])
        sd = math.sqrt(float(left @ left) / (len(part) - 3))
        assert line.sd[i] == pytest.approx(sd, rel=1e-9)
        total[mine.to_numpy()] += norm.logpdf(part["y"], fit.predict(part[["x", "z"]]), sd)
    for c in "uvw":
        mine = (rows.c == c).to_numpy()
        x = rows.x[mine]
        total[mine] += norm.logpdf(x, x.mean(), x.std(ddof=1))
        total[mine] += math.log(mine.sum() / len(rows))
    total += np.log(rows.d.map(rows.d.value_counts()) / len(rows))
    total += norm.logpdf(rows.z, rows.z.mean(), rows.z.std(ddof=1))
    np.testing.assert_allclose(net.score_samples(rows), total, rtol=0, atol=1e-9)


def test_smoothed_lines_are_least_squares_with_an_imagined_row_of_the_others_spread():
    """With smoothing, combinations of several parents lend each other a row: the mean of all squares and products."""
    rows = numbers_below_names(60)
    net = BayesNetwork({"y": ["c", "x"]}, smoothing=1).fit(rows[["c", "x", "y"]])
    line = net.net_.numbers.lines["y"]
    parts = [rows[rows.c == c] for c in "uvw"]
    away = [np.column_stack([part.x - part.x.mean(), part.y - part.y.mean()]) for part in parts]
    shared = sum(a.T @ a for a in away) / len(rows)
    for i, (part, a) in enumerate(zip(parts, away, strict=True)):
        squares = a.T @ a + shared
        slope = squares[0, 1] / squares[0, 0]
        assert line.slope[i, 0] == pytest.approx(slope, rel=1e-9)
        assert line.intercept[i] == pytest.approx(part.y.mean() - slope * part.x.mean(), rel=1e-9)
        variance = (squares[1, 1] - slope * squares[0, 1]) / (len(part) + 1)
        assert line.sd[i] == pytest.approx(math.sqrt(variance), rel=1e-9)


def test_a_missing_number_is_integrated_out():
    rows = numbers_below_names(400)
    net = BayesNetwork({"y": ["c", "x"], "x": ["c"], "z": ["y"]}).fit(rows[["c", "x", "y", "z"]])
    lines = net.net_.numbers.lines
    p = list(net.query("c").values())
    ask = pd.DataFrame({"c": [None], "x": [101.0], "y": [np.nan], "z": [4.0]})
    steps = np.linspace(-400, 500, 400_001)
    total = 0.0
    for i in range(3):
        y = norm.pdf(steps, lines["y"].intercept[i] + lines["y"].slope[i, 0] * 101, lines["y"].sd[i])
        z = norm.pdf(4.0, lines["z"].intercept[0] + lines["z"].slope[0, 0] * steps, lines["z"].sd[0])
        x = norm.pdf(101.0, lines["x"].intercept[i], lines["x"].sd[i])
        total += p[i] * x * np.trapezoid(y * z, steps)
    assert net.score_samples(ask)[0] == pytest.approx(math.log(total), abs=1e-9)


def mixed_families(rows: pd.DataFrame, score: str) -> Families:
    net = BayesNetwork({}).fit(rows)
    source = open_whole(rows, None, None, needs_target=False)
    return Families(
        list(net.schema_.attributes),
        net.schema_.encode(source.frame),
        score,
        distributions=net._blueprint.distributions,
    )


@pytest.mark.parametrize("parents", [(), ("x",), ("x", "z")])
def test_scores_of_lines_are_those_of_pgmpy(parents):
    """One combination: the imagined row has the spread of the others and changes nothing."""
    rows = numbers_below_names(5000)[["x", "z", "y"]]
    theirs = structure_score.BICGauss(rows).local_score("y", parents)
    assert mixed_families(rows, "bic").of("y", parents) == pytest.approx(theirs, rel=1e-9)


def likeliest(rows: pd.DataFrame, names: list[str], numbers: list[str]) -> float:
    """The largest log-likelihood of y by lines within each combination, from residuals of least squares."""
    total = 0.0
    for _, part in rows.groupby(names):
        design = np.column_stack([np.ones(len(part)), part[numbers]])
        beta, *_ = np.linalg.lstsq(design, part["y"].to_numpy(), rcond=None)
        left = part["y"].to_numpy() - design @ beta
        total += float(norm.logpdf(left, 0, math.sqrt(float(left @ left) / len(part))).sum())
    return total


@pytest.mark.parametrize("parents", [("c",), ("c", "d"), ("c", "x"), ("c", "d", "x", "z")])
def test_scores_of_lines_within_combinations_are_likeliest_and_near_pgmpys(parents):
    """Ours has one imagined row in each combination: that costs less than a thousandth of a nat a row of 5000.

    pgmpy subtracts the likelihood of the parents from that of all together, by covariances that are rounded where
    lines explain nearly all: its value is below the largest by up to half a hundredth a row. Parameters count alike.
    """
    rows = numbers_below_names(5000)
    names, numbers = [p for p in parents if p in "cd"], [p for p in parents if p in "xz"]
    best = likeliest(rows, names, numbers)
    ours = mixed_families(rows, "log_likelihood").of("y", parents)
    assert 0 <= best - ours < 0.001 * len(rows)
    free = (3 if "c" in names else 1) * (2 if "d" in names else 1) * (len(numbers) + 2)
    bic = mixed_families(rows, "bic").of("y", parents)
    assert bic == pytest.approx(ours - 0.5 * math.log(len(rows)) * free, rel=1e-12)
    theirs = structure_score.BICCondGauss(rows).local_score("y", parents)
    assert bic == pytest.approx(theirs, abs=0.005 * len(rows))


def test_scores_of_lines_do_not_depend_on_units():
    rows = numbers_below_names(500)
    ours = mixed_families(rows, "bic")
    small = mixed_families(rows.assign(x=rows.x * 1e-7, z=rows.z * 1e6), "bic")
    for parents in (("x", "z"), ("c", "d", "x", "z")):
        assert small.of("y", parents) == pytest.approx(ours.of("y", parents), rel=1e-7)


# -- a class --------------------------------------------------------------------------------------------------


def by_enumeration(net: Random, rows: pd.DataFrame, graph: Graph, klass: str, ask: dict[str, Any]) -> list[float]:
    """P(class | what is there): products of smoothed counts, summed over all ways to fill what is missing."""
    names = list(rows.columns)
    gone = [v for v in names if v != klass and not isinstance(ask[v], str)]
    tables = {}
    for v in names:
        above = list(graph.parents[v])
        counts = net.counts(rows, v, above).astype(float) + (v != klass)  # the prior is raw
        tables[v] = (above, counts / counts.sum(axis=-1, keepdims=True))
    joint = []
    for c in net.values[klass]:
        total = 0.0
        for filled in itertools.product(*(net.values[v] for v in gone)):
            row = {**ask, **dict(zip(gone, filled, strict=True)), klass: c}
            code = {v: net.values[v].index(row[v]) for v in names}
            total += math.prod(
                float(table[(*(code[p] for p in above), code[v])]) for v, (above, table) in tables.items()
            )
        joint.append(total)
    return [p / sum(joint) for p in joint]


@pytest.mark.parametrize("structure", ["tan", "k_dependence", "naive"])
@pytest.mark.parametrize("seed", range(4))
def test_a_class_is_told_as_by_products_of_counts(structure, seed):
    net = Random(seed, most=2, nodes=6)
    rows = net.rows(80)
    klass, *names = rows.columns
    model = BayesNetworkClassifier(structure, types={v: net.types[v] for v in names}).fit(rows, klass)
    ask = net.rows(12)[names]
    net.values[klass] = model.classes_.tolist()
    ask = ask.mask(net.rng.random(ask.shape) < np.linspace(0, 1, len(ask))[:, None], None)
    wanted = [by_enumeration(net, rows, model.graph_, klass, row) for row in ask.to_dict("records")]
    np.testing.assert_allclose(model.predict_proba(ask), wanted, rtol=0, atol=1e-12)


# -- files ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_files_of_pyagrum_and_pgmpy_are_read(seed, tmp_path):
    net = Random(seed, zeros=0.2)
    gum.saveBN(net.agrum(), str(tmp_path / "agrum.bif"))
    (tmp_path / "pgmpy.bif").write_text(str(BIFWriter(net.pgmpy())), encoding="utf-8")
    for which in ("agrum", "pgmpy"):
        read = BayesNetwork.read_bif(tmp_path / f"{which}.bif")
        read.marginals()
        assert set(read.graph_) == set(net.values)
        for v, above in net.parents.items():
            own = read.graph_.parents[v]
            assert set(own) == set(above)
            assert list(read.net_.attributes[v].values) == net.values[v]
            table = read.net_.tables[v].transpose([[*own, v].index(name) for name in (*above, v)])
            np.testing.assert_allclose(table, net.tables[v], rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_files_are_read_by_pyagrum_and_pgmpy(seed, tmp_path):
    net = Random(seed, zeros=0.2)
    place = tmp_path / "ours.bif"
    net.ours().write_bif(place)
    bn = gum.loadBN(str(place))
    model = BIFReader(str(place)).get_model()
    for v, above in net.parents.items():
        assert list(bn.variable(v).labels()) == net.values[v]
        single = net.tables[v].astype(np.float32)  # pyAgrum reads our numbers in single precision
        np.testing.assert_allclose(of_agrum(bn, v, above), single, rtol=0, atol=1e-12)
        cpd = model.get_cpds(v)
        assert {name: list(cpd.state_names[name]) for name in (v, *above)} == {w: net.values[w] for w in (v, *above)}
        np.testing.assert_allclose(of_pgmpy(cpd, v, above), net.tables[v], rtol=0, atol=1e-12)


# -- interventions --------------------------------------------------------------------------------


def truncated(net: Any, queried: str, given: dict[str, Any], do: dict[str, Any]) -> dict[Any, float]:
    """P(queried | do, given), by the sum of the truncated factorization over all rows."""
    graph, found = net.graph_, dict.fromkeys(net.net_.values(queried), 0.0)
    for row in itertools.product(*(net.net_.values(name) for name in graph)):
        values = dict(zip(graph, row, strict=True))
        if any(values[name] != value for name, value in {**given, **do}.items()):
            continue
        p = 1.0
        for name in graph:
            if name not in do:
                at = tuple(net.net_.code(v, values[v]) for v in (*graph.parents[name], name))
                p *= net.net_.tables[name][at]
        found[values[queried]] += p
    total = sum(found.values())
    return {value: p / total for value, p in found.items()}


@pytest.mark.parametrize("do", [{"smoke": "no"}, {"lung": "yes"}, {"either": "yes"}, {"bronc": "yes", "tub": "no"}])
@pytest.mark.parametrize("given", [{}, {"dysp": "yes"}, {"xray": "yes", "dysp": "no"}])
def test_interventions_are_those_of_pyagrum_and_of_enumeration(do, given):
    made = asia()
    net, cut = made.ours(), made.agrum()
    for name, value in do.items():  # surgery by hand
        node = cut.idFromName(name)
        for parent in list(cut.parents(node)):
            cut.eraseArc(parent, node)
        cut.cpt(name).fillWith([1.0 if label == value else 0.0 for label in cut.variable(name).labels()])
    inference = gum.LazyPropagation(cut)
    inference.setEvidence(given)
    inference.makeInference()
    for queried in set(net.graph_.nodes) - set(do) - set(given):
        found = net.query(queried, given, do=do)
        posterior = inference.posterior(queried)
        for value, p in found.items():
            assert p == pytest.approx(posterior[{queried: value}], abs=1e-12)
        assert dict(found) == pytest.approx(truncated(net, queried, given, do), abs=1e-12)
        assert found.cut == tuple(arc for arc in net.graph_.arcs if arc[1] in do)


@pytest.mark.parametrize("do", [{"lung": "yes"}, {"bronc": "no"}, {"smoke": "yes"}])
def test_interventions_are_those_of_pgmpy(do):
    from pgmpy.inference import CausalInference

    made = asia()
    net, causal = made.ours(), CausalInference(made.pgmpy())
    for queried in ("dysp", "xray"):
        found = causal.query([queried], do=do, show_progress=False)
        expected = {value: found.get_value(**{queried: value}) for value in made.values[queried]}
        assert dict(net.query(queried, do=do)) == pytest.approx(expected, abs=1e-9)

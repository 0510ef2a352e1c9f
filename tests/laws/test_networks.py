"""The laws of networks: what must not matter does not, pieces add up, and probabilities are probabilities."""

from __future__ import annotations

import itertools
import math
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import countwise
from countwise import BayesNetwork, BayesNetworkClassifier, NaiveBayesClassifier
from countwise.errors import DataWarning

from .strategies import (
    DISTRIBUTIONS,
    Law,
    Rows,
    assert_logs_agree,
    assert_posteriors_agree,
    column,
    examples,
    joint_of,
    posterior_of,
    rows_of,
    some,
    splits,
)

NAMES = ("a", "b", "c", "d")
KINDS = Law(
    {
        "a": ("nominal", None),
        "b": ("nominal", None),
        "c": ("nominal", None),
        "d": ("nominal", None),
        "x": ("number", None),
        "y": ("number", None),
        "k": ("count", None),
    }
)
TYPES = {**dict.fromkeys(NAMES, "nominal"), "x": "numeric", "y": "numeric", "k": "count"}
ARCS = {"b": ["a"], "c": ["b", "a"], "d": ["c"], "x": ["a"], "k": ["b"]}
LINES = {**ARCS, "y": ["x", "d"]}
seeds = st.integers(0, 2**32 - 1)
several = examples(10)


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Small tables: a pool of threads for each would take longer than the laws themselves."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COUNTWISE_THREADS", "1")
        yield


def network(structure: Any = None, **changes: Any) -> BayesNetwork:
    return BayesNetwork(
        ARCS if structure is None else structure, **{"types": TYPES, "missing": "available", **changes}
    )


def of_names(law: Law = KINDS) -> Law:
    return Law({name: law.columns[name] for name in NAMES})


def by_value(net: BayesNetwork) -> dict[tuple[Any, ...], float]:
    """P(value | values of the parents) of every entry of every table, whatever the order of the values."""
    found = {}
    for name, table in net.net_.tables.items():
        family = (*net.graph_.parents[name], name)
        values = [net.net_.attributes[v].values for v in family]
        parents = sorted(range(len(family) - 1), key=lambda i: family[i])
        for at in np.ndindex(*table.shape):
            case = tuple((family[i], values[i][at[i]]) for i in parents)
            found[name, values[-1][at[-1]], case] = float(table[at])
    return found


def counted(net: BayesNetwork) -> dict[tuple[Any, ...], float]:
    """How often each combination of values was met, those that were not left out."""
    found = {}
    for name in net.net_.tables:
        tally = net.tallies_[name]
        values = [a.values for a in tally.axes]
        for at in np.ndindex(*tally.table.shape):
            if tally.table[at]:
                found[(name, *(v[i] for v, i in zip(values, at, strict=True)))] = tally.table[at]
    return found


def assert_same_network(ours: BayesNetwork, theirs: BayesNetwork, frame: Any, tolerance: float = 1e-9) -> None:
    """Counts exactly, probabilities and log-likelihoods to a tolerance."""
    assert counted(ours) == counted(theirs)
    one, two = by_value(ours), by_value(theirs)
    assert one.keys() == two.keys()
    np.testing.assert_allclose(list(one.values()), [two[key] for key in one], rtol=0, atol=1e-12)
    assert_logs_agree(ours.score_samples(frame), theirs.score_samples(frame), tolerance)


def all_seen(rows: Rows) -> bool:
    """Whether every column of names has a value: one of which nothing is known cannot have arcs."""
    return all(any(v is not None for v in rows.frame[name]) for name in NAMES)


def rows_seen(law: Law, **limits: int) -> st.SearchStrategy[Rows]:
    return rows_of(law, **limits).filter(all_seen)


# -- tallies -----------------------------------------------------------------------------------------------------


@several
@given(st.data())
@pytest.mark.parametrize("smoothing", [0, 1, "bdeu"])
def test_learning_in_any_split_is_learning_at_once(smoothing, data):
    rows = data.draw(rows_seen(KINDS, min_rows=4, max_rows=20))
    pieces = data.draw(splits(len(rows)))
    assume(all_seen(rows.take(pieces[0])))
    whole = network(smoothing=smoothing).fit(rows.frame, sample_weight=rows.weights)
    parts = network(smoothing=smoothing)
    for piece in pieces:
        part = rows.take(piece)
        parts.partial_fit(part.frame, sample_weight=part.weights)
    assert_same_network(parts, whole, rows.frame)


@several
@given(st.data())
def test_merging_two_networks_is_learning_from_both_tables(data):
    rows = data.draw(rows_seen(KINDS, min_rows=4, max_rows=20))
    cut = data.draw(st.integers(1, len(rows) - 1))
    one, two = rows.take(np.arange(cut)), rows.take(np.arange(cut, len(rows)))
    assume(all_seen(one) and all_seen(two))
    merged = network().fit(one.frame) + network().fit(two.frame)
    assert_same_network(merged, network().fit(rows.frame), rows.frame)


def numbers_of(seed: int, n: int) -> Rows:
    """Rows in which lines are well determined: of few rows they hang on the last bit."""
    rng = np.random.default_rng(seed)
    frame: dict[str, Any] = {}
    for name in NAMES:
        cells = rng.choice(np.array(["u", "v"], dtype=object), n)
        frame[name] = np.where(rng.random(n) < 0.1, None, cells)
    frame["x"] = np.where(rng.random(n) < 0.1, np.nan, rng.integers(-80, 80, n) / 8)
    frame["y"] = np.where(rng.random(n) < 0.1, np.nan, frame["x"] + rng.integers(-80, 80, n) / 8)
    frame["k"] = rng.integers(0, 6, n).astype(float)
    return Rows(frame, np.zeros(n), rng.integers(1, 4, n))


@several
@given(seeds, st.data())
def test_lines_between_numbers_are_learned_in_pieces_forgotten_and_weighed(seed, data):
    rows = numbers_of(seed, 80)
    whole = network(LINES).fit(rows.frame, sample_weight=rows.weights)
    parts = network(LINES)
    for piece in data.draw(splits(len(rows))):
        part = rows.take(piece)
        parts.partial_fit(part.frame, sample_weight=part.weights)
    assert_same_network(parts, whole, rows.frame, 1e-8)
    copies = network(LINES).fit(rows.take(np.repeat(np.arange(80), rows.weights)).frame)
    assert_same_network(copies, whole, rows.frame, 1e-8)
    more = numbers_of(seed + 1, 20)
    back = network(LINES).fit(rows.frame, sample_weight=rows.weights).partial_fit(more.frame).forget(more.frame)
    assert_same_network(back, whole, rows.frame, 1e-7)


@several
@given(st.data())
def test_forgetting_rows_is_never_having_seen_them(data):
    rows = data.draw(rows_seen(of_names(), min_rows=4, max_rows=20))
    cut = data.draw(st.integers(1, len(rows) - 1))
    kept, gone = rows.take(np.arange(cut)), rows.take(np.arange(cut, len(rows)))
    assume(all_seen(kept))
    arcs = {name: above for name, above in ARCS.items() if name in NAMES}
    types = dict.fromkeys(NAMES, "nominal")
    net = network(arcs, types=types).fit(kept.frame).partial_fit(gone.frame).forget(gone.frame)
    assert_same_network(net, network(arcs, types=types).fit(kept.frame), kept.frame, 1e-12)


@several
@given(st.data())
@pytest.mark.parametrize("missing", ["available", "em"])
def test_a_weight_of_n_is_n_copies_of_the_row(missing, data):
    rows = data.draw(rows_seen(KINDS, min_rows=4))
    copies = rows.take(np.repeat(np.arange(len(rows)), rows.weights))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "EM did not converge", category=DataWarning)  # of few rows it creeps
        weighed = network(missing=missing, max_iter=60).fit(rows.frame, sample_weight=rows.weights)
        copied = network(missing=missing, max_iter=60).fit(copies.frame)
    one, two = by_value(weighed), by_value(copied)
    np.testing.assert_allclose(list(one.values()), [two[key] for key in one], rtol=0, atol=1e-9)
    assert_logs_agree(weighed.score_samples(rows.frame), copied.score_samples(rows.frame), 1e-7)


@several
@given(st.data())
def test_the_order_of_the_rows_changes_nothing(data):
    rows = data.draw(rows_seen(KINDS, min_rows=4))
    order = data.draw(st.permutations(range(len(rows))))
    assert_same_network(network().fit(rows.take(order).frame), network().fit(rows.frame), rows.frame)


RENAMED = {"u": "ß", "v": "a", "w": "zebra 12", "ü": "", None: None}


def renamed(frame: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {n: column("nominal", [RENAMED[v] for v in c]) if n in NAMES else c for n, c in frame.items()}


@several
@given(st.data())
@pytest.mark.parametrize("missing", ["available", "em"])
def test_other_names_for_the_values_change_nothing(missing, data):
    rows = data.draw(rows_seen(of_names(), min_rows=4))
    types = dict.fromkeys(NAMES, "nominal")
    arcs = {name: above for name, above in ARCS.items() if name in NAMES}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "EM did not converge", category=DataWarning)
        one = network(arcs, types=types, missing=missing, max_iter=60).fit(rows.frame)
        two = network(arcs, types=types, missing=missing, max_iter=60).fit(renamed(rows.frame))
    theirs = by_value(two)
    for (name, value, case), p in by_value(one).items():
        key = (name, RENAMED[value], tuple((v, RENAMED[w]) for v, w in case))
        assert p == pytest.approx(theirs[key], abs=1e-9)


@several
@given(st.data())
@pytest.mark.parametrize("structure", ["chow_liu", "tan"])
def test_other_names_for_the_values_leave_trees_as_good(structure, data):
    """Of trees that tell the same, rounding may choose; their likelihood is the same then."""
    rows = data.draw(rows_of(of_names(), min_rows=4, gaps=False))
    how = {"types": dict.fromkeys(NAMES, "nominal"), "smoothing": 0, "target": "a"}
    one = network(structure, **how).fit(rows.frame)
    two = network(structure, **how).fit(renamed(rows.frame))
    assert one.score(rows.frame) == pytest.approx(two.score(renamed(rows.frame)), abs=1e-9)


# -- inference ---------------------------------------------------------------------------------------------------


def random_network(seed: int, zeros: float = 0.0) -> BayesNetwork:
    """Up to seven nodes of one to six values, so that small tables stand between large ones."""
    rng = np.random.default_rng(seed)
    names = [f"n{i}" for i in range(int(rng.integers(2, 8)))]
    net = BayesNetwork()
    sizes = {v: int(rng.integers(1, 7)) for v in names}
    for i, v in enumerate(names):
        net.add_node(v, [f"{v}{j}" for j in range(sizes[v])])
        above = rng.choice(names[:i], size=min(i, int(rng.integers(0, 3))), replace=False).tolist()
        for p in above:
            net.add_arc(p, v)
        table = rng.dirichlet(np.ones(sizes[v]), size=[sizes[p] for p in above])
        table[(rng.random(table.shape) < zeros) & (table < table.max(axis=-1, keepdims=True))] = 0.0
        net.set_cpt(v, table / table.sum(axis=-1, keepdims=True))
    return net


def evidence(net: BayesNetwork, seed: int, *, soft: bool = True) -> dict[str, Any]:
    """What a row that the network can make says of some nodes; weights now and then."""
    rng = np.random.default_rng(seed)
    row = net.sample(1, random_state=seed)
    known: dict[str, Any] = {}
    for name in net.graph_:
        if rng.random() < 0.3:
            known[name] = row[name][0]
            if soft and rng.random() < 0.3:
                values = net.net_.attributes[name].values
                known[name] = dict(zip(values, (rng.random(len(values)) + 0.1).tolist(), strict=True))
    return known


def free(net: BayesNetwork, known: dict[str, Any]) -> list[str]:
    return [name for name in net.graph_ if not isinstance(known.get(name), str)]


networks = st.builds(random_network, seeds, st.sampled_from([0.0, 0.4]))


@some
@given(networks, seeds)
def test_marginals_sum_to_1_and_are_what_elimination_says(net, seed):
    known = evidence(net, seed)
    marginals = net.marginals(known)
    for name in free(net, known):
        assert math.fsum(marginals[name].values()) == pytest.approx(1, abs=1e-12)
        ask = net.query(name, known)
        assert list(ask) == list(marginals[name])
        np.testing.assert_allclose(list(ask.values()), list(marginals[name].values()), rtol=0, atol=1e-12)


@some
@given(networks, seeds)
def test_joint_probabilities_sum_to_marginals(net, seed):
    known = evidence(net, seed)
    names = free(net, known)
    assume(len(names) >= 2)
    a, b = names[0], names[-1]
    joint = net.query([a, b], known)
    assert math.fsum(joint.values()) == pytest.approx(1, abs=1e-12)
    for i, name in enumerate((a, b)):
        for value, p in net.query(name, known).items():
            assert math.fsum(q for key, q in joint.items() if key[i] == value) == pytest.approx(p, abs=1e-12)
    swapped = net.query([b, a], known)
    assert all(swapped[y, x] == pytest.approx(p, abs=1e-12) for (x, y), p in joint.items())


@some
@given(networks, seeds, st.randoms(use_true_random=False))
def test_the_order_of_evidence_and_its_scale_change_nothing(net, seed, chance):
    known = evidence(net, seed)
    items = list(known.items())
    chance.shuffle(items)
    scaled = {k: {v: 7 * w for v, w in value.items()} if isinstance(value, dict) else value for k, value in items}
    assert net.log_evidence(dict(items)) == pytest.approx(net.log_evidence(known), abs=1e-12)
    for name in free(net, known):
        one, two = net.query(name, known), net.query(name, scaled)
        np.testing.assert_allclose(list(one.values()), list(two.values()), rtol=0, atol=1e-12)


@some
@given(networks, seeds)
def test_evidence_is_worth_the_product_of_its_parts(net, seed):
    """P(e1, e2) = P(e1) P(e2 | e1), one piece after the other."""
    known = evidence(net, seed, soft=False)
    total, before = 0.0, {}
    for name, value in known.items():
        total += math.log(net.query(name, before)[value])
        before[name] = value
    assert net.log_evidence(known) == pytest.approx(total, abs=1e-11)


@some
@given(networks, seeds)
def test_no_explanation_is_more_probable_than_the_most_probable(net, seed):
    known = evidence(net, seed, soft=False)
    best = net.most_probable_explanation(known)
    most = net.log_evidence({**known, **best})
    for drawn_seed in range(5):
        row = {name: cells[0] for name, cells in net.sample(1, random_state=drawn_seed).items()}
        other = {**row, **known}
        try:
            log = net.log_evidence(other)
        except countwise.errors.CountwiseError:
            continue
        assert log <= most + 1e-9


@some
@given(networks, seeds)
def test_a_missing_cell_is_the_sum_over_its_values(net, seed):
    rng = np.random.default_rng(seed)
    row = {name: cells[0] for name, cells in net.sample(1, random_state=seed).items()}
    row = {name: None if rng.random() < 0.3 else value for name, value in row.items()}
    name = list(net.graph_)[int(rng.integers(len(net.graph_)))]
    values = net.net_.attributes[name].values
    frame = {n: column("nominal", [v] * len(values) if n != name else list(values)) for n, v in row.items()}
    each = net.score_samples(frame)
    one = net.score_samples({n: column("nominal", [None if n == name else v]) for n, v in row.items()})
    assert math.log(math.fsum(np.exp(each))) == pytest.approx(one[0], abs=1e-10)
    known = {n: v for n, v in row.items() if v is not None and n != name}
    assert one[0] == pytest.approx(net.log_evidence(known), abs=1e-11)


@several
@given(networks, seeds)
def test_rows_drawn_with_one_seed_are_the_same_and_possible(net, seed):
    one, two = net.sample(30, random_state=seed), net.sample(30, random_state=seed)
    for name in net.graph_:
        assert one[name].tolist() == two[name].tolist()
    assert np.isfinite(net.score_samples(one)).all()
    for method in ("likelihood_weighting", "gibbs"):
        name = next(iter(net.graph_))
        ask = [net.query(name, method=method, n=50, random_state=seed % 1000) for _ in range(2)]
        assert ask[0] == ask[1]
        assert math.fsum(ask[0].values()) == pytest.approx(1, abs=1e-12)


# -- EM ----------------------------------------------------------------------------------------------------------


@several
@given(st.data())
def test_no_step_of_em_lowers_the_likelihood(data):
    rows = data.draw(rows_seen(of_names(), min_rows=6))
    arcs = {name: above for name, above in ARCS.items() if name in NAMES}
    how = {"types": dict.fromkeys(NAMES, "nominal"), "smoothing": 0, "missing": "em", "tol": 1e-6, "max_iter": 80}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "EM did not converge", category=DataWarning)
        net = network(arcs, **how).fit(rows.frame)
    assume(net.em_ is not None)
    logs = np.array(net.em_.log_likelihoods)
    assert (np.diff(logs) >= -1e-9 * np.maximum(1, np.abs(logs[1:]))).all()
    assert net.score(rows.frame) >= logs[-1] - 1e-9 * max(1, abs(logs[-1]))


@several
@given(st.data())
def test_em_without_gaps_is_counting(data):
    rows = data.draw(rows_of(KINDS, min_rows=4, gaps=False))
    assert_same_network(network(missing="em").fit(rows.frame), network().fit(rows.frame), rows.frame, 1e-12)


# -- files -------------------------------------------------------------------------------------------------------


@several
@given(data=st.data())
@pytest.mark.parametrize("missing", ["available", "em"])
def test_a_saved_network_answers_to_the_last_bit(missing, data, tmp_path_factory):
    rows = data.draw(rows_seen(KINDS, min_rows=4))
    place = tmp_path_factory.mktemp("net") / "net.json"
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "EM did not converge", category=DataWarning)
        net = network(missing=missing, max_iter=30).fit(rows.frame, sample_weight=rows.weights)
    countwise.save(net, place)
    again = countwise.load(place)
    assert by_value(again) == by_value(net)
    assert (again.score_samples(rows.frame) == net.score_samples(rows.frame)).all()
    countwise.save(again, place.with_name("again.json"))
    assert place.with_name("again.json").read_bytes() == place.read_bytes()


@several
@given(net=networks)
def test_a_network_by_hand_is_saved_and_written_to_the_last_bit(net, tmp_path_factory):
    place = tmp_path_factory.mktemp("net") / "net.json"
    net.marginals()
    countwise.save(net, place)
    net.write_bif(place.with_suffix(".bif"))
    for again in (countwise.load(place), BayesNetwork.read_bif(place.with_suffix(".bif"))):
        again.marginals()
        assert by_value(again) == by_value(net)


# -- a class -----------------------------------------------------------------------------------------------------

MIXED = Law({name: kind for name, kind in DISTRIBUTIONS["mixed"].columns.items() if name != "rain"})


@several
@given(st.data())
@pytest.mark.parametrize("smoothing", [0, 1])
@pytest.mark.parametrize("law", ["mixed", "categorical", "gaussian"])
def test_the_naive_network_is_naive_bayes(law, smoothing, data):
    law = MIXED if law == "mixed" else DISTRIBUTIONS[law]
    rows = data.draw(rows_of(law))
    asked = data.draw(rows_of(law))
    bayes = rows.fit(law.model(smoothing=smoothing), weighted=True)
    laws = {n: c for n, (_, c) in law.columns.items() if c not in ("categorical", "multinomial")}
    types = law.model().types
    net = BayesNetworkClassifier("naive", missing="available", smoothing=smoothing, distributions=laws, types=types)
    net.fit(rows.frame, rows.y, sample_weight=rows.weights)
    assert net.classes_.tolist() == bayes.classes_.tolist()
    joint = joint_of(bayes, asked.frame)
    assert_logs_agree(joint_of(net, asked.frame), joint, 1e-12)
    assert_posteriors_agree(posterior_of(net, asked.frame), posterior_of(bayes, asked.frame), joint, 1e-12)


@several
@given(st.data())
@pytest.mark.parametrize("structure", ["tan", "k_dependence", "hill_climb", "naive"])
def test_the_working_multiplies_to_the_posterior(structure, data):
    rows = data.draw(rows_of(KINDS, min_rows=6))
    assume(len(set(rows.y)) > 1)
    model = BayesNetworkClassifier(structure, types=TYPES, missing="available", ranges=2).fit(rows.frame, rows.y)
    proba, joint = posterior_of(model, rows.frame), joint_of(model, rows.frame)
    for i in range(min(len(rows), 5)):
        working = model.explain(rows.frame, row=i)
        logs = np.sum([[f.log for f in step.factors] for step in (working.prior, *working.used)], axis=0)
        share = np.exp(logs - logs.max())
        size = max(1.0, float(np.abs(joint[i][np.isfinite(joint[i])]).max(initial=1.0)))
        np.testing.assert_allclose(share / share.sum(), proba[i], rtol=0, atol=1e-9 * size)
        np.testing.assert_allclose(working.posterior, proba[i], rtol=0, atol=1e-9 * size)


@several
@given(st.data())
@pytest.mark.parametrize("structure", ["tan", "naive", "k_dependence"])
def test_a_class_is_told_as_the_network_is_asked(structure, data):
    law = of_names()
    rows = data.draw(rows_of(law, min_rows=6))
    how = {"types": dict.fromkeys(NAMES, "nominal"), "missing": "available"}
    model = BayesNetworkClassifier(structure, **how).fit(rows.frame, rows.y)
    proba = posterior_of(model, rows.frame)
    for i in range(min(len(rows), 4)):
        row = {name: cells[i] for name, cells in rows.frame.items() if name in model.graph_}
        there = {
            n: v for n, v in row.items() if v is None or v in getattr(model.net_.attributes.get(n), "values", ())
        }
        answer = model.query(model.target_.name, {n: v for n, v in there.items() if v is not None})
        np.testing.assert_allclose(proba[i], [answer[c] for c in model.classes_], rtol=0, atol=1e-12)


def test_both_kinds_of_bayes_are_told_apart_where_attributes_hang_together():
    """The laws above hold for structures that differ: a tree tells what naive Bayes cannot."""
    cells = list(itertools.product("uv", "uv")) * 5
    a, b = (column("nominal", [row[i] for row in cells]) for i in (0, 1))
    y = column("nominal", ["yes" if p == q else "no" for p, q in cells])
    tan = BayesNetworkClassifier("tan").fit({"a": a, "b": b}, y)
    naive = NaiveBayesClassifier().fit({"a": a, "b": b}, y)
    assert (tan.predict({"a": a, "b": b}) == y).all()
    np.testing.assert_allclose(naive.predict_proba({"a": a, "b": b}), 0.5, atol=1e-12)

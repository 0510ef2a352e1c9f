"""The first iterations of EM, written out: every number is recomputed by enumeration of the completions."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction

import numpy as np
import pytest

from countwise import BayesNetwork, BayesNetworkClassifier, samples
from countwise.errors import CountwiseError, OptionError

RAIN = ["no", "no", "yes", "yes", None, None, "no", "yes", None]
WET = ["no", "yes", "yes", None, "yes", None, None, "yes", "no"]
SLIP = ["no", "no", "yes", "yes", "yes", "no", "yes", "no", None]
ROWS = {"rain": RAIN, "wet": WET, "slip": SLIP}
PARENTS = {"rain": (), "wet": ("rain",), "slip": ("wet",)}
VALUES = ("no", "yes")


class ByHand:
    """EM over all completions, in fractions."""

    def __init__(self, rows, parents, weights, pseudo=0):
        self.rows = [dict(zip(rows, cells, strict=True)) for cells in zip(*rows.values(), strict=True)]
        self.parents, self.weights, self.pseudo = parents, weights, Fraction(pseudo)
        self.observed = self.counts([(row, w) for row, w in zip(self.rows, weights, strict=True)])
        self.tables = self.estimate(self.observed)

    def counts(self, weighted):
        """The counts of each family, over the rows in which it is observed."""
        found = {}
        for name, above in self.parents.items():
            cells = dict.fromkeys(itertools.product(VALUES, repeat=len(above) + 1), Fraction(0))
            for row, w in weighted:
                key = tuple(row[v] for v in (*above, name))
                if None not in key:
                    cells[key] += w
            found[name] = cells
        return found

    def estimate(self, counts):
        found = {}
        for name, cells in counts.items():
            sums = {}
            for key, n in cells.items():
                sums[key[:-1]] = sums.get(key[:-1], 0) + n + self.pseudo
            found[name] = {key: (n + self.pseudo) / sums[key[:-1]] for key, n in cells.items()}
        return found

    def completions(self, row):
        """Completions of a row with their joint probability; a value without observed descendants stays missing."""
        needed = {name for name, value in row.items() if value is not None}
        while more := {p for name in needed for p in self.parents[name]} - needed:
            needed |= more
        gone = [name for name in row if row[name] is None and name in needed]
        for cells in itertools.product(VALUES, repeat=len(gone)):
            whole = {**row, **dict(zip(gone, cells, strict=True))}
            p = Fraction(1)
            for name in needed:
                p *= self.tables[name][tuple(whole[v] for v in (*self.parents[name], name))]
            yield tuple(cells), whole, p

    def step(self):
        """One iteration: completions by row, expected counts, log-likelihood; then the tables are replaced."""
        weighted, log, listed = [], 0.0, {}
        for i, (row, w) in enumerate(zip(self.rows, self.weights, strict=True)):
            found = list(self.completions(row))
            total = sum(p for *_, p in found)
            log += float(w) * float(np.log(float(total)))
            weighted += [(whole, w * p / total) for _, whole, p in found if total]
            listed[i] = [(p, p / total) for _, _, p in found if p]
        counts = self.counts(weighted)
        self.tables = self.estimate(counts)
        return listed, counts, log


def sections_of(account):
    return {section.title: section for section in account.sections}


@pytest.mark.parametrize("weights", [[1] * 9, [1, 2, 1, 3, 2, 1, 1, 4, 2]])
@pytest.mark.parametrize("smoothing", [0, 1, 0.5])
def test_every_number_of_three_iterations_is_that_of_enumeration(weights, smoothing):
    net = BayesNetwork({"wet": ["rain"], "slip": ["wet"]}, smoothing=smoothing).fit(ROWS, sample_weight=weights)
    account = net.explain_em(ROWS, sample_weight=weights, iterations=3)
    sections, hand = sections_of(account), ByHand(ROWS, PARENTS, list(map(Fraction, weights)), smoothing)
    for name, above in PARENTS.items():
        start = sections[f"Start: P({name}{' | ' + ', '.join(above) if above else ''})"].table
        shown = list(zip(*(start[f"{name} = {v}"] for v in VALUES), strict=True))
        keys = list(itertools.product(VALUES, repeat=len(above)))
        np.testing.assert_allclose(shown, [[float(hand.tables[name][(*k, v)]) for v in VALUES] for k in keys])
    for i in (1, 2, 3):
        observed = hand.observed
        listed, counts, log = hand.step()
        step = sections[f"Iteration {i}, E step: completions"]
        incomplete = [3, 4, 5, 6, 8]
        numbers = [(float(p), float(q), float(q) * weights[k]) for k in incomplete for p, q in listed[k]]
        columns = zip(step.table["joint"], step.table["P"], step.table["weight"], strict=True)
        np.testing.assert_allclose(
            *(sorted(some, key=lambda c: np.round(c, 9).tolist()) for some in (columns, numbers))
        )
        assert [row for row in step.table["row"] if row] == [str(k) for k in incomplete]
        assert step.lines[-1].startswith("Log-likelihood")
        assert net.em_.log_likelihoods[i - 1] == pytest.approx(log)
        for name, above in PARENTS.items():
            title = f"P({name}{' | ' + ', '.join(above) if above else ''})"
            table = sections[f"Iteration {i}, M step: {title}"].table
            keys = list(zip(*(table[v] for v in (*above, name)), strict=True))
            np.testing.assert_allclose(table["observed"], [float(observed[name][key]) for key in keys])
            expected = [float(counts[name][key] - observed[name][key]) for key in keys]
            np.testing.assert_allclose(table["expected"], expected, atol=1e-12)
            np.testing.assert_allclose(table[title], [float(hand.tables[name][key]) for key in keys])
            for p in table[title]:
                above_line, below = p.text.strip("()").replace(")/(", "/").split("/")
                written = sum(map(float, above_line.split(" + "))) / sum(map(float, below.split(" + ")))
                assert written == pytest.approx(float(p), abs=1e-5)
    logs = sections["Log-likelihood of the observed values"].table
    assert logs["log-likelihood"][:3] == pytest.approx(net.em_.log_likelihoods[:3])


def test_identical_rows_are_shown_together_with_their_numbers():
    tennis = samples.load("tennis").columns("outlook", "wind")
    net = BayesNetwork({"outlook": ["c"], "wind": ["c"]}, latent={"c": 2}).fit(tennis)
    account = net.explain_em(tennis, iterations=1)
    table = sections_of(account)["Iteration 1, E step: completions"].table
    assert len(table["row"]) == 12
    assert table["row"][0] == "0, 7, 8"
    assert sum(table["weight"]) == pytest.approx(14)
    counts = sections_of(account)["Iteration 1, M step: P(c)"].table
    by_value = [sum(table["weight"][k::2]) for k in range(2)]
    assert counts["expected"] == pytest.approx(by_value)
    assert counts["observed"] == [0, 0]
    assert "c is never observed; EM starts from random tables." in sections_of(account)["The rows"].lines
    fewer = net.explain_em(tennis, iterations=1, rows=2)
    assert "4 more rows" in str(fewer)


def mixed(n=120, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.choice(["u", "v"], n).astype(object)
    x = rng.normal(np.where(a == "u", 0.0, 2.0))
    y = 2 * x + rng.normal(size=n)
    b = np.where(rng.random(n) < 0.8, a, "u").astype(object)
    a[::9], x[::7], b[::11] = None, np.nan, None
    return {"a": a, "x": x, "y": y, "b": b}


def test_missing_numbers_have_their_mean_and_deviation():
    rows = mixed()
    net = BayesNetwork({"x": ["a"], "y": ["x"], "b": ["a"]}).fit(rows)
    account = net.explain_em(rows, iterations=1, rows=200)
    sections = sections_of(account)
    table = sections["Iteration 1, E step: completions"].table
    places = [i for i, row in enumerate(table["row"]) if row == "7"]
    assert table["completion"][places[0]].startswith("x = ")
    assert "±" in table["completion"][places[0]]
    shown = {int(row) for row in table["row"] if row}
    assert shown == set(range(0, 120, 9)) | set(range(0, 120, 7))  # b has no observed descendant
    assert np.isfinite(table["weight"]).all()
    n = sum(sections["Iteration 1, M step: p(x | a)"].table["n"])
    assert n == pytest.approx(120)
    first = net.em_.log_likelihoods[0]
    assert sections["Log-likelihood of the observed values"].table["log-likelihood"][0] == pytest.approx(first)


def test_a_classifier_and_frames_of_every_kind():
    tennis = samples.load("tennis").frame
    rows = {name: list(tennis[name]) for name in ("outlook", "wind")}
    rows["outlook"][0] = rows["outlook"][5] = None
    y = list(tennis["play"])
    model = BayesNetworkClassifier({"outlook": ["class"], "wind": ["outlook"]}).fit(rows, y)
    text = str(model.explain_em(rows, y))
    assert "EM does not change the tables of class." in text
    for library in ("pandas", "polars", "pyarrow"):
        module = pytest.importorskip(library)
        frame = module.table(rows) if library == "pyarrow" else module.DataFrame(rows)
        assert str(model.explain_em(frame, y)) == text


@pytest.mark.parametrize("structure", [{"wet": ["rain"], "slip": ["wet"]}, "hill_climb", "naive"])
def test_the_report_is_data_and_fits_a_terminal(structure):
    net = BayesNetwork(structure, target="slip" if structure == "naive" else None).fit(ROWS)
    try:
        account = net.explain_em(ROWS)
    except CountwiseError:
        assert not net.graph_.arcs
        return
    assert json.loads(json.dumps(account.to_dict()))["sections"]
    assert max(map(len, account.text(80).splitlines())) <= 80
    assert r"\text{completion}" in account.latex(56)


@pytest.mark.parametrize(
    ("settings", "rows", "arguments", "message"),
    [
        ({}, {"rain": ["no", "yes"], "wet": ["no", "yes"], "slip": ["no", "yes"]}, {}, "No value is missing"),
        ({"missing": "available"}, ROWS, {}, "does not use EM"),
        ({}, ROWS, {"iterations": 0}, "iterations must be"),
        ({}, ROWS, {"iterations": "two"}, "iterations must be"),
        ({}, ROWS, {"rows": 0}, "rows must be"),
        ({}, {"rain": [], "wet": [], "slip": []}, {}, "empty"),
    ],
)
def test_what_cannot_be_shown_is_refused(settings, rows, arguments, message):
    net = BayesNetwork({"wet": ["rain"], "slip": ["wet"]}, **settings).fit(ROWS)
    with pytest.raises(CountwiseError, match=message):
        net.explain_em(rows, **arguments)


def test_tables_by_hand_have_no_rows_to_complete():
    net = BayesNetwork().add_node("rain", [0, 1], [0.8, 0.2])
    with pytest.raises(OptionError, match="specified by hand"):
        net.explain_em({"rain": [0, None]})

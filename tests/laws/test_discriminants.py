"""The laws of discriminants: the tally of whole rows adds up, and the model does not care how the rows came."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countwise import DiscriminantClassifier, Nominal, Numeric
from countwise.data.table import Table
from countwise.data.vectors import Vector, numbers_of_codes
from countwise.errors import CountwiseError
from countwise.tallies import Scatter

from .strategies import CLASSES, NOMINAL, few, joint_of, posterior_of, some, splits

NAN = float("nan")


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Small tables: a pool of threads for each would take longer than the laws themselves."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COUNTWISE_THREADS", "1")
        yield


def objects(values: Any) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = list(values)
    return array


# -- the tally ----------------------------------------------------------------------------------------------

Part = tuple[np.ndarray, np.ndarray, np.ndarray, Any]  # numbers (rows, 2), names, classes, weights


@st.composite
def parts(draw: Any, count: int, *, weighted: bool = False, least: int = 1) -> list[Part]:
    """Several parts of one table: two columns of eighths and one of names, all with gaps."""
    found = []
    for _ in range(count):
        n = draw(st.integers(0, 7))
        raw = np.frombuffer(draw(st.binary(min_size=8 * n, max_size=8 * n)), dtype=np.uint8).reshape(n, 8).astype(int)
        numbers = np.where(raw[:, :2] % 5 == 4, NAN, (raw[:, 2:4] - 128) / 8)
        names = objects([None if g % 6 == 5 else NOMINAL[v % 4] for g, v in zip(raw[:, 4], raw[:, 5], strict=True)])
        y = objects([CLASSES[b % 3] for b in raw[:, 6]])
        found.append((numbers, names, y, least + raw[:, 7] % 3 if weighted else None))
    return found


def together(a: Part, b: Part) -> Part:
    weights = None if a[3] is None else np.concatenate([a[3], b[3]])
    return (*(np.concatenate([x, z]) for x, z in zip(a[:3], b[:3], strict=True)), weights)  # type: ignore[return-value]


def vector(names: Any = NOMINAL) -> Vector:
    return Vector("x", (Numeric("u"), Nominal("w", tuple(names), grows=True), Numeric("v")))


def filled(part: Part, given: Nominal | None = None, of: Vector | None = None, *, higher: bool = True) -> Scatter:
    numbers, names, y, weights = part
    given, of = given or Nominal("y", CLASSES), of or vector()
    wind = of.attributes[1]
    assert isinstance(wind, Nominal)
    columns = [numbers[:, 0], *numbers_of_codes(wind, wind.encode(names)), numbers[:, 1]]
    return Scatter(given, of, higher).fill(Table({"x": columns, "y": given.encode(y)}, len(y), weights))


def assert_equal(a: Scatter, b: Scatter, tolerance: float = 1e-12) -> None:
    """The same patterns and numbers of rows; moments to a share of the scale of the numbers, 16."""
    assert (a.given, a.of) == (b.given, b.of)
    ours, theirs = ({k: c for k, c in (t.cells or {}).items() if c.n.any()} for t in (a, b))
    assert sorted(ours) == sorted(theirs)
    for key, one in ours.items():
        other = theirs[key]
        np.testing.assert_array_equal(one.n, other.n)
        there = one.n > 0
        np.testing.assert_allclose(one.mean[there], other.mean[there], rtol=0, atol=tolerance * 16)
        size = one.n.sum()
        np.testing.assert_allclose(one.scattered(), other.scattered(), rtol=0, atol=size * tolerance * 16**2)
        if key != a._full or not (a.higher and b.higher):
            continue  # third and fourth moments are those of the complete rows alone
        assert one.higher is not None
        assert other.higher is not None
        for power, pair in enumerate(zip(one.higher, other.higher, strict=True), 3):
            np.testing.assert_allclose(*pair, rtol=0, atol=size * tolerance * 16**power)


def by_hand(part: Part, of: Vector) -> dict[tuple[bool, ...], list[tuple[float, Any, Any, Any, Any]]]:
    """Row by row, pattern by pattern, class by class: n, mean, scatter, third and fourth moments."""
    numbers, names, y, weights = part
    w = np.ones(len(y)) if weights is None else weights.astype(float)
    values = of.attributes[1].values  # type: ignore[attr-defined]
    ones = np.array([[NAN if cell is None else float(cell == v) for v in values] for cell in names])
    cells = np.column_stack([numbers[:, :1], ones.reshape(len(y), len(values)), numbers[:, 1:]])
    found = {}
    for pattern in {tuple(row) for row in ~np.isnan(cells)}:
        if not any(pattern):
            continue
        rows = (~np.isnan(cells) == pattern).all(axis=1)
        found[pattern] = []
        for c in CLASSES:
            own, u = cells[rows & (y == c)][:, pattern], w[rows & (y == c)]
            mean = u @ own / u.sum() if u.sum() else np.zeros(own.shape[1])
            away = own - mean
            moments = [
                sum((uu * np.outer(r**p, r**q) for uu, r in zip(u, away, strict=True)), np.zeros((len(mean),) * 2))
                for p, q in ((1, 1), (2, 1), (2, 2))
            ]
            found[pattern].append((u.sum(), mean, *moments))
    return found


@some
@given(data=st.data())
def test_a_scatter_is_what_a_loop_over_the_rows_gives(data):
    (part,) = data.draw(parts(1, weighted=True))
    tally, wanted = filled(part), by_hand(part, vector())
    assert {tuple(there.tolist()) for there, _ in tally.patterns} == set(wanted)
    for there, cells in tally.patterns:
        moments = cells.scattered(), *(cells.higher or ())
        assert len(moments) == 3
        for c, (n, mean, *rest) in enumerate(wanted[tuple(there.tolist())]):
            assert cells.n[c] == n
            np.testing.assert_allclose(cells.mean[c], mean, rtol=0, atol=1e-13 * 16)
            for power, (ours, theirs) in enumerate(zip(moments, rest, strict=False), 2):
                np.testing.assert_allclose(ours[c], theirs, rtol=0, atol=max(n, 1) * 1e-13 * 16**power)


@some
@given(data=st.data())
def test_scatters_are_a_commutative_monoid(data):
    a, b, c = map(filled, data.draw(parts(3, weighted=True)))
    assert_equal((a + b) + c, a + (b + c))
    assert_equal(a + b, b + a)
    blank = Scatter(a.given, a.of, higher=True)
    for sum_ in (a + blank, blank + a, a - blank):  # to the last bit
        assert_equal(sum_, a, 0.0)


@some
@given(data=st.data())
def test_a_scatter_of_two_parts_is_the_sum_of_theirs(data):
    a, b = data.draw(parts(2, weighted=True))
    assert_equal(filled(together(a, b)), filled(a) + filled(b))


@some
@given(data=st.data())
def test_what_was_added_to_a_scatter_can_be_taken_back(data):
    """Fourth moments go through seven differences of numbers as large as the whole: 1e-11 of it."""
    a, b = map(filled, data.draw(parts(2, weighted=True)))
    assert_equal(a + b - b, a, 1e-11)


@some
@given(data=st.data())
def test_names_and_classes_that_come_late_widen_a_scatter_and_go_with_their_rows(data):
    a, b = data.draw(parts(2, weighted=True))
    given = [Nominal("y", grows=True).learn(part[2]) for part in (a, b)]
    of = [vector(Nominal("w", grows=True).learn(part[1]).values) for part in (a, b)]
    whole_given, whole_of = given[0].join(given[1]), of[0].join(of[1])
    one, two = filled(a, given[0], of[0]), filled(b, given[1], of[1])
    sum_, whole = one + two, filled(together(a, b), whole_given, whole_of)
    assert_equal(sum_, whole)
    assert_equal(sum_ - two, filled(a, whole_given, whole_of), 1e-11)
    back = (sum_ - two).within({"y": given[0], "x": of[0]})
    assert_equal(back, one, 1e-11)


@some
@given(data=st.data())
def test_weights_of_a_scatter_are_copies_and_order_is_nothing(data):
    (part,) = data.draw(parts(1, weighted=True, least=0))
    numbers, names, y, w = part
    copies = np.repeat(np.arange(len(y)), w)
    assert_equal(filled(part), filled((numbers[copies], names[copies], y[copies], None)))
    order = np.array(data.draw(st.permutations(range(len(y)))), dtype=int)
    assert_equal(filled(part), filled((numbers[order], names[order], y[order], w[order])))


@some
@given(data=st.data())
def test_a_scatter_written_as_plain_data_comes_back_to_the_last_bit(data):
    (part,) = data.draw(parts(1, weighted=True))
    tally = filled(part)
    back = Scatter.from_dict(tally.to_dict(), {"y": tally.given, "x": tally.of})
    assert_equal(back, tally, 0.0)
    assert back.to_dict() == tally.to_dict()


def test_taking_back_rows_that_were_never_there_is_refused():
    one = filled((np.array([[1.0, 2.0]]), objects(["u"]), objects(["no"]), None))
    gap = filled((np.array([[1.0, NAN]]), objects(["u"]), objects(["no"]), None))
    for a, b in ((Scatter(one.given, one.of, higher=True), one), (one, gap), (gap, one), (one, one + one)):
        with pytest.raises(CountwiseError, match="forget only rows"):
            a - b


# -- the model ----------------------------------------------------------------------------------------------

MODELS: dict[str, dict[str, Any]] = {
    "shared": {"covariance": "shared"},
    "own": {"covariance": "own"},
    "diagonal": {"covariance": "diagonal"},
    "spherical": {"covariance": "spherical"},
    "shared, n - classes": {"covariance": "shared", "divisor": "n-classes"},
    "own, n - 1": {"covariance": "own", "divisor": "n-classes"},
    "shared, shrunk": {"shrinkage": 0.3},
    "shared, Ledoit and Wolf": {"shrinkage": "auto"},
    "own, Ledoit and Wolf": {"covariance": "own", "shrinkage": "auto"},
    "own, OAS": {"covariance": "own", "shrinkage": "oas"},
    "shared, complete rows": {"missing": "complete"},
}
every_model = pytest.mark.parametrize("name", list(MODELS))
with_gaps = pytest.mark.parametrize("gaps", [False, True], ids=["complete", "gaps"])

# Each class has these rows, so that no covariance is near singular and what is taken back leaves most of the spread
BASE = np.array([[4, 0, 1], [-3, 1, 0], [0, 5, -1], [1, -4, 1], [0, 1, 3], [1, 0, -6], [2, 2, 2], [-1, -2, 1.5]])


@st.composite
def rows_of(draw: Any, *, gaps: bool, base: bool = True, least: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Three columns, three classes and whole weights."""
    n = draw(st.integers(2, 16))
    raw = np.frombuffer(draw(st.binary(min_size=8 * n, max_size=8 * n)), dtype=np.uint8).reshape(n, 8).astype(int)
    X = (raw[:, :3] - 128) / 16
    X = np.where(raw[:, 3:6] % 4 == 3, NAN, X) if gaps else X
    y, w = objects([CLASSES[b % 3] for b in raw[:, 6]]), least + raw[:, 7] % 3
    if base:
        shifts = np.array([[0, 0, 0], [1, 0, 2], [0, -1.5, 1]])
        X = np.concatenate([X, *(BASE * (1 + c / 2) + shift for c, shift in enumerate(shifts))])
        y, w = (
            np.concatenate([y, np.repeat(objects(CLASSES), len(BASE))]),
            np.concatenate([w, np.ones(24, dtype=int)]),
        )
    return X, y, w


def tolerance_of(*, gaps: bool) -> float:
    """EM stops at a step of 1e-10: two runs end within that over 1 - rate of each other, and the rate is < 0.999."""
    return 1e-7 if gaps else 1e-9


def assert_same(ours: Any, theirs: Any, X: Any, tolerance: float, X_theirs: Any = None) -> None:
    X_theirs = X if X_theirs is None else X_theirs
    assert ours.classes_.tolist() == theirs.classes_.tolist()
    joint, wanted = joint_of(ours, X), joint_of(theirs, X_theirs)
    assert np.isfinite(wanted).all()
    np.testing.assert_allclose(joint, wanted, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(posterior_of(ours, X), posterior_of(theirs, X_theirs), rtol=0, atol=tolerance * 10)


def model(name: str) -> DiscriminantClassifier:
    return DiscriminantClassifier(**MODELS[name])


@every_model
@with_gaps
@few
@given(data=st.data())
def test_learning_in_pieces_merging_and_learning_at_once_are_one(name, gaps, data):
    X, y, w = data.draw(rows_of(gaps=gaps))
    order = np.array(data.draw(st.permutations(range(len(y)))))
    X, y, w = X[order], y[order], w[order]
    whole = model(name).fit(X, y, sample_weight=w)
    # the base rows come first, so that a covariance can be learned from every piece
    first = np.argsort(order < len(y) - 24, kind="stable")
    X, y, w = X[first], y[first], w[first]
    pieces = data.draw(splits(len(y) - 24))
    pieces[0] = np.concatenate([np.arange(24), pieces[0] + 24])
    pieces[1:] = [piece + 24 for piece in pieces[1:]]
    learned = model(name)
    for piece in pieces:
        learned.partial_fit(X[piece], y[piece], sample_weight=w[piece])
    assert learned.n_rows_ == whole.n_rows_
    assert_same(learned, whole, X, tolerance_of(gaps=gaps))
    a, b = (np.concatenate([np.arange(24), rest]) for rest in (np.arange(24, 25), np.arange(25, len(y))))
    one, two = (model(name).fit(X[part], y[part], sample_weight=w[part]) for part in (a, b))
    both = np.concatenate([a, b])
    sum_ = model(name).fit(X[both], y[both], sample_weight=w[both])
    assert_same(one + two, sum_, X, tolerance_of(gaps=gaps))
    assert_same(two + one, sum_, X, tolerance_of(gaps=gaps))


@pytest.mark.filterwarnings("ignore:The remaining values vary far less")  # see the unit tests for when it is due
@every_model
@with_gaps
@few
@given(data=st.data())
def test_forgetting_rows_is_never_having_seen_them(name, gaps, data):
    """Moments taken back are rounded as the whole's were: a digit less than learning in pieces."""
    X, y, w = data.draw(rows_of(gaps=gaps))
    Z, z, v = data.draw(rows_of(gaps=gaps, base=False))
    only = model(name).fit(X, y, sample_weight=w)
    learned = model(name).fit(np.concatenate([X, Z]), np.concatenate([y, z]), sample_weight=np.concatenate([w, v]))
    learned.forget(Z, z, sample_weight=v)
    assert learned.n_rows_ == only.n_rows_
    assert learned.n_complete_ == only.n_complete_
    np.testing.assert_allclose(learned.shrinkage_, only.shrinkage_, rtol=0, atol=10 * tolerance_of(gaps=gaps))
    assert_same(learned, only, X, 10 * tolerance_of(gaps=gaps))


@every_model
@with_gaps
@few
@given(data=st.data())
def test_weights_are_copies_and_a_weight_of_0_is_no_row(name, gaps, data):
    X, y, w = data.draw(rows_of(gaps=gaps, least=0))
    weighted = model(name).fit(X, y, sample_weight=w)
    copies = np.repeat(np.arange(len(y)), w)
    assert_same(weighted, model(name).fit(X[copies], y[copies]), X, tolerance_of(gaps=gaps))


def test_a_row_with_a_gap_that_weighs_nothing_does_not_change_the_shrinkage():
    X = np.concatenate([BASE, BASE * 1.5 + 1, [[NAN, 1, 1]]])
    y, w = objects([*["no"] * 8, *["yes"] * 8, "no"]), np.array([1] * 16 + [0])
    weighted = model("shared, Ledoit and Wolf").fit(X, y, sample_weight=w)
    plain = model("shared, Ledoit and Wolf").fit(X[:16], y[:16])
    np.testing.assert_array_equal(weighted.shrinkage_, plain.shrinkage_)


@every_model
@with_gaps
@few
@given(data=st.data())
def test_the_order_of_rows_and_columns_and_the_names_of_classes_change_nothing(name, gaps, data):
    X, y, _ = data.draw(rows_of(gaps=gaps))
    one = model(name).fit(X, y)
    order = np.array(data.draw(st.permutations(range(len(y)))))
    assert_same(model(name).fit(X[order], y[order]), one, X, tolerance_of(gaps=gaps))
    turn = np.array(data.draw(st.permutations(range(3))))
    assert_same(model(name).fit(X[:, turn], y), one, X[:, turn], tolerance_of(gaps=gaps), X)
    names = dict(zip(CLASSES, data.draw(st.permutations(["Ä", "b", "z"])), strict=True))
    other = model(name).fit(X, objects([names[c] for c in y]))
    place = [other.classes_.tolist().index(names[c]) for c in CLASSES]
    np.testing.assert_allclose(other.predict_proba(X)[:, place], one.predict_proba(X), rtol=0, atol=1e-7)


@st.composite
def maps(draw: Any) -> tuple[np.ndarray, np.ndarray]:
    """A rotation, scales from 1/8 to 8, and another rotation; and a shift."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    one, two = (np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(2))
    return one @ np.diag(2.0 ** rng.integers(-3, 4, 3)) @ two, rng.normal(size=3) * 10


@pytest.mark.parametrize("name", ["shared", "own", "shared, n - classes", "own, n - 1"])
@some
@given(data=st.data())
def test_an_affine_map_of_the_columns_changes_no_posterior(name, data):
    X, y, _ = data.draw(rows_of(gaps=False))
    A, b = data.draw(maps())
    plain, mapped = model(name).fit(X, y), model(name).fit(X @ A + b, y)
    np.testing.assert_allclose(mapped.predict_log_proba(X @ A + b), plain.predict_log_proba(X), rtol=1e-9, atol=1e-9)
    # the density is that of the mapped columns: |det A| smaller
    moved = mapped.predict_joint_log_proba(X @ A + b) + np.log(abs(np.linalg.det(A)))
    np.testing.assert_allclose(moved, plain.predict_joint_log_proba(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["spherical", "shared, shrunk"])
@some
@given(data=st.data())
def test_a_rotation_changes_no_posterior_of_one_variance_or_of_a_given_shrinkage(name, data):
    X, y, _ = data.draw(rows_of(gaps=False))
    A, b = data.draw(maps())
    Q = np.linalg.qr(A)[0]
    plain, turned = model(name).fit(X, y), model(name).fit(X @ Q + b, y)
    np.testing.assert_allclose(turned.predict_log_proba(X @ Q + b), plain.predict_log_proba(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", [name for name in MODELS if name not in ("spherical", "shared, shrunk")])
@some
@given(data=st.data())
def test_scales_and_shifts_change_no_posterior_of_laws_that_have_no_scale(name, data):
    X, y, _ = data.draw(rows_of(gaps=True))
    scales = 2.0 ** np.array(data.draw(st.tuples(*[st.integers(-12, 12)] * 3)))
    plain, scaled = model(name).fit(X, y), model(name).fit(X * scales + scales, y)
    np.testing.assert_allclose(scaled.predict_proba(X * scales + scales), plain.predict_proba(X), rtol=0, atol=1e-7)


@every_model
@with_gaps
@few
@given(data=st.data())
def test_posteriors_add_up_and_an_empty_row_gets_the_prior_exactly(name, gaps, data):
    X, y, _ = data.draw(rows_of(gaps=gaps))
    learned = model(name).fit(X, y)
    proba = learned.predict_proba(np.concatenate([X, X * 100, np.full((1, 3), NAN)]))
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-14)
    assert ((proba >= 0) & (proba <= 1)).all()
    np.testing.assert_allclose(proba[-1], learned.class_prior_, rtol=4e-16)  # exp(log p) is p to the last place
    np.testing.assert_array_equal(learned.predict_joint_log_proba(np.full((1, 3), NAN))[0], learned.log_prior_)
    np.testing.assert_array_equal(learned.predict_proba(X[:1]), learned.predict_proba(X)[:1])


@every_model
@with_gaps
@few
@given(data=st.data())
def test_the_working_is_the_answer_and_its_columns_add_up(name, gaps, data):
    X, y, _ = data.draw(rows_of(gaps=gaps))
    learned = model(name).fit(X, y)
    for row in range(0, len(X), 7):
        working = learned.explain(X, row=row)
        joint = learned.predict_joint_log_proba(X)[row]
        np.testing.assert_allclose(working.log_joint, joint, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(working.posterior, learned.predict_proba(X)[row], rtol=1e-12, atol=1e-12)
        logs = np.array([[f.log for f in step.factors] for step in working.steps if step.factors]).reshape(-1, 3)
        np.testing.assert_allclose(learned.log_prior_ + logs.sum(axis=0), joint, rtol=1e-9, atol=1e-9)
        if not working.sections:
            continue
        forms, last = [s for s in working.sections if s.title.endswith(": density of the row")], working.sections[-1]
        scores = next(s.table for s in working.sections if s.title == "Score of each class")
        np.testing.assert_allclose(scores["score"], [joint[working.classes.index(c)] for c in scores[""]], rtol=1e-12)
        odds = [float(cell) for cell in last.table["log-odds"]]
        # cells are written to three places: each may be off by half of the last
        assert abs(sum(odds[:-1]) - odds[-1]) <= 0.0005 * len(odds) + 1e-9
        assert abs(odds[-1] - (joint[working.chosen] - joint[working.rival])) <= 0.0005 + 1e-9
        shown = [c for c in range(3) if any(f"= {working.classes[c]}:" in form.title for form in forms)]
        for c, form in zip(shown, forms, strict=True):
            t = ~np.isnan(X[row])
            cov = learned.covariance_ if learned.covariance_.ndim == 2 else learned.covariance_[c]
            away = X[row][t] - learned.means_[c][t]
            square = away @ np.linalg.solve(cov[np.ix_(t, t)], away)
            np.testing.assert_allclose(sum(form.table["product"]), square, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", list(MODELS))
def test_one_thread_and_two_give_the_same_bits(name, monkeypatch):
    rng = np.random.default_rng(0)
    n = 150_000  # several blocks
    y = rng.integers(0, 3, n)
    X = rng.normal(size=(n, 4)) + y[:, None] * rng.normal(size=4)
    X[rng.random(n) < 0.2, 1] = NAN
    X[rng.random(n) < 0.1, 3] = NAN
    found = []
    for threads in ("1", "2"):
        monkeypatch.setenv("COUNTWISE_THREADS", threads)
        learned = model(name).fit(X, y)
        found.append((learned.means_, learned.covariance_, learned.shrinkage_, learned.predict_joint_log_proba(X)))
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)

"""PEBLS: weights of exemplars, and answers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from countwise import NeighborsClassifier, PEBLSClassifier, load, samples, save
from countwise.errors import CountwiseError, DataWarning
from countwise.neighbors import DistanceMetric


def table(n: int = 120, seed: int = 0) -> tuple[dict[str, np.ndarray], np.ndarray]:
    rng = np.random.default_rng(seed)
    X = {
        "n": np.array(list("abcd"), dtype=object)[rng.integers(0, 4, n)],
        "m": np.array(list("uv"), dtype=object)[rng.integers(0, 2, n)],
        "x": rng.integers(0, 6, n).astype(float),
    }
    y = np.where((X["n"] == "a") | (X["x"] + rng.normal(size=n) > 4), "yes", "no")
    return X, y


def naive(X: dict[str, np.ndarray], y: np.ndarray, k: int, passes: int) -> tuple[np.ndarray, np.ndarray]:
    """Row by row, with ties shared."""
    sums = DistanceMetric(nominal="mvdm").fit(X, y).pairwise(X) ** 2
    n = len(y)
    weight = np.ones(n)
    for _ in range(passes):
        used, right = np.ones(n), np.ones(n)
        for i in range(n):
            gaps = np.round(sums[i] * weight, 10)
            gaps[i] = np.inf
            left = float(k)
            for value in np.unique(gaps):
                group = np.flatnonzero(gaps == value)
                share = min(1.0, left / len(group))
                used[group] += share
                right[group[y[group] == y[i]]] += share
                left -= share * len(group)
                if left <= 1e-12:
                    break
        weight = used / right
    return used, right


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("passes", [1, 2])
def test_uses_are_those_of_a_loop_over_all_rows(k, passes):
    X, y = table()
    model = PEBLSClassifier(k, passes=passes).fit(X, y)
    used, right = naive(X, y, k, passes)
    np.testing.assert_allclose(model.exemplars_["used"], used, rtol=1e-9)
    np.testing.assert_allclose(model.exemplars_["right"], right, rtol=1e-9)
    np.testing.assert_allclose(model.exemplar_weights_, used / right, rtol=1e-9)


def test_an_unreliable_exemplar_is_asked_less():
    """The nearest row was wrong when it was asked; the next one, a little further, is told instead."""
    X = {"x": np.array([0.0, 1.0, 2.4, 4.0])}
    y = np.array(["b", "a", "a", "a"])
    plain, weighed = PEBLSClassifier(passes=0).fit(X, y), PEBLSClassifier().fit(X, y)
    assert weighed.exemplar_weights_[:2].tolist() == [2.0, 1.5]
    assert plain.predict({"x": [0.49]}).tolist() == ["b"]
    assert weighed.predict({"x": [0.49]}).tolist() == ["a"]


def test_without_passes_and_names_it_is_the_nearest_neighbor():
    rng = np.random.default_rng(1)
    X, y, asked = rng.normal(size=(80, 3)), rng.integers(0, 2, 80), rng.normal(size=(50, 3))
    ours = PEBLSClassifier(passes=0).fit(X, y)
    assert ours.predict(asked).tolist() == NeighborsClassifier(1).fit(X, y).predict(asked).tolist()


def test_the_order_of_rows_changes_no_weight_and_no_answer():
    X, y = table(seed=3)
    order = np.random.default_rng(0).permutation(len(y))
    one = PEBLSClassifier().fit(X, y)
    two = PEBLSClassifier().fit({k: v[order] for k, v in X.items()}, y[order])
    np.testing.assert_allclose(two.exemplar_weights_, one.exemplar_weights_[order], rtol=1e-12)
    asked = table(seed=4)[0]
    np.testing.assert_allclose(two.predict_proba(asked), one.predict_proba(asked), rtol=1e-12)


def test_a_weight_of_n_is_n_copies():
    X, y = table(60, seed=5)
    weights = np.random.default_rng(0).integers(1, 4, len(y))
    copies = np.repeat(np.arange(len(y)), weights)
    one = PEBLSClassifier(2).fit(X, y, weights)
    two = PEBLSClassifier(2).fit({k: v[copies] for k, v in X.items()}, y[copies])
    np.testing.assert_allclose(one.exemplar_weights_[copies], two.exemplar_weights_, rtol=1e-9)
    asked = table(seed=6)[0]
    np.testing.assert_allclose(one.predict_proba(asked), two.predict_proba(asked), rtol=1e-9, atol=1e-12)


def test_numbers_may_be_compared_by_what_their_ranges_tell():
    x = (np.arange(400) + 0.5) / 400
    y = ((x * 10).astype(int) % 2).astype(str)  # far apart, and of one kind
    model = PEBLSClassifier(numeric="mvdm", n_bins=10).fit({"x": x}, y)
    assert model.metric_({"x": 0.05}, {"x": 0.85}) == 0.0
    assert model.metric_({"x": 0.05}, {"x": 0.15}) == 2.0


def test_missing_cells_are_as_far_as_values_can_be():
    X, y = table()
    X["n"][::7] = None
    X["x"][::5] = np.nan
    model = PEBLSClassifier().fit(X, y)
    assert np.isfinite(model.exemplar_weights_).all()
    assert model.predict_proba([{}])[0] == pytest.approx(model.prior_)


def test_a_model_file_keeps_the_exemplars(tmp_path):
    X, y = table()
    model = PEBLSClassifier(2).fit(X, y)
    save(model, tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert dict(again.exemplars_) == dict(model.exemplars_)
    assert (again.predict_proba(X) == model.predict_proba(X)).all()


def test_the_explanation_multiplies_the_sum_by_the_weight():
    cheat = samples.load("cheat")
    told = str(
        PEBLSClassifier().fit(cheat.frame, "cheat").explain([{"refund": "No", "marital": "Single", "income_k": 84}])
    )
    assert "weight of the exemplar = used/right = 2.5/1.5 = 1.66667" in told
    assert "Δ = 1.66667·0.0000390625 = 0.0000651042" in told
    assert "Δ of the nearest exemplar (row 7): 0.0000651042" in told


def row_by_row(
    X: dict[str, list], y: list, k: int, passes: int
) -> tuple[list[tuple], list[Fraction], list[Fraction]]:
    """Exemplar weights with exact fractions: each row is predicted from the rows before it."""
    n, ranges = len(y), {a: max(c) - min(c) for a, c in X.items() if not isinstance(c[0], str)}

    def local(a: str, i: int, j: int) -> Fraction:
        if a in ranges:
            return Fraction(X[a][i] - X[a][j]) / ranges[a]
        both = [[y[r] for r in range(n) if X[a][r] == X[a][row]] for row in (i, j)]
        own, its = both
        return sum(
            (abs(Fraction(own.count(c), len(own)) - Fraction(its.count(c), len(its))) for c in set(y)), Fraction(0)
        )

    used, right, history = [Fraction(1)] * n, [Fraction(1)] * n, []
    for number in range(passes):
        for i in range(n):
            others = [j for j in range(n) if j != i] if number else list(range(i))
            delta = {j: sum(local(a, i, j) ** 2 for a in X) * used[j] / right[j] for j in others}
            left = Fraction(k)
            for value in sorted(set(delta.values())):
                group = [j for j in others if delta[j] == value]
                share = min(Fraction(1), left / len(group))
                for j in group:
                    used[j] += share
                    right[j] += share * (y[i] == y[j])
                    history.append((i, j, value, share, y[i] == y[j], used[j] / right[j]))
                left -= share * len(group)
                if left <= 0:
                    break
    return history, used, right


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("passes", [0, 1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_row_by_row_the_weights_are_those_of_exact_fractions(k, passes, seed):
    rng = np.random.default_rng(seed)
    n = 24
    X = {"n": rng.choice(list("abc"), n).tolist(), "m": rng.choice(list("uv"), n).tolist(),
         "x": rng.integers(0, 5, n).tolist()}  # fmt: skip
    y = rng.choice(["no", "yes"], n, p=[0.6, 0.4]).tolist()
    model = PEBLSClassifier(k, weighting="incremental", passes=passes).fit(X, y)
    history, used, right = row_by_row(X, y, k, passes)
    np.testing.assert_allclose(model.exemplars_["used"], [float(u) for u in used], rtol=1e-13)
    np.testing.assert_allclose(model.exemplars_["right"], [float(r) for r in right], rtol=1e-13)
    table = model.weight_history_
    assert table["row"] == [step[0] for step in history]
    assert table["neighbor"] == [step[1] for step in history]
    np.testing.assert_allclose(table["Δ"], [float(step[2]) for step in history], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(table["use"], [float(step[3]) for step in history], rtol=1e-13)
    assert table["right"] == [step[4] for step in history]
    np.testing.assert_allclose(table["new weight"], [float(step[5]) for step in history], rtol=1e-13)
    assert ("pass" in table) == (passes == 2)


def test_row_by_row_the_blocks_of_rows_make_no_difference(monkeypatch):
    from countwise.neighbors import pebls

    X, y = table(300, seed=8)
    whole = PEBLSClassifier(2, weighting="incremental").fit(X, y)
    monkeypatch.setattr(pebls, "_BLOCK", 7)
    parts = PEBLSClassifier(2, weighting="incremental").fit(X, y)
    assert dict(whole.weight_history_) == dict(parts.weight_history_)


def test_row_by_row_the_order_of_the_rows_matters_and_rows_without_a_class_do_not():
    X, y = table(60, seed=9)
    one = PEBLSClassifier(weighting="incremental").fit(X, y)
    back = PEBLSClassifier(weighting="incremental").fit({a: c[::-1] for a, c in X.items()}, y[::-1])
    assert one.exemplar_weights_.tolist() != back.exemplar_weights_[::-1].tolist()
    wider = {a: np.append(c[:1], c) for a, c in X.items()}
    with pytest.warns(DataWarning, match="1 of 61 rows"):
        more = PEBLSClassifier(weighting="incremental").fit(wider, [None, *y])
    assert more.exemplar_weights_.tolist() == one.exemplar_weights_.tolist()
    assert more.weight_history_["row"] == [i + 1 for i in one.weight_history_["row"]]


def test_row_by_row_weights_and_missing_values():
    X = {"x": [0.0, 1.0, np.nan, 1.0]}
    model = PEBLSClassifier(weighting="incremental").fit(X, ["a", "b", "a", "b"], sample_weight=[1, 2, 1, 3])
    assert model.weight_history_["row"] == [1, 3]  # a row without any known value uses no exemplar
    assert model.exemplars_["used"] == [3.0, 2.5, 1.0, 1.0]
    assert model.exemplars_["right"] == [1.0, 2.5, 1.0, 1.0]
    alone = PEBLSClassifier(weighting="incremental").fit({"x": [1.0]}, ["a"])
    assert (alone.weight_history_.n_rows, alone.exemplars_["weight"]) == (0, [1.0])


def test_a_model_file_keeps_the_history_of_the_weights(tmp_path):
    X, y = table(50)
    model = PEBLSClassifier(weighting="incremental").fit(X, y)
    save(model, tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert dict(again.weight_history_) == dict(model.weight_history_)
    assert list(again.tables()) == ["metric", "exemplars", "history"]
    assert "history" not in PEBLSClassifier().fit(X, y).tables()


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"passes": -1}, "passes"),
        ({"weighting": "incremetal"}, "did you mean 'incremental'"),
        ({"n_neighbors": "loo"}, "leave-one-out"),
        ({"numeric": "none"}, "numeric"),
    ],
)
def test_what_is_no_setting_is_refused(settings, what):
    X, y = table(20)
    with pytest.raises(CountwiseError, match=what):
        PEBLSClassifier(**settings).fit(X, y)

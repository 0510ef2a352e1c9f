"""Approximate search: asked for by name, and told how much it finds."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from countwise import DistanceMetric, NeighborsClassifier, NeighborsRegressor, samples
from countwise.errors import CountwiseError

pytest.importorskip("usearch")
CREDIT = samples.load("credit")
X = {name: column[:800] for name, column in CREDIT.X.items()}
Y = CREDIT.y[:800]


def test_nearly_all_neighbors_are_found_at_exact_distances():
    exact, quick = NeighborsClassifier(5).fit(X, Y), NeighborsClassifier(5, search="usearch").fit(X, Y)
    assert quick.recall_ > 0.9
    wanted, found = exact.kneighbors(X)[0], quick.kneighbors(X)[0]
    assert (found >= wanted - 1e-15).all()
    assert (found <= wanted + 1e-15).mean() > 0.9
    assert (exact.predict(X) == quick.predict(X)).mean() > 0.95


def test_the_recall_is_told_in_the_explanation_and_nowhere_else():
    quick = NeighborsRegressor(3, search="usearch").fit(X, np.arange(800.0))
    assert any("usearch" in note for note in quick.explain(X, row=1).notes)
    assert not hasattr(NeighborsRegressor(3).fit(X, np.arange(800.0)), "recall_")


def test_it_is_the_same_every_time_and_after_pickling():
    one, two = (
        NeighborsClassifier(5, search="usearch", metric=DistanceMetric(nominal="mvdm")).fit(X, Y) for _ in range(2)
    )
    assert (one.kneighbors(X)[1] == two.kneighbors(X)[1]).all()
    assert (pickle.loads(pickle.dumps(one)).predict_proba(X) == one.predict_proba(X)).all()


def test_k_is_chosen_and_weights_count():
    model = NeighborsClassifier("loo", search="usearch", max_neighbors=5).fit(X, Y, np.tile([1, 2], 400))
    assert 1 <= model.n_neighbors_ <= 5
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"radius": 0.5}, "radius"),
        ({"metric": DistanceMetric("chebyshev")}, "power"),
        ({"metric": DistanceMetric(nominal="levenshtein")}, "names"),
    ],
)
def test_what_usearch_cannot_is_refused(settings, told):
    with pytest.raises(CountwiseError, match=told):
        NeighborsClassifier(search="usearch", **settings).fit(X, Y).predict(X)

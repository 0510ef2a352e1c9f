"""A choice of rows: edited, condensed, IB2 and IB3."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from countwise import InstanceSelector, NeighborsClassifier, samples
from countwise.errors import CountwiseError
from countwise.neighbors import DistanceMetric
from countwise.neighbors.instance_selection import interval


def blobs(n: int = 150, noise: float = 0.1, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 2)) + 3 * kind[:, None]
    return X, np.where(rng.random(n) < noise, 1 - kind, kind)


def test_edited_rows_are_those_of_imbalanced_learn():
    under = pytest.importorskip("imblearn.under_sampling")
    X, y = blobs()
    scaled = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    peer = under.EditedNearestNeighbours(sampling_strategy="all", n_neighbors=3, kind_sel="mode").fit(scaled, y)
    peer.fit_resample(scaled, y)
    assert InstanceSelector("edited").fit(X, y).kept_.tolist() == sorted(peer.sample_indices_.tolist())


def test_an_edited_row_says_who_disagrees():
    X, y = blobs()
    chosen = InstanceSelector().fit(X, y)
    assert sorted([*chosen.kept_, *chosen.removed_["row"]]) == list(range(len(y)))
    row, own, why = (chosen.removed_[name][0] for name in ("row", "class", "why"))
    assert y[row] == own
    assert why.endswith(f"neighbors are {1 - own}")


def naive_ib2(X: np.ndarray, y: np.ndarray, again: bool) -> list[int]:
    gaps = DistanceMetric().fit(X).pairwise(X)
    kept = [0]
    while True:
        before = len(kept)
        for i in range(len(y)):
            if i in kept:
                continue
            best = min(kept, key=lambda k: (gaps[i, k], y[k], k))
            if y[best] != y[i]:
                kept.append(i)
        if not again or len(kept) == before:
            return sorted(kept)


@pytest.mark.parametrize("method", ["ib2", "condensed"])
def test_condensed_rows_are_those_of_a_loop(method):
    X, y = blobs(seed=2)
    assert InstanceSelector(method).fit(X, y).kept_.tolist() == naive_ib2(X, y, method == "condensed")


def test_condensed_rows_tell_all_others():
    X, y = blobs(seed=3)
    chosen = InstanceSelector("condensed", metric=DistanceMetric(numeric="none")).fit(X, y)
    few = NeighborsClassifier(1, metric=DistanceMetric(numeric="none")).fit(X[chosen.kept_], y[chosen.kept_])
    assert (few.predict(X) == y).all()
    assert len(chosen.kept_) < len(y) / 2


def test_ib3_leaves_noise_behind():
    X, y = blobs(600, noise=0.1, seed=4)
    chosen = InstanceSelector("ib3").fit(X, y)
    kind = (X.sum(axis=1) > 3).astype(int)  # what the classes are without noise
    assert len(chosen.kept_) < 60
    assert (y[chosen.kept_] == kind[chosen.kept_]).mean() > 0.95
    whys = " ".join(chosen.removed_["why"])
    assert "dropped:" in whys
    assert "predicted by row" in whys


def test_the_limits_of_a_share_are_those_of_wilson():
    from statsmodels.stats.proportion import proportion_confint

    for right, used, confidence in ((3, 10, 0.9), (0, 4, 0.75), (7, 7, 0.9)):
        wanted = proportion_confint(right, used, alpha=1 - confidence, method="wilson")
        assert interval(right, used, confidence) == pytest.approx(wanted, abs=1e-12)
    assert interval(0, 0, 0.9) == pytest.approx((0.0, 1.0))


def test_mixed_tables_with_gaps_are_resampled_as_they_came():
    penguins = samples.load("penguins")
    frame = pd.DataFrame(dict(penguins.X))
    X, y = InstanceSelector().fit_resample(frame, np.asarray(penguins.y))
    assert isinstance(X, pd.DataFrame)
    assert len(X) == len(y) < len(frame)
    assert list(X.columns) == list(frame.columns)


@pytest.mark.parametrize("method", ["edited", "condensed", "ib2", "ib3"])
def test_one_row_and_one_class_stay(method):
    assert InstanceSelector(method).fit({"x": [1.0]}, ["a"]).kept_.tolist() == [0]
    kept = InstanceSelector(method).fit({"x": [1.0, 2.0, 3.0]}, ["a", "a", "a"]).kept_
    assert kept.tolist() == ([0, 1, 2] if method == "edited" else [0])


def test_rows_without_a_class_are_not_numbered_away():
    with pytest.warns(UserWarning, match="1 of 4 rows"):
        chosen = InstanceSelector("ib2").fit({"x": [0.0, 1.0, 9.0, 9.1]}, ["a", None, "b", "b"])
    assert chosen.kept_.tolist() == [0, 2]
    assert chosen.removed_["row"] == [3]


@pytest.mark.parametrize("settings", [{"method": "best"}, {"n_neighbors": 0}, {"accept": 1.0}, {"drop": 0}])
def test_what_is_no_setting_is_refused(settings):
    with pytest.raises(CountwiseError, match=next(iter(settings))):
        InstanceSelector(**settings).fit({"x": [1.0, 2.0]}, ["a", "b"])


def test_resampling_needs_the_classes_themselves():
    weather = samples.load("weather")
    with pytest.raises(CountwiseError, match="must be an array"):
        InstanceSelector().fit_resample(weather.frame, "play")

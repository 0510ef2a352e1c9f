"""Benchmarks of cut points, filters and wrappers: Orange, optbinning, scikit-learn, mlxtend and pyAgrum."""

from __future__ import annotations

import time
import warnings

import numpy as np
from sklearn.feature_selection import SequentialFeatureSelector, mutual_info_classif
from sklearn.metrics import log_loss, mutual_info_score
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import KBinsDiscretizer, OrdinalEncoder

from countwise import Discretizer, Gaussian, NaiveBayesClassifier, WrapperSelector
from countwise.feature_selection import attribute_scores, pairwise_scores
from harness import Report, Row, timed, versus
from naive_bayes import mixed_table

warnings.filterwarnings("ignore")


def cuts(report: Report, n: int = 200_000, d: int = 10) -> None:
    from optbinning import MDLP
    from Orange.data import ContinuousVariable, DiscreteVariable, Domain, Table
    from Orange.preprocess.discretize import EntropyMDL

    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, n)
    X = rng.normal(size=(n, d)) + np.linspace(0, 1.5, d) * y[:, None]
    domain = Domain([ContinuousVariable(f"x{j}") for j in range(d)], DiscreteVariable("y", values=("a", "b", "c")))
    table = Table.from_numpy(domain, X, y.astype(float))

    def ours():
        return Discretizer("mdl").fit(X, y)

    def orange():
        return [EntropyMDL()(table, attribute).compute_value.points for attribute in domain.attributes]

    def optbinning():
        return [MDLP().fit(X[:, j], y).splits for j in range(d)]

    mine, theirs = ours().edges_, orange()
    same = all(
        len(mine[f"x{j}"]) == len(theirs[j]) and np.allclose(mine[f"x{j}"], theirs[j], rtol=1e-12) for j in range(d)
    )
    note = f"{sum(map(len, theirs))} cuts, {'identical' if same else 'NOT identical'}"
    report.add(Row(f"MDL cuts {n:,} x {d}, 3 classes", *versus(ours, orange, 7, 3), "Orange EntropyMDL", 10, note))
    note = f"{sum(map(len, optbinning()))} cuts by the peer"
    report.add(Row(f"MDL cuts {n:,} x {d}, 3 classes", *versus(ours, optbinning, 5, 2), "optbinning MDLP", 1, note))


def filter_table(n: int, seed: int = 2):
    import pandas as pd

    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    table: dict[str, object] = {}
    for j in range(25):
        table[f"number {j}"] = rng.normal(size=n) + j / 25 * y
        values = np.array([f"value {k}" for k in range(2 + j)], dtype=object)
        table[f"name {j}"] = values[(rng.integers(0, len(values), n) + y * (rng.random(n) < j / 50)) % len(values)]
    return pd.DataFrame(table), np.array(["a", "b", "c"], dtype=object)[y]


def filters(report: Report, n: int = 500_000) -> None:
    X, y = filter_table(n)
    numbers, names = [c for c in X if c.startswith("number")], [c for c in X if c.startswith("name")]

    def ours():
        return attribute_scores(X, y)

    def peer():
        bins = KBinsDiscretizer(
            10, encode="ordinal", strategy="quantile", quantile_method="averaged_inverted_cdf"
        ).fit_transform(X[numbers])
        codes = OrdinalEncoder().fit_transform(X[names])
        return mutual_info_classif(np.hstack([bins, codes]), y, discrete_features=True)

    mine, theirs = ours(), peer()
    gains = dict(zip(mine["attribute"], mine["information_gain"], strict=True))
    error = max(abs(gains[c] * np.log(2) - theirs[25 + j]) for j, c in enumerate(names))
    report.add(
        Row(
            f"all filter scores {n:,} x 50 mixed",
            *versus(ours, peer, 5, 2),
            "KBins + encode + mutual_info_classif",
            10,
            f"8 scores, peer 1; largest difference of MI {error:.0e}",
        )
    )


def forward(report: Report, n: int = 20_000, d: int = 50) -> None:
    from mlxtend.feature_selection import SequentialFeatureSelector as Mlxtend

    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, d)) + np.linspace(0, 0.35, d) * y[:, None]

    def ours(direction="forward", wanted=d // 2):
        model = NaiveBayesClassifier(Gaussian(divisor="n"))
        return WrapperSelector(model, direction, n_features_to_select=wanted, cv=5).fit(X, y)

    def sklearn():
        return SequentialFeatureSelector(GaussianNB(), n_features_to_select=d // 2, cv=5).fit(X, y)

    def mlxtend():
        return Mlxtend(GaussianNB(), k_features=d // 2, cv=5).fit(X, y)

    started = time.perf_counter()
    theirs = sklearn().get_support()
    peer = time.perf_counter() - started
    same = (ours().support_ == theirs).all()
    report.add(
        Row(
            f"forward selection {n:,} x {d}, 25 chosen, 5 folds",
            min(timed(ours) for _ in range(5)),
            peer,
            "SequentialFeatureSelector(GaussianNB())",
            100,
            "identical subsets" if same else "NOT identical subsets",
        )
    )
    started = time.perf_counter()
    theirs = np.isin(np.arange(d), mlxtend().k_feature_idx_)
    peer = time.perf_counter() - started
    same = (ours().support_ == theirs).all()
    report.add(
        Row(
            f"forward selection {n:,} x {d}, 25 chosen, 5 folds",
            min(timed(ours) for _ in range(5)),
            peer,
            "mlxtend",
            None,
            "identical subsets" if same else "NOT identical subsets",
        )
    )


def pairs(report: Report, n: int = 500_000, d: int = 100) -> None:
    import pandas as pd
    import pyagrum

    rng = np.random.default_rng(4)
    root = rng.integers(0, 4, n)
    X = np.stack(
        [np.where(rng.random(n) < j / (2 * d), root, rng.integers(0, 3 + j % 4, n)) for j in range(d)], axis=1
    ).astype(np.uint8)

    def ours():
        return pairwise_scores(X, types="nominal")

    matrix = ours()
    columns = [np.ascontiguousarray(X[:, j]) for j in range(d)]
    sample = [(i, j) for i in range(0, d, 17) for j in range(i + 1, d, 13)]
    started = time.perf_counter()
    theirs = [mutual_info_score(columns[i], columns[j]) for i, j in sample]
    each = (time.perf_counter() - started) / len(sample)
    error = max(abs(matrix[f"x{i}"][j] * np.log(2) - v) for (i, j), v in zip(sample, theirs, strict=True))
    best = min(timed(ours) for _ in range(7))
    n_pairs = d * (d - 1) // 2
    report.add(
        Row(
            f"mutual information of all {n_pairs:,} pairs, {n:,} x {d}",
            best,
            each * n_pairs,
            "mutual_info_score loop",
            800,
            f"peer: {len(sample)} pairs timed; largest difference {error:.0e}",
        )
    )

    frame = pd.DataFrame({f"x{j}": pd.Categorical(X[:, j]) for j in range(d)})
    learner = pyagrum.BNLearner(frame)
    learner.useNoPrior()
    names = [(f"x{i}", f"x{j}") for i, j in sample]
    learner.mutualInformation(*names[0])
    started = time.perf_counter()
    theirs = [learner.mutualInformation(a, b) for a, b in names]
    each = (time.perf_counter() - started) / len(names)
    error = max(abs(matrix[a][int(b[1:])] - v) for (a, b), v in zip(names, theirs, strict=True))
    report.add(
        Row(
            f"mutual information of all {n_pairs:,} pairs, {n:,} x {d}",
            best,
            each * n_pairs,
            "pyAgrum",
            20,
            f"peer: {len(names)} pairs timed without loading; largest difference {error:.0e}",
        )
    )


def distributions(report: Report, n: int = 500_000) -> None:
    """Compare the log-loss, not the time, of distributions chosen by column with that of MDL bins for all columns."""
    X, y = mixed_table(n, 3)
    held, truth = mixed_table(200_000, 4)

    def fitted(name):
        return NaiveBayesClassifier(name).fit(X, y)

    losses = {name: log_loss(truth, fitted(name).predict_proba(held)) for name in ("auto", "mdl")}
    note = ", ".join(f"{name} {loss:.5f}" for name, loss in losses.items())
    row = Row(
        f"log-loss of 'auto' and of MDL bins, {n:,} x 8, 5 % missing",
        losses["auto"],
        losses["mdl"],
        "MDL bins for all columns",
        1,
        f"log-loss, not a time; {note}",
    )
    report.add(row)


CASES = {"cuts": cuts, "filters": filters, "forward": forward, "pairs": pairs, "distributions": distributions}

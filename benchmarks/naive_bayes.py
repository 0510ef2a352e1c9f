"""Benchmarks of naive Bayes; our times include conversion and encoding, as users experience it."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.metrics import log_loss
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OrdinalEncoder

from countwise import NaiveBayesClassifier
from harness import Report, Row, has, peak_beyond, timed, versus

MILLION = 1_000_000


def numeric(report: Report, n: int = MILLION) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, n)
    X = rng.normal(size=(n, 20)) + 0.3 * y[:, None]
    for kind in (np.float64, np.float32):
        Z = X.astype(kind)
        ours, peer = NaiveBayesClassifier().fit(Z, y), GaussianNB().fit(Z, y)
        name = f"numeric {n:,} x 20, 10 classes, {kind.__name__}"
        report.add(
            Row(
                f"{name}: fit",
                *versus(lambda: NaiveBayesClassifier().fit(Z, y), lambda: GaussianNB().fit(Z, y)),
                "GaussianNB",
                20,
            )
        )
        report.add(
            Row(
                f"{name}: predict_proba",
                *versus(lambda: ours.predict_proba(Z), lambda: peer.predict_proba(Z), 5, 2),
                "GaussianNB",
                30,
            )
        )
    missing = X.copy()
    missing[rng.random(X.shape) < 0.05] = np.nan
    with_missing = NaiveBayesClassifier().fit(missing, y)
    ours = NaiveBayesClassifier().fit(X, y)
    report.add(
        Row(
            "  5 % missing values compared with none: fit",
            *versus(lambda: NaiveBayesClassifier().fit(missing, y), lambda: NaiveBayesClassifier().fit(X, y)),
            "countwise without missing values",
            1 / 1.5,
        )
    )
    report.add(
        Row(
            "  5 % missing values compared with none: predict_proba",
            *versus(lambda: with_missing.predict_proba(missing), lambda: ours.predict_proba(X)),
            "countwise without missing values",
            1 / 1.5,
        )
    )
    memory("numeric fit", X, lambda: NaiveBayesClassifier().fit(X, y))
    memory("numeric predict", X, lambda: ours.predict(X))


def memory(name: str, X: np.ndarray, work) -> None:
    work()
    extra = peak_beyond(work)
    proportion = extra / X.nbytes
    print(
        f"  peak memory beyond the input, {name}: {extra / 1e6:.0f} MB = {proportion:.1%} of the input (target 20 %: {'met' if proportion < 0.2 else 'MISSED'})"
    )


def nominal(report: Report, n: int = MILLION) -> None:
    rng = np.random.default_rng(1)
    sizes = rng.integers(2, 201, 20)
    X = np.stack([rng.integers(0, size, n) for size in sizes], axis=1)
    y = rng.integers(0, 5, n)
    fit = lambda: NaiveBayesClassifier("categorical").fit(X, y)  # noqa: E731
    ours, peer = fit(), CategoricalNB().fit(X, y)
    report.add(
        Row(
            f"nominal codes {n:,} x 20, 2..200 values: fit",
            *versus(fit, lambda: CategoricalNB().fit(X, y), 5, 3),
            "CategoricalNB",
            20,
        )
    )
    report.add(
        Row(
            f"nominal codes {n:,} x 20: predict_proba",
            *versus(lambda: ours.predict_proba(X), lambda: peer.predict_proba(X), 5, 3),
            "CategoricalNB",
            10,
        )
    )
    memory("nominal fit", X, fit)


def strings(report: Report, n: int = MILLION) -> None:
    import pandas as pd
    import polars as pl

    rng = np.random.default_rng(2)
    columns = {
        f"c{j}": rng.choice(np.array([f"value {v}" for v in range(3 + 9 * j)], dtype=object), n) for j in range(6)
    }
    y = rng.integers(0, 3, n)
    for kind, X in (("pandas", pd.DataFrame(columns)), ("Polars", pl.DataFrame(columns))):
        times = versus(
            lambda X=X: NaiveBayesClassifier().fit(X, y),
            lambda X=X: make_pipeline(OrdinalEncoder(), CategoricalNB()).fit(X, y), 5, 2,
        )  # fmt: skip
        report.add(Row(f"strings in {kind}, {n:,} x 6: fit", *times, "OrdinalEncoder + CategoricalNB", 5))


def mixed_table(n: int, seed: int):
    import pandas as pd

    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    table = {
        "age": rng.normal(40 + 4 * y, 12),
        "income": np.exp(rng.normal(10 + 0.4 * y, 0.8)),
        "balance": np.where(rng.random(n) < 0.5, rng.normal(-3 - y, 1, n), rng.normal(3 + y, 1, n)),
        "tenure": rng.gamma(2 + y, 3.0),
        "score": rng.normal(600 + 20 * y, 80),
        "job": rng.choice(np.array([f"job {k}" for k in range(12)], dtype=object), n),
        "city": rng.choice(np.array([f"city {k}" for k in range(60)], dtype=object), n),
        "plan": np.where(rng.random(n) < 0.4 + 0.2 * y, "gold", "basic").astype(object),
    }
    for column in table.values():
        gone = rng.random(n) < 0.05
        column[gone] = np.nan if column.dtype.kind == "f" else None
    return pd.DataFrame(table), np.where(y, "yes", "no").astype(object)


def mixed(report: Report, n: int = 500_000) -> None:
    X, y = mixed_table(n, 3)
    held, truth = mixed_table(100_000, 4)
    numbers = [c for c in X if X[c].dtype.kind == "f"]
    nominal = [c for c in X if c not in numbers]

    def peer():
        return make_pipeline(
            make_column_transformer(
                (make_pipeline(SimpleImputer(strategy="median"), KBinsDiscretizer(10, encode="ordinal", strategy="quantile", quantile_method="averaged_inverted_cdf")), numbers),
                (make_pipeline(SimpleImputer(strategy="most_frequent"), OrdinalEncoder()), nominal),
            ),
            CategoricalNB(),
        ).fit(X, y)  # fmt: skip

    for distribution in (None, "kernel", "auto"):

        def ours(distribution=distribution):
            return NaiveBayesClassifier(distribution).fit(X, y)

        losses = [log_loss(truth, model.predict_proba(held)) for model in (ours(), peer())]
        note = f"log-loss {losses[0]:.4f}, peer {losses[1]:.4f}"
        report.add(
            Row(
                f"mixed, 5 % missing, {n:,} x 8, distributions {distribution or 'by type'}: fit",
                *versus(ours, peer, 5, 2),
                "impute + KBins + encode + CategoricalNB",
                10,
                note,
            )
        )


def kernels(report: Report, n: int = 50_000) -> None:
    from KDEpy import FFTKDE

    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, n)
    X, Q = rng.normal(size=(n, 5)) + y[:, None], rng.normal(size=(n, 5)) + 0.5

    def ours():
        return NaiveBayesClassifier("kernel").fit(X, y).predict_log_proba(Q)

    def peer():
        joint = np.zeros((n, 2))
        for c in range(2):
            for j in range(5):
                points = X[y == c, j]
                grid, density = FFTKDE(bw="silverman").fit(points).evaluate(2**14)
                with np.errstate(divide="ignore"):
                    joint[:, c] += np.log(np.interp(Q[:, j], grid, density))
        return joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)

    model = NaiveBayesClassifier("kernel").fit(X, y)
    error = 0.0
    for j in range(5):
        density = model.densities_[f"x{j}"]
        for c in range(2):
            points, h, q = X[y == c, j], density.bandwidths[c], Q[:200, j]
            exact = np.log(
                np.exp(-0.5 * ((q[:, None] - points) / h) ** 2).sum(axis=1) / (len(points) * h * np.sqrt(2 * np.pi))
            )
            error = max(error, float(np.abs(density.log_density(q, c) - exact).max()))
    report.add(
        Row(
            f"kernel naive Bayes {n:,}/{n:,} x 5: fit + predict",
            *versus(ours, peer),
            "KDEpy FFT (approximate)",
            1,
            f"our largest error of the log density {error:.1e} (target 1e-9)",
        )
    )


def text(report: Report, n: int = 100_000, words: int = 50_000) -> None:
    from scipy.sparse import csr_matrix

    rng = np.random.default_rng(6)
    lengths = rng.poisson(60, n)
    columns = np.minimum(rng.zipf(1.3, lengths.sum()) - 1, words - 1).astype(np.int32)
    X = csr_matrix(
        (np.ones(len(columns), dtype=np.int64), columns, np.concatenate([[0], np.cumsum(lengths)])), shape=(n, words)
    )
    X.sum_duplicates()
    y = rng.integers(0, 4, n)
    for name, peer in (("multinomial", MultinomialNB), ("bernoulli", BernoulliNB)):
        fit = lambda name=name: NaiveBayesClassifier(name).fit(X, y)  # noqa: E731
        ours, theirs = fit(), peer().fit(X, y)
        report.add(
            Row(
                f"sparse text {n:,} x {words:,}: {name} fit",
                *versus(fit, lambda peer=peer: peer().fit(X, y)),
                peer.__name__,
                1,
            )
        )
        report.add(
            Row(
                f"sparse text: {name} predict_proba",
                *versus(lambda: ours.predict_proba(X), lambda: theirs.predict_proba(X)),
                peer.__name__,
                1,
            )
        )


def small(report: Report) -> None:
    from countwise import samples

    weather = samples.load("weather")
    X = np.stack([weather.frame["temperature"], weather.frame["humidity"]], axis=1).astype(float)
    y = weather.y

    def many(kind):
        for _ in range(50):
            kind().fit(X, y).predict_proba(X)

    timed(lambda: many(GaussianNB))
    report.add(
        Row(
            "14 rows x 2: fit + predict_proba, 50 times",
            *versus(lambda: many(NaiveBayesClassifier), lambda: many(GaussianNB)),
            "GaussianNB",
        )
    )


def glass_box(report: Report) -> None:
    """Compare with interpret's explainable boosting on the credit table: training time, and held-out log loss."""
    if not has("interpret"):
        print("interpret is not installed: pip install interpret-core")
        return
    from interpret.glassbox import ExplainableBoostingClassifier
    from sklearn.model_selection import cross_val_predict

    from countwise import samples

    credit = samples.load("credit")
    X, y = pd.DataFrame(credit.X), credit.y
    learners = {"ours": NaiveBayesClassifier("auto"), "peer": ExplainableBoostingClassifier(n_jobs=-1)}
    losses = [log_loss(y, cross_val_predict(m, X, y, cv=5, method="predict_proba")) for m in learners.values()]
    times = versus(lambda: learners["ours"].fit(X, y), lambda: learners["peer"].fit(X, y), 5, 2)
    note = f"held-out log loss {losses[0]:.3f} against {losses[1]:.3f}"
    report.add(Row("credit 4,454 x 13, mixed with missing values: fit", *times, "EBM", note=note))


CASES = {
    "glass_box": glass_box,
    "numeric": numeric,
    "nominal": nominal,
    "strings": strings,
    "mixed": mixed,
    "kernels": kernels,
    "text": text,
    "small": small,
}

"""Benchmarks of discriminants and Parzen densities; our time includes fitting if the peer's does."""

from __future__ import annotations

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KernelDensity

from countwise import DiscriminantClassifier, ParzenDensity
from harness import Report, Row, peak_beyond, timed, versus

MILLION = 1_000_000


def blas_scatter(X: np.ndarray, y: np.ndarray, k: int) -> np.ndarray:
    """Compute scatter matrices block by block, with two passes of BLAS over the rows of each class."""
    n, d = len(X), X.shape[1]
    block = 65536
    sums, counts = np.zeros((k, d)), np.zeros(k)
    for start in range(0, n, block):
        rows, codes = X[start : start + block], y[start : start + block]
        for c in range(k):
            mine = rows[codes == c]
            sums[c] += mine.sum(axis=0)
            counts[c] += len(mine)
    means, scatter = sums / counts[:, None], np.zeros((k, d, d))
    for start in range(0, n, block):
        rows, codes = X[start : start + block], y[start : start + block]
        for c in range(k):
            away = rows[codes == c] - means[c]
            scatter[c] += away.T @ away
    return scatter


def discriminants(report: Report, n: int = MILLION) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n)
    X = (rng.normal(size=(n, 50)) + 0.1 * y[:, None]) @ rng.normal(size=(50, 50))
    lda, qda = LinearDiscriminantAnalysis(solver="lsqr"), QuadraticDiscriminantAnalysis()
    shared, own = DiscriminantClassifier(), DiscriminantClassifier("own")
    name = f"{n:,} x 50, 3 classes"
    report.add(
        Row(
            f"LDA {name}: fit",
            *versus(lambda: shared.fit(X, y), lambda: lda.fit(X, y), 5, 3),
            "LinearDiscriminantAnalysis(lsqr)",
            3,
        )
    )
    report.add(
        Row(
            f"QDA {name}: fit",
            *versus(lambda: own.fit(X, y), lambda: qda.fit(X, y), 5, 2),
            "QuadraticDiscriminantAnalysis",
            10,
        )
    )
    report.add(
        Row(
            f"LDA {name}: fit",
            *versus(lambda: shared.fit(X, y), lambda: blas_scatter(X, y, 3), 5, 3),
            "blocked BLAS scatter",
            0.5,
        )
    )
    report.add(
        Row(
            f"LDA {name}: predict_proba",
            *versus(lambda: shared.predict_proba(X), lambda: lda.predict_proba(X), 5, 3),
            "LinearDiscriminantAnalysis(lsqr)",
            1,
        )
    )
    report.add(
        Row(
            f"QDA {name}: predict_proba",
            *versus(lambda: own.predict_proba(X), lambda: qda.predict_proba(X), 3, 1),
            "QuadraticDiscriminantAnalysis",
            1,
        )
    )
    print(f"  posteriors differ by at most {np.abs(shared.predict_proba(X) - lda.predict_proba(X)).max():.1e} (LDA), "
          f"{np.abs(own.predict_proba(X) - qda.predict_proba(X)).max():.1e} (QDA); "
          f"peak memory of a fit beyond the input: {peak_beyond(lambda: shared.fit(X, y)) / X.nbytes:.1%} of the input")  # fmt: skip
    missing = X[: n // 10].copy()
    missing[rng.random(missing.shape) < 0.001] = np.nan
    print(
        f"  {n // 10:,} rows with 0.1 % missing values, EM: {timed(lambda: shared.fit(missing, y[: n // 10])):.2f} s, {shared.n_iter_} iterations"
    )


def bandwidths(report: Report, n: int = 20_000) -> None:
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.normal(size=n // 2), rng.normal(4, 0.5, n - n // 2)])[:, None]
    rng.shuffle(x)
    grid = np.geomspace(0.02, 1, 20)

    def ours():
        return ParzenDensity(1.0).fit(x).bandwidth_curve(grid)

    some = grid[[4, 10, 16]]
    search = GridSearchCV(KernelDensity(), {"bandwidth": some}, cv=10, refit=False)
    best = min(timed(ours) for _ in range(5))
    report.add(
        Row(
            f"leave-one-out bandwidth, {n:,} points x 20 bandwidths",
            best,
            timed(lambda: search.fit(x)) * 20 / 3,
            "GridSearchCV(KernelDensity), 10 folds",
            200,
            "3 bandwidths timed, scaled",
        )
    )
    h = float(grid[6])
    exact = sum(_leave_one_out(x[:, 0], start, h) for start in range(0, n, 500))
    mine = ParzenDensity(1.0).fit(x).bandwidth_curve([h])["held_out"][0]
    print(
        f"  leave-one-out log-likelihood at h = {h:.3f} has a relative difference from the direct double sum of {abs(mine / exact - 1):.1e}"
    )


def _leave_one_out(x: np.ndarray, start: int, h: float) -> float:
    part = x[start : start + 500]
    kernels = np.exp(-0.5 * ((part[:, None] - x) / h) ** 2)
    kernels[np.arange(len(part)), start + np.arange(len(part))] = 0.0
    return float(np.log(kernels.sum(axis=1) / ((len(x) - 1) * h * np.sqrt(2 * np.pi))).sum())


def line(report: Report, n: int = 100_000) -> None:
    from KDEpy import FFTKDE

    rng = np.random.default_rng(2)
    x, q, h = rng.normal(size=n), rng.normal(size=n), 0.1

    def ours():
        return ParzenDensity(h).fit(x[:, None]).score_samples(q[:, None])

    def fft():
        grid = np.linspace(x.min() - 1, x.max() + 1, 2**14)
        return np.interp(q, grid, FFTKDE(kernel="gaussian", bw=h).fit(x).evaluate(grid))

    peer = KernelDensity(bandwidth=h, rtol=1e-9).fit(x[:, None])
    slow = timed(lambda: peer.score_samples(q[:500, None])) * n / 500
    mine, fast = versus(ours, fft, 9)
    report.add(
        Row(
            f"density of {n:,} points at {n:,} queries: fit and score",
            mine,
            slow,
            "KernelDensity(rtol=1e-9)",
            20_000,
            "500 queries timed, scaled",
        )
    )
    report.add(Row(f"density of {n:,} points at {n:,} queries: fit and score", mine, fast, "KDEpy's FFT", 1))
    some = slice(0, 1000)
    exact = np.array([np.exp(-0.5 * ((v - x) / h) ** 2).sum() for v in q[some]]) / (n * h * np.sqrt(2 * np.pi))
    peak = exact.max()
    print(
        f"  largest error relative to the peak: ours {np.abs(np.exp(ours()[some]) - exact).max() / peak:.1e}, KDEpy {np.abs(fft()[some] - exact).max() / peak:.1e}"
    )
    for size in (10**5, 10**6, 10**7):
        points, queries = rng.normal(size=(size, 1)), rng.normal(size=(size, 1))
        seconds = min(timed(lambda: ParzenDensity(h).fit(points).score_samples(queries)) for _ in range(2))
        print(f"  {size:>10,} points, as many queries: {seconds:.3f} s, {1e9 * seconds / size:.0f} ns per point")


def rows(report: Report, n: int = 20_000) -> None:
    rng = np.random.default_rng(3)
    X, Q, h = rng.normal(size=(n, 3)), rng.normal(size=(n, 3)), 0.25
    peer = KernelDensity(bandwidth=h, rtol=1e-8)
    times = versus(lambda: ParzenDensity(h).fit(X).score_samples(Q), lambda: peer.fit(X).score_samples(Q), 3, 1)
    report.add(
        Row(f"density of {n:,} rows x 3 at {n:,} queries: fit and score", *times, "KernelDensity(rtol=1e-8)", 3)
    )
    difference = np.abs(
        ParzenDensity(h).fit(X).score_samples(Q[:300]) - KernelDensity(bandwidth=h).fit(X).score_samples(Q[:300])
    ).max()
    print(f"  log densities differ from the exact ones by at most {difference:.1e}")


CASES = {"discriminants": discriminants, "bandwidths": bandwidths, "line": line, "rows": rows}

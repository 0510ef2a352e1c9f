"""Benchmarks of nearest neighbors (scikit-learn, scikit-learn-intelex, rapidfuzz) and of PEBLS (Python loops).

Each competitor runs in a separate process, because some change the number of threads of other libraries.
"""

from __future__ import annotations

import importlib.util
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from harness import Report, Row, timed

ROWS, QUERIES, NEIGHBORS = 50_000, 10_000, 5
Numbers = np.ndarray


def mixed(correlated: bool, missing: float) -> tuple[dict[str, Numbers], dict[str, Numbers], Numbers, Numbers]:
    """Return training rows and queries with ten numeric and ten nominal columns, which may be correlated."""
    rng = np.random.default_rng(0)
    n = ROWS + QUERIES
    numbers = rng.normal(size=(n, 10))
    if correlated:
        kind = rng.integers(0, 2, n)
        names = np.stack([np.where(rng.random(n) < 0.05, 1 - kind, kind) for _ in range(10)], axis=1)
    else:
        names = rng.integers(0, 5, (n, 10))
    y = (numbers[:, 0] + names[:, 0] + rng.normal(size=n) > 1).astype(np.int64)
    numbers[rng.random(numbers.shape) < missing] = np.nan
    values = np.array(list("abcde"), dtype=object)[names]
    values[rng.random(values.shape) < missing] = None
    columns = {f"x{j}": numbers[:, j] for j in range(10)} | {f"n{j}": values[:, j] for j in range(10)}
    train, queries = ({k: v[part] for k, v in columns.items()} for part in (slice(ROWS), slice(ROWS, None)))
    return train, queries, y[:ROWS], y[ROWS:]


def one_hot(train: dict[str, Numbers], queries: dict[str, Numbers]) -> tuple[Numbers, Numbers]:
    """Return the rows as numbers: min-max scaled, imputed with 0.5, nominal columns one-hot encoded."""
    from sklearn.preprocessing import OneHotEncoder

    numbers = [np.column_stack([part[f"x{j}"] for j in range(10)]) for part in (train, queries)]
    low, high = np.nanmin(numbers[0], axis=0), np.nanmax(numbers[0], axis=0)
    scaled = [np.nan_to_num((x - low) / (high - low), nan=0.5) for x in numbers]
    names = [np.column_stack([part[f"n{j}"] for j in range(10)]) for part in (train, queries)]
    encoder = OneHotEncoder(sparse_output=False, handle_unknown="ignore").fit(names[0])
    a, b = (np.hstack([x, encoder.transform(z) / np.sqrt(2)]) for x, z in zip(scaled, names, strict=True))
    return a, b


# -- each competitor runs in a separate process ---------------------------------------------------------


def ours_mixed(correlated: bool, missing: float) -> float:
    from countwise import NeighborsClassifier

    train, queries, y, _ = mixed(correlated, missing)
    model = NeighborsClassifier(NEIGHBORS).fit(train, y)
    model.kneighbors({k: v[:10] for k, v in queries.items()})
    return min(timed(lambda: model.predict(queries)) for _ in range(5))


def brute(correlated: bool, missing: float, intelex: bool) -> float:
    if intelex:
        from sklearnex import patch_sklearn

        patch_sklearn(verbose=False)
    from sklearn.neighbors import KNeighborsClassifier

    train, queries, y, _ = mixed(correlated, missing)
    a, b = one_hot(train, queries)
    model = KNeighborsClassifier(NEIGHBORS, algorithm="brute", n_jobs=-1).fit(a, y)
    model.predict(b[:100])
    return min(timed(lambda: model.predict(b)) for _ in range(5))


def points(n: int, m: int) -> tuple[Numbers, Numbers, Numbers]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 3)), rng.integers(0, 2, n), rng.normal(size=(m, 3))


def ours_points(n: int, m: int) -> list[float]:
    from countwise import NeighborsClassifier
    from countwise.neighbors import DistanceMetric

    X, y, queries = points(n, m)
    found = []
    for _ in range(3):
        model = NeighborsClassifier(NEIGHBORS, metric=DistanceMetric(numeric="none"))
        whole = timed(lambda model=model: model.fit(X, y).predict(queries))  # type: ignore[misc]
        found.append((whole, timed(lambda model=model: model.predict(queries))))  # type: ignore[misc]
    return [min(x) for x in zip(*found, strict=True)]


def kd_tree(n: int, m: int) -> list[float]:
    from sklearn.neighbors import KNeighborsClassifier

    X, y, queries = points(n, m)
    found = []
    for _ in range(3):
        model = KNeighborsClassifier(NEIGHBORS, algorithm="kd_tree", n_jobs=-1)
        whole = timed(lambda model=model: model.fit(X, y).predict(queries))  # type: ignore[misc]
        found.append((whole, timed(lambda model=model: model.predict(queries))))  # type: ignore[misc]
    return [min(x) for x in zip(*found, strict=True)]


def people(n: int, seed: int) -> list[str]:
    """Return random names of persons."""
    rng = random.Random(seed)
    parts = [
        "an",
        "ber",
        "cor",
        "del",
        "el",
        "fra",
        "gus",
        "hen",
        "is",
        "jo",
        "ka",
        "lin",
        "mar",
        "nor",
        "ol",
        "per",
        "qui",
        "ro",
        "ste",
        "tho",
        "ur",
        "vic",
        "wil",
        "xa",
        "yo",
        "zel",
    ]

    def word(most: int) -> str:
        return "".join(rng.choice(parts) for _ in range(rng.randint(2, most))).title()

    return [f"{word(3)} {word(4)}" for _ in range(n)]


def ours_strings(n: int) -> float:
    from countwise.neighbors.edit_distance import edit_distances

    a, b = people(n, 0), people(n, 1)
    return min(timed(lambda: edit_distances(a, b)) for _ in range(4))


def rapidfuzz(n: int) -> float:
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cdist

    a, b = people(n, 0), people(n, 1)
    return min(timed(lambda: cdist(a, b, scorer=Levenshtein.distance, workers=-1, dtype=np.uint32)) for _ in range(4))


def exemplars(n: int) -> tuple[dict[str, Numbers], Numbers]:
    rng = np.random.default_rng(0)
    X: dict[str, Numbers] = {
        f"n{j}": np.array(list("abcdef"), dtype=object)[rng.integers(0, 6, n)] for j in range(10)
    }
    X |= {f"x{j}": rng.normal(size=n) for j in range(5)}
    return X, np.where((X["n0"] > "c") + X["x0"] + rng.normal(size=n) > 0.5, "yes", "no")


def ours_pebls(n: int) -> float:
    from countwise import PEBLSClassifier

    X, y = exemplars(n)
    return min(timed(lambda: PEBLSClassifier().fit(X, y)) for _ in range(2))


def python_pebls(n: int, queries: int) -> float:
    """Time plain loops over rows and attributes for a few queries, scaled to all rows."""
    X, y = exemplars(n)
    rows = list(zip(*X.values(), strict=True))
    tables = []
    for name in list(X)[:10]:
        proportions = {v: np.mean(y[X[name] == v] == "yes") for v in set(X[name])}
        tables.append({(v, w): 2 * abs(proportions[v] - proportions[w]) for v in proportions for w in proportions})
    spans = [float(np.ptp(X[f"x{j}"])) for j in range(5)]

    def distance(a: Any, b: Any) -> float:
        total = 0.0
        for j in range(10):
            total += tables[j][a[j], b[j]] ** 2
        for j in range(5):
            total += ((a[10 + j] - b[10 + j]) / spans[j]) ** 2
        return total

    def work() -> None:
        used, right = [1] * n, [1] * n
        for i in range(queries):
            best = min((used[k] / right[k] * distance(rows[i], rows[k]), k) for k in range(n) if k != i)[1]
            used[best] += 1
            right[best] += y[best] == y[i]

    return timed(work) * n / queries


WORK = {
    f.__name__: f
    for f in (ours_mixed, brute, ours_points, kd_tree, ours_strings, rapidfuzz, ours_pebls, python_pebls)
}


def alone(name: str, *settings: Any) -> Any:
    """Run a function of this script in a separate process, and return its result."""
    run = subprocess.run(
        [sys.executable, __file__, name, json.dumps(settings)], capture_output=True, text=True, check=True,
        cwd=Path(__file__).parent,
    )  # fmt: skip
    return json.loads(run.stdout.strip().split("\n")[-1])


def has(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


# -- cases ------------------------------------------------------------------------------


def mixed_rows(report: Report) -> None:
    for correlated in (False, True):
        for missing in (0.0, 0.05):
            ours = alone("ours_mixed", correlated, missing)
            what = (
                f"{'correlated' if correlated else 'independent'} nominal columns{', 5 % missing' if missing else ''}"
            )
            case = f"neighbors {ROWS // 1000}k x 20 for {QUERIES // 1000}k queries, {what}"
            peer = alone("brute", correlated, missing, False)
            report.add(Row(case, ours, peer, "scikit-learn, brute force on one-hot columns", 1 if correlated else 5))
            if has("sklearnex"):
                peer = alone("brute", correlated, missing, True)
                report.add(
                    Row(
                        case,
                        ours,
                        peer,
                        "scikit-learn-intelex, brute force on one-hot columns",
                        1 if correlated else 2,
                    )
                )


def points_in_space(report: Report, n: int = 1_000_000, m: int = 100_000) -> None:
    ours, peer = alone("ours_points", n, m), alone("kd_tree", n, m)
    case = f"neighbors of {m:,} queries among {n:,} points in 3 dimensions"
    report.add(Row(f"{case}: fit and predict", ours[0], peer[0], "scikit-learn's KD-tree", 1))
    report.add(Row(f"{case}: predict", ours[1], peer[1], "scikit-learn's KD-tree", 1))


def strings(report: Report, n: int = 10_000) -> None:
    if has("rapidfuzz"):
        case = f"edit distances of {n // 1000}k x {n // 1000}k names"
        report.add(Row(case, alone("ours_strings", n), alone("rapidfuzz", n), "rapidfuzz cdist", 1))


def pebls(report: Report, n: int = 20_000, queries: int = 10) -> None:
    ours, peer = alone("ours_pebls", n), alone("python_pebls", n, queries)
    report.add(Row(f"PEBLS on {n // 1000}k rows x 15", ours, peer, f"loops in Python ({queries} rows timed, scaled)"))
    print(f"  {ours:.2f} s (target at most 10 s): {'met' if ours <= 10 else 'MISSED'}")


CASES = {"neighbors": mixed_rows, "points": points_in_space, "edits": strings, "pebls": pebls}

if __name__ == "__main__":
    print(json.dumps(WORK[sys.argv[1]](*json.loads(sys.argv[2]))))

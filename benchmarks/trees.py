"""Benchmarks of trees: exact and binned thresholds, mixed tables, prediction, memory.

LightGBM is timed if it is installed, rpart if `Rscript` can load it, and Weka's REPTree if COUNTWISE_WEKA is the path of
its jar. Times of R and Weka exclude reading the data: both report the time of growing the tree.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from countwise import TreeClassifier
from harness import Report, Row, timed, versus

MILLION = 1_000_000
DEPTH = 10


def numbers(n: int, d: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """Return columns of which seven are informative about two classes; single precision, equal for all libraries."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)).astype(np.float32).astype(np.float64)
    signal = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3] ** 2 - X[:, 4] * (X[:, 5] > 0) + 0.5 * X[:, 6]
    return X, (signal + rng.normal(size=n) > np.median(signal)).astype(np.int64)


def different_nodes(ours: TreeClassifier, peer: DecisionTreeClassifier) -> tuple[int, int, int]:
    """Return the number of nodes compared, of ties (another attribute with the same gain) and of other differences.

    Both trees are traversed together; nodes below a difference are not compared.
    """
    tree, other = ours.tree_, peer.tree_
    pairs, compared, ties, different = [(0, 0)], 0, 0, 0
    while pairs:
        k, j = pairs.pop()
        compared += 1
        leaf = other.children_left[j] < 0
        same = (tree.attribute[k] < 0) == leaf
        if same and not leaf:
            limit = float(tree.limits_of(k)[0])
            same = tree.attribute[k] == other.feature[j] and abs(limit - other.threshold[j]) <= 1e-6
            first = int(tree.children[k])
            if same:
                pairs += [(first, other.children_left[j]), (first + 1, other.children_right[j])]
        if not same:
            tied = not leaf and tree.attribute[k] >= 0
            if tied:
                gains = tree.candidates(k).gains
                difference = abs(float(gains[tree.attribute[k]] - gains[other.feature[j]]))
                tied = difference <= 1e-12 and tree.attribute[k] != other.feature[j]
            ties += tied
            different += not tied
    return compared, ties, different


def lightgbm_tree(X: np.ndarray, y: np.ndarray) -> Callable[[], Any] | None:
    try:
        import lightgbm
    except ImportError:
        return None
    settings = {"objective": "binary", "num_leaves": 2**DEPTH, "max_depth": DEPTH, "min_data_in_leaf": 1,
                "min_sum_hessian_in_leaf": 0, "learning_rate": 1.0, "num_threads": 2, "max_bin": 255,
                "verbose": -1}  # fmt: skip
    return lambda: lightgbm.train(settings, lightgbm.Dataset(X, y), 1)


def exact_and_binned(report: Report, n: int = MILLION) -> None:
    X, y = numbers(n)
    name = f"{n:,} x 20 numeric, depth {DEPTH}"
    peer = DecisionTreeClassifier(max_depth=DEPTH, random_state=0)
    exact = TreeClassifier("gini", max_depth=DEPTH)
    binned = TreeClassifier("gini", max_depth=DEPTH, thresholds="binned")
    ours, theirs = versus(lambda: exact.fit(X, y), lambda: peer.fit(X, y), 3, 1)
    compared, ties, different = different_nodes(exact, peer)
    note = f"{compared} nodes compared, {ties} ties, {different} different"
    report.add(Row(f"tree {name}: exact", ours, theirs, "DecisionTreeClassifier", 12, note))
    bins = min(timed(lambda: binned.fit(X, y)) for _ in range(5))
    note = f"accuracy {binned.score(X, y):.4f}, peer {peer.score(X, y):.4f}"
    report.add(Row(f"tree {name}: 255 bins", bins, theirs, "DecisionTreeClassifier", 100, note))
    light = lightgbm_tree(X, y)
    if light is not None:
        pair = versus(lambda: binned.fit(X, y), light, 5, 5)
        report.add(Row(f"tree {name}: 255 bins", *pair, "LightGBM, one tree, binning included", 4))
    pair = versus(lambda: exact.predict(X), lambda: peer.predict(X), 5, 5)
    report.add(Row(f"tree of depth {DEPTH}: predict {n:,} rows", *pair, "DecisionTreeClassifier", 2))


# -- mixed tables -------------------------------------------------------------------


def mixed(n: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return ten numeric and ten nominal columns with three to twenty values each, and a class."""
    rng = np.random.default_rng(1)
    X: dict[str, np.ndarray] = {f"x{j}": rng.normal(size=n).astype(np.float32).astype(np.float64) for j in range(10)}
    codes = {}
    for j in range(10):
        size = (3, 4, 5, 6, 8, 10, 12, 15, 18, 20)[j]
        codes[j] = rng.integers(0, size, n)
        X[f"n{j}"] = np.array([f"v{v:02d}" for v in range(size)], dtype=object)[codes[j]]
    signal = X["x0"] * (codes[0] == 1) + X["x1"] + (codes[5] % 3) - 0.5 * (codes[9] % 4) + (codes[7] > 9) * X["x2"]
    return X, np.where(signal + rng.normal(size=n) > np.median(signal), "yes", "no")


def in_r(X: dict[str, np.ndarray], y: np.ndarray, folder: Path) -> float | None:
    """Return the seconds that rpart takes, as measured by R."""
    if shutil.which("Rscript") is None:
        return None
    rows = zip(*X.values(), y, strict=True)
    lines = [",".join([*X, "target"]), *(",".join(map(str, row)) for row in rows)]
    (folder / "t.csv").write_text("\n".join(lines))
    code = (
        'library(rpart); d <- read.csv("t.csv", stringsAsFactors=TRUE);'
        f"cat(system.time(rpart(target ~ ., d, control=rpart.control(cp=0, xval=0, maxdepth={DEPTH}, minsplit=2,"
        "minbucket=1, maxsurrogate=0, maxcompete=0)))[3])"
    )
    run = subprocess.run(["Rscript", "-e", code], cwd=folder, capture_output=True, text=True, check=False)
    return float(run.stdout.split()[-1]) if run.returncode == 0 and run.stdout.split() else None


def in_weka(X: dict[str, np.ndarray], y: np.ndarray, folder: Path) -> float | None:
    """Return the seconds that REPTree takes to build its model, as reported by Weka."""
    jar = os.environ.get("COUNTWISE_WEKA")
    if not jar:
        return None
    head = ["@relation t"]
    for name, column in X.items():
        kind = "numeric" if column.dtype.kind == "f" else "{" + ",".join(sorted(set(column))) + "}"
        head.append(f"@attribute {name} {kind}")
    rows = (",".join(map(str, row)) for row in zip(*X.values(), y, strict=True))
    (folder / "t.arff").write_text("\n".join([*head, "@attribute target {no,yes}", "@data", *rows]))
    java = ["java", "-Xmx4g", "-cp", jar, "weka.classifiers.trees.REPTree", "-t", str(folder / "t.arff")]
    run = subprocess.run([*java, "-no-cv", "-P", "-L", str(DEPTH)], capture_output=True, text=True, check=False)
    found = re.search(r"Time taken to build model: ([\d.]+)", run.stdout)
    return float(found.group(1)) if found else None


def in_orange(X: dict[str, np.ndarray], y: np.ndarray, folder: Path) -> float | None:
    """Return the seconds that Orange's tree takes, with one branch for each value like ours."""
    if importlib.util.find_spec("Orange") is None:
        return None
    from Orange.classification import TreeLearner
    from Orange.data import ContinuousVariable, DiscreteVariable, Domain, Table

    columns, variables = [], []
    for name, column in X.items():
        if column.dtype.kind == "f":
            variables.append(ContinuousVariable(name))
            columns.append(column)
        else:
            values, codes = np.unique(column.astype(str), return_inverse=True)
            variables.append(DiscreteVariable(name, values.tolist()))
            columns.append(codes.astype(np.float64))
    target = DiscreteVariable("target", ["no", "yes"])
    table = Table.from_numpy(Domain(variables, target), np.column_stack(columns), (y == "yes").astype(np.float64))
    return timed(lambda: TreeLearner(binarize=False, max_depth=DEPTH)(table))


def mixed_tables(report: Report, n: int = 200_000) -> None:
    X, y = mixed(n)
    names = [name for name in X if X[name].dtype == object]
    floats = np.column_stack([X[name] for name in X if name not in names])
    strings = np.column_stack([X[name] for name in names])
    model = TreeClassifier("gain", max_depth=DEPTH)

    def codes() -> Any:
        every = np.column_stack([floats, *(np.unique(X[name], return_inverse=True)[1] for name in names)])
        return DecisionTreeClassifier(criterion="entropy", max_depth=DEPTH).fit(every, y)

    def onehot() -> Any:
        every = np.column_stack([floats, OneHotEncoder(sparse_output=False).fit_transform(strings)])
        return DecisionTreeClassifier(criterion="entropy", max_depth=DEPTH).fit(every, y)

    peers: dict[str, float] = {}
    ours, peers["scikit-learn, codes"] = versus(lambda: model.fit(X, y), codes, 5, 2)
    peers["scikit-learn, one-hot"] = timed(onehot)
    with tempfile.TemporaryDirectory() as folder:
        for name, run in (("rpart", in_r), ("Weka's REPTree", in_weka), ("Orange", in_orange)):
            seconds = run(X, y, Path(folder))
            if seconds is not None:
                peers[name] = seconds
    fastest = min(peers, key=lambda name: peers[name])
    note = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in peers.items())
    report.add(Row(f"tree {n:,} x 20 mixed, multiway", ours, peers[fastest], f"{fastest} ({note})", 4))
    missing = {name: column.copy() for name, column in X.items()}
    rng = np.random.default_rng(2)
    for column in missing.values():
        column[rng.random(n) < 0.02] = np.nan if column.dtype.kind == "f" else None
    fractions = min(timed(lambda: model.fit(missing, y)) for _ in range(3))
    report.add(
        Row(f"tree {n:,} x 20 mixed, 2 % missing values, fractional instances", fractions, peers[fastest], fastest)
    )


# -- memory -------------------------------------------------------------------------


def peak_of_process(thresholds: str, folder: Path) -> float:
    """Return the peak memory of a process while it grows a tree, relative to the size of its input.

    The rows are read from a file, because generating them takes more memory than fitting.
    """
    code = (
        "import re, numpy as np\n"
        "def memory(word): return 1024 * int(re.search(word + r':\\s+(\\d+)', open('/proc/self/status').read())[1])\n"
        "from countwise import TreeClassifier\n"
        "X, y = np.load('X.npy'), np.load('y.npy')\n"
        f"TreeClassifier('gini', max_depth=2, thresholds={thresholds!r}).fit(X[:50000], y[:50000])\n"
        "open('/proc/self/clear_refs', 'w').write('5'); before = memory('VmRSS')  # resets the peak\n"
        f"TreeClassifier('gini', max_depth={DEPTH}, thresholds={thresholds!r}).fit(X, y)\n"
        "print((memory('VmHWM') - before) / X.nbytes)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    return float(run.stdout)


def memory(report: Report, n: int = MILLION) -> None:
    if not Path("/proc/self/statm").exists():
        return
    X, y = numbers(n)
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "X.npy", X)
        np.save(Path(folder) / "y.npy", y)
        for thresholds, most in (("exact", 2.0), ("binned", 0.5)):
            ratio = peak_of_process(thresholds, Path(folder))
            print(
                f"peak memory of the process beyond the input, {thresholds}: {ratio:.2f}x the input "
                f"(target at most {most:g}x: {'met' if ratio <= most else 'MISSED'})"
            )


CASES = {"trees": exact_and_binned, "mixed_trees": mixed_tables, "tree_memory": memory}

"""A table of everything that engines treat differently, and models that learn from it."""

from __future__ import annotations

import datetime
from functools import cache

import numpy as np
import pyarrow as pa

from countwise import (
    BayesNetworkClassifier,
    Binned,
    DiscriminantClassifier,
    NaiveBayesClassifier,
    RuleClassifier,
    TreeClassifier,
)

NFC, NFD = "\u00e9", "e\u0301"  # one letter, and a letter with a mark
EVIL = "O'Brien\"; DROP TABLE x; --"
LONG = "a long name of a column that goes on and on and on, ü, 59b"  # with what is put before it, more than 63 bytes
TEXTS = ["a", "A", "á", EVIL, "12", "1.0", NFC, NFD, "", "select", "back\\slash\\", "line\nbreak\t%_", " a", "a "]
DAYS = [datetime.date(2020, 1, 1), datetime.date(2020, 2, 29), datetime.date(1969, 12, 31)]
TIMES = [
    datetime.datetime(2020, 1, 1),
    datetime.datetime(2020, 1, 1, 12, 30, 15, 500_000),
    datetime.datetime(1970, 1, 1),
]
CLASSES = ["it's", "no", "é"]


@cache
def odd_table(n=260, seed=0, new=False):
    """Everything that databases treat differently, side by side; with values that training never met."""
    rng = np.random.default_rng(seed)

    def some(values, kind, gaps=0.1):
        cells = [values[i] for i in rng.integers(0, len(values), n)]
        return pa.array([None if rng.random() < gaps else v for v in cells], kind)

    def numbers(cells, gaps=0.1):
        cells = [None if rng.random() < gaps else float("nan") if rng.random() < 0.05 else float(x) for x in cells]
        return pa.array(cells, pa.float64())

    y = rng.integers(0, 3, n)
    return pa.table(
        {
            "no": pa.array(range(n), pa.int64()),
            'quo"te': some([*TEXTS, *(["never seen", "B"] if new else [])], pa.string()),
            "SELECT": some(["x", "y"], pa.string()),
            "whole": some([-3, 0, 7, 1000, *([5] if new else [])], pa.int64()),
            "large": some([2**53 + 1, 2**53 + 3, 2**60, *([2**53 + 2] if new else [])], pa.int64(), gaps=0),
            "flag": some([True, False], pa.bool_()),
            "broken": numbers(rng.choice([0.0, -0.0, 0.1, 1.5, *([2.5] if new else [])], n)),
            "day": some([*DAYS, *([datetime.date(2021, 1, 1)] if new else [])], pa.date32()),
            "time": some(TIMES, pa.timestamp("us"), gaps=0),
            "x; --": numbers(rng.normal(size=n) + y),
            "far": numbers(rng.normal(1e9, 1.0, n) + y),
            LONG: numbers(rng.normal(size=n) * (1 + y)),
            "count": numbers(rng.poisson(2 + y, n)),
            "y": pa.array([None if rng.random() < 0.03 else CLASSES[i] for i in y], pa.string()),
        }
    )


NAMES = {"whole": "nominal", "large": "nominal", "broken": "nominal", "time": "nominal", "day": "nominal"}
BAYES = {
    "types": NAMES,
    "distributions": {"count": "poisson", LONG: Binned("equal_frequency", 5)},
    "missing": {"far": "value", 'quo"te': "value", "broken": "value", "whole": "value"},
}
NUMBERS = ["x; --", "far", LONG, "count"]
MODELS = {
    "naive Bayes": NaiveBayesClassifier(**BAYES),
    "naive Bayes, never seen": NaiveBayesClassifier(**BAYES, unseen="share"),
    "naive Bayes, nothing impossible": NaiveBayesClassifier(
        types=NAMES, distributions={LONG: Binned("equal_frequency", 5)}, missing="value", unseen="share"
    ),
    "naive Bayes, unsmoothed": NaiveBayesClassifier(types=NAMES, smoothing=0, prior=[0.5, 0.2, 0.3]),
    "one covariance": (NUMBERS, DiscriminantClassifier()),
    "own covariances": (NUMBERS, DiscriminantClassifier("own")),
    "no correlations": ([*NUMBERS, "flag", "SELECT"], DiscriminantClassifier("diagonal", nominal="onehot")),
    "nearest mean": (NUMBERS[2:], DiscriminantClassifier("spherical")),
    "names as numbers": (
        [*NUMBERS, "flag", "SELECT", "day"],
        DiscriminantClassifier(nominal="onehot", types={"day": "nominal"}),
    ),
    "tree, parts of rows": TreeClassifier(types=NAMES, max_depth=3, smoothing="laplace"),
    "tree, a branch for gaps": TreeClassifier(types=NAMES, max_depth=4, missing="branch", nominal="subset"),
    "tree, the common branch": TreeClassifier(types=NAMES, max_depth=5, missing="majority", nominal="one_vs_rest"),
    "rules": RuleClassifier(types=NAMES, max_depth=4, simplify=None),
    "rules that abstain": RuleClassifier(types=NAMES, max_depth=3, default="abstain"),
    "one rule": RuleClassifier("one_r", types=NAMES),
    "naive network": ([*NUMBERS[:1], 'quo"te', "flag"], BayesNetworkClassifier("naive")),
}
FEW = ("naive Bayes, never seen", "names as numbers", "tree, parts of rows", "rules")  # for engines that are slow
FORMS = {"naive Bayes", "naive Bayes, nothing impossible", "naive Bayes, never seen", "naive Bayes, unsmoothed"}


@cache
def fitted(kind):
    """A model, and rows that it has not seen, as Arrow's and in memory: the same for every engine and database."""
    columns, model = MODELS[kind] if isinstance(MODELS[kind], tuple) else (None, MODELS[kind])
    trained, asked = odd_table(), odd_table(seed=1, new=True)
    columns = columns or [name for name in trained.column_names if name not in ("no", "y")]
    model.fit(trained.select([*columns, "y"]).to_pandas(), "y")
    return model, asked, asked.select(columns).to_pandas()


def compare(model, memory, rows, atol=1e-9):
    with np.errstate(all="ignore"):
        want = model.predict_proba(memory)
    shares = [f"P({c})" for c in model.classes_]
    found = np.array([[np.nan if row[s] is None else row[s] for s in shares] for row in rows], dtype=float)
    np.testing.assert_allclose(found, want, rtol=0, atol=atol)
    assert [row[f"predicted {model.target_.name}"] for row in rows] == model.predict(memory).tolist()

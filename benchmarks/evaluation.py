"""Benchmarks of learning curves, leave-one-out and cross-validation, compared with scikit-learn."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import LeaveOneOut, ShuffleSplit, StratifiedKFold, cross_val_score
from sklearn.model_selection import cross_validate as their_folds
from sklearn.model_selection import learning_curve as their_curve
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from countwise import NaiveBayesClassifier, cross_validate, learning_curve, leave_one_out
from harness import Report, Row, timed, versus


def numbers(n: int, columns: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, columns))
    return X, (X[:, 0] + rng.normal(size=n) > 0).astype(int)


def mixed(n: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    columns = {f"x{j}": rng.normal(y * 0.3 * (j % 3), 1) for j in range(8)}
    columns |= {f"k{j}": np.array([f"v{t}" for t in range(6)])[(y + rng.integers(0, 4, n)) % 6] for j in range(8)}
    return pd.DataFrame(columns), y


def curve(report: Report, rows: int = 100_000) -> None:
    X, y = numbers(rows, 20)
    how = {"train_sizes": np.linspace(0.05, 1, 20), "cv": ShuffleSplit(10, test_size=0.25, random_state=0)}
    ours, peer = versus(
        lambda: learning_curve(NaiveBayesClassifier(), X, y, stratified=False, **how),
        lambda: their_curve(GaussianNB(), X, y, shuffle=True, random_state=0, **how),
        repeats=7,
        peer_repeats=3,
    )
    report.add(Row("learning curve, 20 sizes x 10 repeats, 100k x 20", ours, peer, "scikit-learn, GaussianNB", 10))


def leave_one_out_rows(report: Report, rows: int = 20_000, few: int = 400) -> None:
    """The peer is timed on a few held-out rows and scaled, because all rows would take a quarter of an hour."""
    X, y = numbers(rows, 20)
    ours = min(timed(lambda: leave_one_out(NaiveBayesClassifier(), X, y)) for _ in range(3))
    splits = [split for i, split in enumerate(LeaveOneOut().split(X)) if i < few]
    peer = timed(lambda: cross_val_score(GaussianNB(), X, y, cv=splits)) * rows / few
    note = f"peer timed on {few} rows, scaled"
    report.add(Row("leave-one-out, 20k x 20", ours, peer, "scikit-learn, GaussianNB", 500, note))


def folds(report: Report, rows: int = 100_000) -> None:
    X, y = mixed(rows)
    names = [name for name in X if name.startswith("k")]
    peer_model = make_pipeline(
        make_column_transformer(
            (OneHotEncoder(sparse_output=False, handle_unknown="ignore"), names), remainder=SimpleImputer()
        ),
        GaussianNB(),
    )
    cv = StratifiedKFold(10, shuffle=True, random_state=0)
    ours, peer = versus(
        lambda: cross_validate(NaiveBayesClassifier(), X, y, cv=cv),
        lambda: their_folds(peer_model, X, y, cv=cv, scoring=["accuracy", "neg_log_loss"]),
        repeats=3,
        peer_repeats=1,
    )
    report.add(
        Row(
            "ten folds of naive Bayes on mixed columns, 100k x 16",
            ours,
            peer,
            "scikit-learn, one-hot and GaussianNB",
            5,
        )
    )


CASES = {"curve": curve, "leave_one_out": leave_one_out_rows, "folds": folds}

"""Trees of files that are read once a level: the same trees, from tallies alone."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from countwise import TreeClassifier, TreeRegressor, samples
from countwise.errors import DataWarning, TableError
from countwise.tree.growth import grow_pieces


def written(frame: dict[str, Any], folder: Path, pieces: int) -> list[Path]:
    """A table as several files."""
    rows = list(zip(*frame.values(), strict=True))
    paths = []
    for i, part in enumerate(np.array_split(np.arange(len(rows)), pieces)):
        path = folder / f"part{i}.csv"
        with path.open("w", newline="") as out:
            writer = csv.writer(out)
            writer.writerow(frame)
            for r in part:
                writer.writerow(["" if v is None or v != v else v for v in rows[r]])
        paths.append(path)
    return paths


def same(a: Any, b: Any, digits: float = 1e-9) -> None:
    assert np.array_equal(a.attribute, b.attribute)
    assert np.array_equal(a.parent, b.parent)
    np.testing.assert_allclose(a.limits, b.limits, rtol=1e-12)
    assert np.array_equal(a.groups, b.groups)
    np.testing.assert_allclose(a.cells, b.cells, rtol=1e-9, atol=1e-6)
    assert np.array_equal(a.searched, b.searched)
    np.testing.assert_allclose(a.search_results[0], b.search_results[0], rtol=digits, atol=digits)


@pytest.mark.parametrize("missing", ["fractions", "branch", "majority"])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"criterion": "gini", "nominal": "subset", "max_bins": 16},
        {"criterion": "gain_ratio", "pruning": "pessimistic", "min_samples_leaf": 2, "class_weight": "balanced"},
        {"criterion": "gini", "pruning": "cost_complexity", "ccp_alpha": 0.01},
    ],
)
def test_a_tree_of_files_is_that_of_the_rows_in_memory(tmp_path, missing, settings):
    penguins = samples.load("penguins")
    paths = written(penguins.frame, tmp_path, 5)
    a = TreeClassifier(thresholds="binned", missing=missing, **settings).fit(paths, "species")
    b = TreeClassifier(thresholds="binned", missing=missing, **settings).fit(penguins.frame, "species")
    same(a.tree_, b.tree_)
    assert a.predict(penguins.X).tolist() == b.predict(penguins.X).tolist()
    assert a.n_rows_ == 344


@pytest.mark.parametrize("criterion", ["sd", "variance"])
def test_a_regression_tree_of_files_too(tmp_path, criterion):
    penguins = samples.load("penguins")
    paths = written(penguins.frame, tmp_path, 4)
    with pytest.warns(DataWarning, match="2 of 344 rows were skipped"):
        a = TreeRegressor(criterion, thresholds="binned", max_depth=4).fit(paths, "body_mass_g")
    with pytest.warns(DataWarning, match="2 of 344 rows were skipped"):
        b = TreeRegressor(criterion, thresholds="binned", max_depth=4).fit(penguins.frame, "body_mass_g")
    # a deviation that is nearly 0 is the root of a difference of squares, and has half of their digits
    same(a.tree_, b.tree_, 1e-7 if criterion == "sd" else 1e-9)
    assert a.n_left_out_ == 2


def test_weights_may_be_a_column_of_the_files(tmp_path):
    tennis = samples.load("tennis")
    weights = np.arange(1, 15)
    paths = written(tennis.frame | {"w": weights}, tmp_path, 3)
    a = TreeClassifier(thresholds="binned").fit(paths, "play", sample_weight="w")
    b = TreeClassifier().fit(tennis.frame, "play", sample_weight=weights)
    same(a.tree_, b.tree_)


@pytest.mark.parametrize("class_weight", ["balanced", {"rare": 30.0}])
def test_bins_hold_equally_much_by_the_weights_of_classes(tmp_path, class_weight):
    rng = np.random.default_rng(0)
    x = rng.normal(size=500)
    frame = {"x": x, "y": np.where(x + rng.normal(size=500) > 2.0, "rare", "usual")}
    paths = written(frame, tmp_path, 4)
    settings: dict[str, Any] = {"thresholds": "binned", "max_bins": 8, "max_depth": 3, "class_weight": class_weight}
    same(TreeClassifier(**settings).fit(paths, "y").tree_, TreeClassifier(**settings).fit(frame, "y").tree_)


def test_the_files_are_read_once_a_level_and_never_kept(tmp_path, monkeypatch):
    paths = written(samples.load("penguins").frame, tmp_path, 5)
    asked = []
    gathered = grow_pieces.ChunkedGrowth._gathered

    def counted(self, columns, nodes):
        asked.append(len(nodes))
        return gathered(self, columns, nodes)

    monkeypatch.setattr(grow_pieces.ChunkedGrowth, "_gathered", counted)
    model = TreeClassifier(thresholds="binned", max_depth=3).fit(paths, "species")
    assert len(asked) == 1 + model.get_depth()  # what is in the root, and each level that is split
    assert max(asked) > 1


def test_what_needs_rows_reads_them(tmp_path):
    penguins = samples.load("penguins")
    paths = written(penguins.frame, tmp_path, 2)
    a = TreeClassifier(thresholds="binned", pruning="reduced_error").fit(paths, "species")
    b = TreeClassifier(thresholds="binned", pruning="reduced_error").fit(penguins.frame, "species")
    same(a.tree_, b.tree_)


def test_texts_are_not_counted_in_passes(tmp_path):
    mail = samples.load("mail")
    paths = written(mail.frame, tmp_path, 1)
    with pytest.raises(TableError, match="read the file into memory first"):
        TreeClassifier(thresholds="binned", types={"text": "text"}).fit(paths, "label")


def test_an_empty_file_is_refused(tmp_path):
    path = tmp_path / "empty.csv"
    path.write_text("a,b\n")
    with pytest.raises(TableError, match="empty"):
        TreeClassifier(thresholds="binned").fit(path, "b")

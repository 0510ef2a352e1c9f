"""The distance of texts as bags of words."""

from __future__ import annotations

from typing import Any

import numpy as np

from countwise._typing import Floats
from countwise.data.text import Bag

__all__ = ["HOW", "bag_distances"]

HOW = ("cosine", "jaccard", "bag_jaccard")


def bag_distances(a: Bag, b: Bag, how: str) -> Floats:
    """1 less the similarity of each two texts.

    Parameters
    ----------
    a, b : Bag
        Texts over one vocabulary.
    how : {"cosine", "jaccard", "bag_jaccard"}
        The cosine of the counts; the words in both over the words in either (Jaccard); or the same of the
        counts, the smaller of two over the larger. Two texts without words are equal.

    Returns
    -------
    ndarray, shape (len(a), len(b))
    """
    width = max(a.n_words, b.n_words)
    left, right = _matrix(a, width), _matrix(b, width)
    if how == "cosine":
        return _one_less(_dot(left, right), np.sqrt(np.outer(_squares(left), _squares(right))), left, right)
    if how == "jaccard":
        left.data[:], right.data[:] = 1.0, 1.0
    common = _dot(left, right) if how == "jaccard" else _smaller(left, right)
    sizes = left.sum(axis=1)[:, None] + right.sum(axis=1)[None, :]
    return _one_less(common, sizes - common, left, right)


def _matrix(bag: Bag, width: int) -> Any:
    from scipy.sparse import csr_array

    part = slice(int(bag.indptr[0]), int(bag.indptr[-1]))  # the bag may be a slice of a longer one
    data = bag.data[part].astype(np.float64)
    return csr_array((data, bag.indices[part], bag.indptr - bag.indptr[0]), shape=(len(bag), width))


def _dot(left: Any, right: Any) -> Floats:
    return np.asarray((left @ right.T).toarray())


def _squares(matrix: Any) -> Floats:
    return np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel()


def _smaller(left: Any, right: Any) -> Floats:
    """The sum over all words of the smaller of two counts, by layers: counts are whole numbers, and mostly small."""
    total = np.zeros((left.shape[0], right.shape[0]))
    deepest = min(left.data.max(initial=0), right.data.max(initial=0))
    if left.data.size and right.data.size and not _whole(left, right):
        return _smaller_of_rows(left, right)
    for layer in range(1, int(deepest) + 1):
        total += _dot(_at_least(left, layer), _at_least(right, layer))
    return total


def _whole(left: Any, right: Any) -> bool:
    return all(bool((m.data == np.floor(m.data)).all()) and m.data.max(initial=0) <= 64 for m in (left, right))


def _smaller_of_rows(left: Any, right: Any) -> Floats:
    """The same row by row, for counts that are not small whole numbers."""
    total = np.zeros((left.shape[0], right.shape[0]))
    for i in range(left.shape[0]):
        row = np.zeros(left.shape[1])
        part = slice(left.indptr[i], left.indptr[i + 1])
        row[left.indices[part]] = left.data[part]
        common = right.copy()
        common.data = np.minimum(common.data, row[common.indices])
        total[i] = np.asarray(common.sum(axis=1)).ravel()
    return total


def _at_least(matrix: Any, layer: int) -> Any:
    copy = matrix.copy()
    copy.data = (copy.data >= layer).astype(np.float64)
    return copy


def _one_less(common: Floats, whole: Floats, left: Any, right: Any) -> Floats:
    """1 - common / whole; two empty texts are equal, and rounding errors about 0 are 0."""
    likeness = np.divide(common, whole, out=np.zeros_like(common), where=whole > 0)
    likeness[np.ix_(np.diff(left.indptr) == 0, np.diff(right.indptr) == 0)] = 1.0
    found = np.clip(1.0 - likeness, 0.0, 1.0)
    found[found < 1e-15] = 0.0
    return np.asarray(found)

"""Levenshtein edit distance between strings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._typing import Indices

__all__ = ["edit_distance", "edit_distances"]

_BLOCK = 256  # strings in one block of parallel work
_FEW = 1 << 14  # number of pairs below which threads cost more time than they save


def edit_distance(a: str, b: str) -> int:
    """Return the Levenshtein distance: the fewest insertions, deletions and replacements that turn `a` into `b`.

    The distance counts Unicode code points. An emoji made of several code points, or a letter with a combining
    accent, counts as several characters.

    Examples
    --------
    >>> from countwise.neighbors.edit_distance import edit_distance
    >>> edit_distance("kitten", "sitting")
    3
    """
    return int(edit_distances([a], [b])[0, 0])


def edit_distances(a: Sequence[str], b: Sequence[str]) -> NDArray[np.uint32]:
    """Return the edit distance between each string of `a` and each string of `b`, shape (len(a), len(b))."""
    letters, starts = _letters(b)
    out = np.empty((len(a), len(b)), dtype=np.uint32)

    def work(start: int, stop: int) -> None:
        _kernels.edit_distances(*_letters(a[start:stop]), letters, starts, out[start:stop])

    _kernels.over_blocks(len(a), _BLOCK, work, threads=1 if len(a) * len(b) < _FEW else None)
    return out


def _letters(strings: Sequence[str]) -> tuple[NDArray[np.uint32], Indices]:
    """Return the code points of all strings, and the offset at which each string begins."""
    letters = np.frombuffer("".join(strings).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    sizes = np.fromiter(map(len, strings), dtype=np.int64, count=len(strings))
    return letters, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

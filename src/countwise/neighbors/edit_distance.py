"""The edit distance of strings (Levenshtein)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._typing import Indices

__all__ = ["edit_distance", "edit_distances"]

_BLOCK = 256  # strings that one piece of work compares with all others
_FEW = 1 << 14  # pairs for which threads cost more than they save


def edit_distance(a: str, b: str) -> int:
    """The fewest letters to insert, take away or replace that turn one string into the other (Levenshtein).

    Letters are code points: an emoji of several, or a letter with a combining accent, counts as several.

    Examples
    --------
    >>> from countwise.neighbors.edit_distance import edit_distance
    >>> edit_distance("kitten", "sitting")
    3
    """
    return int(edit_distances([a], [b])[0, 0])


def edit_distances(a: Sequence[str], b: Sequence[str]) -> NDArray[np.uint32]:
    """The edit distance of each string of one list from each of another: (len(a), len(b))."""
    letters, starts = _letters(b)
    out = np.empty((len(a), len(b)), dtype=np.uint32)

    def work(start: int, stop: int) -> None:
        _kernels.edit_distances(*_letters(a[start:stop]), letters, starts, out[start:stop])

    _kernels.over_blocks(len(a), _BLOCK, work, threads=1 if len(a) * len(b) < _FEW else None)
    return out


def _letters(strings: Sequence[str]) -> tuple[NDArray[np.uint32], Indices]:
    """The code points of all strings, and where each string begins."""
    letters = np.frombuffer("".join(strings).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    sizes = np.fromiter(map(len, strings), dtype=np.int64, count=len(strings))
    return letters, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

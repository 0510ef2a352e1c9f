"""Supervised discretization methods, which use the class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._typing import Floats, Indices
from countwise.cuts._base import Cuts, midway, uncut
from countwise.tallies import Values
from countwise.working.numbers import number

__all__ = ["class_contiguous", "mdl", "min_n"]


def class_contiguous(tally: Values, min_size: float | None = None) -> Cuts:
    """Cut midway between adjacent values wherever the class changes.

    A bin continues while a class has rows at every value in it. Equal values are never separated. So a value with
    rows of two classes stays in the bin below it if the class of that bin is one of the two, and the order of the
    rows does not matter. With `min_size`, a bin is merged with the next ones until it has that many rows, and a last
    bin with fewer rows is merged with the one before.
    """
    if (one := _one_bin(tally)) is not None:
        return one
    values, starts, codes, weights = _by_value(tally)
    cuts: list[int] = []
    kept: list[frozenset[int]] = []
    shared: frozenset[int] = frozenset()
    for i, here in enumerate(_classes_at(starts, codes)):
        common = shared & here
        if i and not common:
            cuts.append(i)
            kept.append(shared)
        shared = common or here
    if not cuts:
        return uncut("a class has rows at every value, so the class never changes; try 'min_n' or 'mdl'")
    notes: tuple[str, ...] = ()
    if min_size is not None:
        below = np.concatenate([[0.0], np.cumsum(weights)])[np.append(starts, len(weights))]
        large = _large_enough(below[cuts], float(below[-1]), min_size)
        if len(large) < len(cuts):
            removed = f"{len(cuts) - len(large)} of {len(cuts)} cut points removed"
            notes = (f"{removed}, so that each bin has at least {number(min_size)} rows",)
        cuts, kept = [cuts[i] for i in large], [kept[i] for i in large]
        if not cuts:
            return uncut(*notes)
    places = np.array(cuts, dtype=np.int64)
    low, high = values[places - 1], values[places]
    before, after = (_named(side, tally) for side in (kept, _classes_at(starts, codes, places)))
    return Cuts(midway(low, high), "midway between {} ({}) and {} ({})", (low, before, high, after), notes)


def _large_enough(below: Floats, total: float, least: float) -> list[int]:
    """Return the cut points that leave bins with enough rows, given the number of rows below each of them."""
    kept: list[int] = []
    for i, rows in enumerate(below.tolist()):
        if rows - (below[kept[-1]] if kept else 0.0) >= least * (1 - 1e-12):
            kept.append(i)
    if kept and total - below[kept[-1]] < least * (1 - 1e-12):
        kept.pop()
    return kept


def min_n(tally: Values, n: float, merge: str | None = None) -> Cuts:
    """Cut where the class changes, but not before the bin holds n rows of one class.

    A bin with n rows of its most frequent class continues while the next value has rows of that class. The last bin
    may hold fewer. merge='majority' merges adjacent bins with the same most frequent class, merge='last' merges a
    last bin with fewer than n rows of each class into the one before.
    """
    if (one := _one_bin(tally)) is not None:
        return one
    values, starts, codes, weights = _by_value(tally)
    places, inside = _delayed(starts, codes, weights, len(tally.given.values), n)
    reached = len(places)
    if merge == "last" and places and max(inside[-1]) < n:
        places, inside = places[:-1], [*inside[:-2], inside[-2] + inside[-1]]
    if merge == "majority":
        places, inside = _merge_majorities(places, inside)
    at = np.array(places, dtype=np.int64)
    low, high = values[at - 1], values[at]
    held = [held.max() for held in inside[: len(at)]]
    majority = [str(tally.given.values[int(np.argmax(held))]) for held in inside[: len(at)]]
    notes: tuple[str, ...] = ()
    if not reached:
        notes = (_never(tally, n),)
    elif len(places) < reached:
        notes = (f"{reached - len(places)} of {reached} cut points removed by merging ({merge})",)
    reason = "{} rows of {} up to {}; {} is of another class"
    return Cuts(midway(low, high), reason, (held, majority, low, high), notes)


def mdl(tally: Values) -> Cuts:
    """Cut as long as the information gain exceeds the cost of describing the cut point (Fayyad & Irani 1993).

    .. math:: gain > [log₂(N - 1) + log₂(3^k - 2) - (k H(S) - k₁ H(S₁) - k₂ H(S₂))] / N

    The best cut point of a bin is accepted if this holds, and then both sides are cut in turn. The lowest of several
    cut points with equal gains is used.
    """
    if (one := _one_bin(tally)) is not None:
        return one
    values, codes, weights = tally.merged
    places, gains, needed, refused = _kernels.mdl_cuts(values, codes, weights, len(tally.given.values))
    if len(places) == 0:
        if refused is None:
            return uncut()
        at, gain, threshold = refused
        cut = number(float(midway(values[at - 1], values[at])))
        best = (
            f"the best, {cut}, has an information gain of {number(gain)} bits, and {number(threshold)} are required"
        )
        return uncut(f"no cut point is accepted by the MDL criterion: {best}")
    edges = midway(values[places - 1], values[places])
    return Cuts(edges, "information gain {} bits > {} required", (gains, needed))


def _never(tally: Values, n: float) -> str:
    """Return why min_n has no cut point."""
    most = float(tally.n.max())
    if most < n:
        return f"no class has {number(n)} rows (the largest has {number(most)})"
    return (
        f"once the bin holds {number(n)} rows of one class, no value is left, or every later value has rows of its "
        "most frequent class"
    )


def _one_bin(tally: Values) -> Cuts | None:
    """Return a single bin if there are fewer than two values or two classes, otherwise None."""
    low, high = tally.bounds
    if not low < high:
        return uncut()
    few = np.count_nonzero(tally.n > 0) < 2
    return uncut("all rows have the same class, so no cut point is informative") if few else None


def _by_value(tally: Values) -> tuple[Floats, Indices, NDArray[Any], NDArray[Any]]:
    """Return the distinct values, the first entry of each, and the class and weight of each entry."""
    values, codes, weights = tally.merged
    fresh = np.concatenate([[True], values[1:] != values[:-1]])
    starts = np.flatnonzero(fresh)
    return values[starts], starts, codes, np.ones(len(values)) if weights is None else weights


def _classes_at(starts: Any, codes: Any, places: Any = None) -> list[frozenset[int]]:
    """Return the classes that have rows at each value, or at some of the values."""
    ends = np.append(starts[1:], len(codes))
    chosen = range(len(starts)) if places is None else places
    known = codes.tolist()
    return [frozenset(known[starts[i] : ends[i]]) for i in chosen]


def _named(sides: Sequence[frozenset[int]], tally: Values) -> list[str]:
    names = [str(value) for value in tally.given.values]
    texts = {side: " or ".join(names[c] for c in sorted(side)) for side in set(sides)}
    return [texts[side] for side in sides]


def _delayed(starts: Any, codes: Any, weights: Any, n_classes: int, n: float) -> tuple[list[int], list[Floats]]:
    """Return the positions of the cut points, and the rows of each class in each bin."""
    places: list[int] = []
    inside: list[Floats] = []
    held = [0.0] * n_classes
    ends = np.append(starts[1:], len(codes)).tolist()
    known, amounts = codes.tolist(), weights.tolist()
    begin = starts.tolist()
    for i in range(len(begin)):
        entries = range(begin[i], ends[i])
        most = max(held)
        if most >= n and not any(held[known[e]] == most for e in entries):
            places.append(i)
            inside.append(np.array(held))
            held = [0.0] * n_classes
        for e in entries:
            held[known[e]] += amounts[e]
    return places, [*inside, np.array(held)]


def _merge_majorities(places: list[int], inside: list[Any]) -> tuple[list[int], list[Any]]:
    """Merge adjacent bins that have the same single most frequent class."""
    kept: list[int] = []
    bins = [inside[0]]
    for place, here in zip(places, inside[1:], strict=True):
        before = bins[-1]
        if (
            _most_frequent(before) & _most_frequent(here)
            and len(_most_frequent(before)) == len(_most_frequent(here)) == 1
        ):
            bins[-1] = before + here
        else:
            kept.append(place)
            bins.append(here)
    return kept, bins


def _most_frequent(held: Any) -> set[int]:
    return set(np.flatnonzero(held == held.max()).tolist())

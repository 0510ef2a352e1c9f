"""Rules that look at the classes of the values: where the class changes, a cut is worth making."""

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


def class_contiguous(tally: Values) -> Cuts:
    """A cut midway wherever the class changes (000).

    A range goes on while some class has rows at every value in it; equal values are never
    parted. So a value with rows of two classes stays with the range below it if that range's
    class is one of the two, and the order of the rows does not matter.
    """
    if (one := _one_range(tally)) is not None:
        return one
    values, starts, codes, _ = _by_value(tally)
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
        return uncut("some class has rows at every value, so the class never changes; min_n or mdl may cut")
    places = np.array(cuts, dtype=np.int64)
    low, high = values[places - 1], values[places]
    before, after = (_named(side, tally) for side in (kept, _classes_at(starts, codes, places)))
    return Cuts(midway(low, high), "midway between {} ({}) and {} ({})", (low, before, high, after))


def min_n(tally: Values, n: float, merge: str | None = None) -> Cuts:
    """A cut where the class changes, but not before the range holds n rows of one class (001).

    A range that has n rows of its commonest class goes on while the next value still has rows of
    that class. The last range may never get there. merge="majority" joins neighbors with the
    same commonest class, "last" a last range that never reached n to the one before it.
    """
    if (one := _one_range(tally)) is not None:
        return one
    values, starts, codes, weights = _by_value(tally)
    places, inside = _delayed(starts, codes, weights, len(tally.given.values), n)
    reached = len(places)
    if merge == "last" and places and max(inside[-1]) < n:
        places, inside = places[:-1], [*inside[:-2], inside[-2] + inside[-1]]
    if merge == "majority":
        places, inside = _joined_majorities(places, inside)
    at = np.array(places, dtype=np.int64)
    low, high = values[at - 1], values[at]
    held = [held.max() for held in inside[: len(at)]]
    commonest = [str(tally.given.values[int(np.argmax(held))]) for held in inside[: len(at)]]
    notes: tuple[str, ...] = ()
    if not reached:
        notes = (_never(tally, n),)
    elif len(places) < reached:
        notes = (f"{reached - len(places)} of {reached} cuts taken out by joining ({merge})",)
    reason = "{} of {} up to {}; {} is of another class"
    return Cuts(midway(low, high), reason, (held, commonest, low, high), notes)


def mdl(tally: Values) -> Cuts:
    """The cuts whose gain pays for their own description (Fayyad and Irani).

    .. math:: gain > [log₂(N - 1) + log₂(3^k - 2) - (k H(S) - k₁ H(S₁) - k₂ H(S₂))] / N

    The best cut of a range is accepted if it holds, and each side is cut in turn. At equal gains
    the lowest cut is taken.
    """
    if (one := _one_range(tally)) is not None:
        return one
    values, codes, weights = tally.merged
    places, gains, needed, refused = _kernels.mdl_cuts(values, codes, weights, len(tally.given.values))
    if len(places) == 0:
        if refused is None:
            return uncut()
        at, gain, threshold = refused
        cut = number(float(midway(values[at - 1], values[at])))
        best = f"the best, at {cut}, gains {number(gain)} bits and would need {number(threshold)}"
        return uncut(f"no cut pays for itself: {best}")
    edges = midway(values[places - 1], values[places])
    return Cuts(edges, "gain {} bits > {} needed", (gains, needed))


def _never(tally: Values, n: float) -> str:
    """Why min_n made no cut at all."""
    most = float(tally.n.max())
    if most < n:
        return f"no class has {number(n)} rows (the largest has {number(most)})"
    return (
        f"the range never ends: once it holds {number(n)} of one class, no value is left, or each has rows of its "
        "commonest class"
    )


def _one_range(tally: Values) -> Cuts | None:
    """No cuts, where there are not two values or not two classes."""
    low, high = tally.bounds
    if not low < high:
        return uncut()
    few = np.count_nonzero(tally.n > 0) < 2
    return uncut("one class only: there is nothing to tell apart") if few else None


def _by_value(tally: Values) -> tuple[Floats, Indices, NDArray[Any], NDArray[Any]]:
    """Distinct values, where the entries of each begin, and the class and weight of each entry."""
    values, codes, weights = tally.merged
    fresh = np.concatenate([[True], values[1:] != values[:-1]])
    starts = np.flatnonzero(fresh)
    return values[starts], starts, codes, np.ones(len(values)) if weights is None else weights


def _classes_at(starts: Any, codes: Any, places: Any = None) -> list[frozenset[int]]:
    """The classes that have rows at each value, or at some of them."""
    ends = np.append(starts[1:], len(codes))
    chosen = range(len(starts)) if places is None else places
    known = codes.tolist()
    return [frozenset(known[starts[i] : ends[i]]) for i in chosen]


def _named(sides: Sequence[frozenset[int]], tally: Values) -> list[str]:
    names = [str(value) for value in tally.given.values]
    words = {side: " or ".join(names[c] for c in sorted(side)) for side in set(sides)}
    return [words[side] for side in sides]


def _delayed(starts: Any, codes: Any, weights: Any, n_classes: int, n: float) -> tuple[list[int], list[Floats]]:
    """Places of the cuts, and what each range holds of each class."""
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


def _joined_majorities(places: list[int], inside: list[Any]) -> tuple[list[int], list[Any]]:
    """Neighboring ranges with one and the same commonest class made one."""
    kept: list[int] = []
    ranges = [inside[0]]
    for place, here in zip(places, inside[1:], strict=True):
        before = ranges[-1]
        if _commonest(before) & _commonest(here) and len(_commonest(before)) == len(_commonest(here)) == 1:
            ranges[-1] = before + here
        else:
            kept.append(place)
            ranges.append(here)
    return kept, ranges


def _commonest(held: Any) -> set[int]:
    return set(np.flatnonzero(held == held.max()).tolist())

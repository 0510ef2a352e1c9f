"""Discretization methods, with and without classes, and the choice of the number of bins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._typing import Floats, Indices
from countwise.cuts._base import Cuts, midway, uncut
from countwise.errors import OptionError, TableError
from countwise.tallies import Values, all_ones
from countwise.working.numbers import number

__all__ = [
    "LEAST",
    "best_number",
    "class_contiguous",
    "equal_frequency",
    "equal_width",
    "given",
    "kmeans",
    "leave_one_out_score",
    "lloyd",
    "mdl",
    "min_n",
    "naive",
    "quantiles",
]


_MOST_CELLS = 1 << 28  # table entries that exact k-means may need
_MOST_ITERATIONS = 10_000  # of k-means from given centers
MOST_BINS = 50
LEAST = -700.0  # replaces log 0, so that the score stays finite


def naive(tally: Values) -> Cuts:
    """Put each distinct value into a separate bin, with cut points midway between adjacent values.

    A bin holds its value only: any other number is unseen, like a category that never occurred in training.
    """
    values = tally.pooled[0]
    if len(values) == 0:
        return uncut()
    edges = midway(values[:-1], values[1:])
    return Cuts(edges, "midway between {} and {}", (values[:-1], values[1:]), values=values)


def equal_width(tally: Values, n_bins: int) -> Cuts:
    """Divide the interval from the minimum to the maximum into bins of equal width."""
    values = tally.pooled[0]
    if len(values) < 2:
        return uncut()
    low, high = values[0], values[-1]
    edges = np.linspace(low, high, n_bins + 1)[1:-1]
    kept = np.unique(edges)
    kept = kept[(kept >= low) & (kept < high)]
    place = np.searchsorted(edges, kept)
    notes = _lost(n_bins, len(kept), "the values are too close together for such narrow bins")
    between = np.diff(np.searchsorted(values, kept, side="right"), prepend=0)
    notes += _empty(int(np.count_nonzero(between == 0)), len(kept) + 1)
    reason = f"{{}}/{n_bins} of the way from {number(low)} to {number(high)}"
    return Cuts(kept, reason, (place + 1,), notes)


def equal_frequency(tally: Values, n_bins: int) -> Cuts:
    """Divide the values into bins with about the same number of rows; equal values are never separated."""
    values, weights = tally.pooled
    if len(values) < 2:
        return uncut()
    edges = np.unique(quantiles(values, weights, np.arange(1, n_bins) / n_bins))
    edges = edges[edges < values[-1]]
    place = np.searchsorted(values, edges, side="right")
    below = place if all_ones(weights) else np.concatenate([[0], np.cumsum(weights)])[place]
    reason = f"{{}} of {number(float(weights.sum()))} rows are at or below it"
    notes = _lost(n_bins, len(edges), "several quantiles are equal, and equal values are never separated")
    notes += _empty(int(np.count_nonzero(np.diff(place) == 0)), len(edges) + 1)
    return Cuts(edges, reason, (below,), notes)


def kmeans(tally: Values, n_bins: int) -> Cuts:
    """Divide the values by k-means into bins with the smallest within-bin sum of squares, the global optimum."""
    values, weights = tally.pooled
    if len(values) < 2:
        return uncut()
    k = min(n_bins, len(values))
    if k * len(values) > _MOST_CELLS:
        raise TableError(
            f"Exact k-means of {len(values)} distinct values into {k} bins needs too much memory.",
            hint="use fewer bins, or round the values.",
        )
    starts = _kernels.kmeans_1d(values, None if all_ones(weights) else weights, k)
    sums = np.add.reduceat(weights.astype(np.float64), starts)
    first = np.repeat(values[starts], np.diff(starts, append=len(values)))
    centers = values[starts] + np.add.reduceat((values - first) * weights, starts) / sums
    below, above = values[starts[1:] - 1], values[starts[1:]]
    edges = np.clip(midway(centers[:-1], centers[1:]), below, np.nextafter(above, -np.inf))
    notes = _lost(n_bins, len(edges), f"there are only {len(values)} distinct values")
    return Cuts(edges, "midway between the centers {} and {}", (centers[:-1], centers[1:]), notes)


def lloyd(tally: Values, n_bins: int, init: Any = "random", n_init: int = 10, random_state: int = 0) -> Cuts:
    """Divide the values by Lloyd's iterations of k-means, from random values or from given centers.

    Every value goes to the nearest center, and every center moves to the mean of its values, until nothing changes.
    The result depends on the first centers. Of several random starts, the one with the smallest within-bin sum of
    squares is kept, with the centers of all its iterations. A value midway between two centers goes to the lower one.
    """
    values, weights = tally.pooled
    if len(values) < 2:
        return uncut()
    if isinstance(init, str):
        k, rng = min(n_bins, len(values)), np.random.default_rng(random_state)
        p = weights / weights.sum()
        starts = [np.sort(rng.choice(values, k, replace=False, p=p)) for _ in range(n_init)]
        notes = _lost(n_bins, k - 1, f"there are only {len(values)} distinct values")
    else:
        starts, notes = [edges_of(init, "centers")], ()
    runs = [_iterations(values, weights, start) for start in starts]
    inertias = [_inertia(values, weights, run[-1]) for run in runs]
    best = int(np.argmin(np.array(inertias) > min(inertias) * (1 + 1e-12)))  # the first at a tie
    history = runs[best]
    if len(runs) > 1:
        found = [inertia <= inertias[best] * (1 + 1e-9) for inertia in inertias]
        at = f"within-bin sum of squares {number(inertias[best])}, found by {sum(found)} of them"
        worst = f"; the worst has {number(max(inertias))}" if not all(found) else ""
        notes = (f"best of {len(runs)} random starts: {at}{worst}", *notes)
    if len(history) > _MOST_ITERATIONS:
        notes = (f"the centers still moved after {_MOST_ITERATIONS} iterations", *notes)
    centers = history[-1]
    edges = midway(centers[:-1], centers[1:])
    notes += _empty(int(np.count_nonzero(np.diff(_ends(values, centers)) == 0)), len(centers))
    each = np.array([_inertia(values, weights, row) for row in history])
    reason = "midway between the centers {} and {}"
    return Cuts(edges, reason, (centers[:-1], centers[1:]), notes, history=(np.array(history), each))


def _ends(values: Floats, centers: Floats) -> NDArray[Any]:
    """Return the bounds of the values that are nearest to each center."""
    places = np.searchsorted(values, midway(centers[:-1], centers[1:]), side="right")
    return np.concatenate([[0], places, [len(values)]])


def _iterations(values: Floats, weights: NDArray[Any], start: Floats) -> list[Floats]:
    """Return the centers of each iteration, until no value changes its center; a center without values stays."""
    middle = float(np.average(values, weights=weights))
    total = np.concatenate([[0], np.cumsum(weights, dtype=np.float64)])
    sums = np.concatenate([[0], np.cumsum((values - middle) * weights)])
    found, ends = [start], _ends(values, start)
    for _ in range(_MOST_ITERATIONS):
        n, shift = np.diff(total[ends]), np.diff(sums[ends])
        centers = np.where(n > 0, middle + shift / np.where(n > 0, n, 1), found[-1])
        found.append(centers)
        before, ends = ends, _ends(values, centers)
        if np.array_equal(before, ends):
            break
    return found


def _inertia(values: Floats, weights: NDArray[Any], centers: Floats) -> float:
    """Return the sum of squared distances of the values to the nearest center."""
    nearest = np.repeat(centers, np.diff(_ends(values, centers)))
    return float((weights * (values - nearest) ** 2).sum())


def given(tally: Values, edges: Sequence[float]) -> Cuts:
    """Return cut points given by the user."""
    wanted = edges_of(edges)
    values = tally.pooled[0]
    notes: tuple[str, ...] = ()
    if len(values):
        counts = tally.counts_in(wanted).sum(axis=0)
        notes = _empty(int(np.count_nonzero(counts == 0)), len(counts))
    return Cuts(wanted, "given", notes=notes)


def edges_of(edges: Any, what: str = "cut points") -> Floats:
    """Validate cut points or centers given by the user: finite distinct numbers in any order; return them sorted."""
    try:
        wanted = np.asarray(edges, dtype=np.float64)
    except (TypeError, ValueError):
        raise OptionError(f"The {what} {edges!r} are not numbers.") from None
    if wanted.ndim != 1 or not np.isfinite(wanted).all():
        raise OptionError(
            f"The {what} {edges!r} must be a list of finite numbers.",
            hint="omit infinity: the first and the last bin are unbounded." if what == "cut points" else "",
        )
    if len(np.unique(wanted)) < len(wanted):
        raise OptionError(f"The {what} {edges!r} must be distinct.")
    return np.sort(wanted)


def quantiles(values: Floats, weights: NDArray[Any], p: Floats) -> Floats:
    """Return the p-quantiles of weighted values.

    A p-quantile is the smallest value with at least a fraction p of the rows at or below it. If the fraction is
    reached exactly, the result is midway between this value and the next one. The definition is symmetric: counting
    from the top gives the same values.
    """
    target = float(weights.sum()) * p
    # a target equal to a cumulative total, up to rounding, lies between two values
    if all_ones(weights):
        place = np.ceil(target * (1 - 1e-12)).astype(np.int64) - 1
        running = place + 1.0
    else:
        below = np.cumsum(weights, dtype=np.float64)
        place = np.searchsorted(below, target * (1 - 1e-12))
        running = below[np.minimum(place, len(values) - 1)]
    place = np.clip(place, 0, len(values) - 1)
    above = np.minimum(place + 1, len(values) - 1)
    between = np.isclose(running, target, rtol=1e-12, atol=0)
    return np.where(between, values[place] + (values[above] - values[place]) / 2, values[place])


def _empty(n_empty: int, n_bins: int) -> tuple[str, ...]:
    return (f"{n_empty} of the {n_bins} bins contain no training value",) if n_empty else ()


def _lost(n_bins: int, n_edges: int, why: str) -> tuple[str, ...]:
    if n_edges + 1 >= n_bins:
        return ()
    return (f"{n_edges + 1} bins instead of {n_bins}: {why}",)


def best_number(rule: Callable[[Values, int], Cuts], tally: Values) -> Cuts:
    """Return the cut points with the best leave-one-out likelihood over 1 to 50 bins; the fewest bins at a tie.

    With classes it is the likelihood of the class given the bin, with one pseudocount for each class in each bin.
    Without classes it is the likelihood of the values under the histogram, with one pseudocount divided equally among
    the bins. The cut points stay those of all rows.
    """
    most = max(1, min(MOST_BINS, len(tally.pooled[0])))
    supervised = int(np.count_nonzero(tally.n > 0)) > 1
    best, best_score = rule(tally, 1), -np.inf
    for n_bins in range(1, most + 1):
        cuts = rule(tally, n_bins)
        if supervised:
            score = leave_one_out_score(tally.counts_in(cuts.edges).T, unit=_unit(tally))
        else:
            score = _density_score(tally, cuts)
        if score > best_score + 1e-12 * abs(best_score if np.isfinite(best_score) else 0):
            best, best_score = cuts, score
    of = "log P(class | bin)" if supervised else "log-likelihood"
    k = len(best.edges) + 1
    found = f"{k} bin{'s' * (k > 1)}: best number from 1 to {most} by leave-one-out {of} ({number(best_score)})"
    return replace(best, notes=(found, *best.notes))


def _unit(tally: Values) -> float:
    """Return the weight of one row: 1 for integer weights, otherwise the mean weight of a value."""
    if all(weights.dtype.kind == "i" for _, weights in tally.filled):
        return 1.0
    entries = sum(len(values) for values, _ in tally.filled)
    return min(1.0, float(tally.n.sum()) / max(entries, 1))


def _density_score(tally: Values, cuts: Cuts) -> float:
    """Return the mean of log f(x), where f is the histogram of the other rows."""
    values: Any = tally.pooled[0]
    if len(values) < 2:
        return 0.0
    counts = tally.counts_in(cuts.edges).sum(axis=0) / _unit(tally)
    widths = np.diff(np.concatenate([[values[0]], cuts.edges, [values[-1]]]))
    widths = np.maximum(widths, 1e-12 * (values[-1] - values[0]))  # a bin that holds only the minimum has width 0
    n, k = counts.sum(), len(counts)
    with np.errstate(divide="ignore"):
        logs = np.log((np.maximum(counts - 1, 0) + 1 / k) / n) - np.log(widths)
    return float((counts * logs).sum() / n)


def leave_one_out_score(
    counts: NDArray[Any], pseudo: NDArray[Any] | float = 1.0, unit: float = 1.0, added: float | None = None
) -> float:
    """Return the mean over the rows of log P(class | value), in nats, estimated without the row itself.

    `pseudo` are the pseudocounts of each value in each class, `unit` is the weight of one row, and `added` what is
    added to the number of rows of a class: by default the sum of the pseudocounts.
    """
    n_vc = np.asarray(counts, dtype=np.float64) / unit
    each = np.broadcast_to(np.asarray(pseudo, dtype=np.float64), n_vc.shape[:1])[:, None]
    n_c, mass = n_vc.sum(axis=0), float(each.sum()) if added is None else added
    if not n_c.sum() > 0:
        return 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        joint = np.log(n_vc + each) - np.log(n_c + mass) + np.log(n_c)  # (values, classes)
        own = np.log(np.maximum(n_vc - 1 + each, 0)) - np.log(n_c - 1 + mass) + np.log(np.maximum(n_c - 1, 0))
        # a class without rows, or whose only row is excluded, has probability 0
        joint, own = (np.where(np.isnan(logs), -np.inf, logs) for logs in (joint, own))
        total = 0.0
        for c in range(n_vc.shape[1]):
            rest = np.delete(joint, c, axis=1)
            log_sum = np.logaddexp.reduce(np.column_stack([rest, own[:, c]]), axis=1)
            score = np.nan_to_num(own[:, c] - log_sum, nan=LEAST, neginf=LEAST)
            total += float((n_vc[:, c] * np.maximum(score, LEAST)).sum())
    return total / float(n_c.sum())


# -- methods that use the class ------------------------------------------------------------


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

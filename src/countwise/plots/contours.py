"""Lines between regions, without a library that draws: marching squares."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["boundary"]

_Array = NDArray[Any]


def boundary(codes: _Array, scores: _Array | None, xs: _Array, ys: _Array) -> _Array:
    """The lines between the regions of a grid.

    Parameters
    ----------
    codes : ndarray of int, shape (rows, columns)
        The class at each point; rows go with `ys`.
    scores : ndarray, shape (rows, columns, classes), optional
        What each class scores there: the line is where two are alike. Without, it is half way.
    xs, ys : ndarray
        Where the points lie.

    Returns
    -------
    ndarray, shape (segments, 2, 2)
        Ends of segments, x before y.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.plots.contours import boundary
    >>> boundary(np.array([[0, 1], [0, 1]]), None, np.array([0.0, 1.0]), np.array([0.0, 2.0])).tolist()
    [[[0.5, 0.0], [0.5, 2.0]]]
    """
    corners = _corners(codes)
    least, most = corners.min(axis=0), corners.max(axis=0)
    many = ((corners != least) & (corners != most)).any(axis=0)
    found = [np.empty((0, 2, 2))]
    for code in np.unique(codes):
        inside = codes == code
        mine = ((least == code) & (most > code)) | many  # each line once, save where three regions meet
        found.append(_segments(inside, _lead(scores, inside, int(code)), xs, ys, mine))
    return np.concatenate(found)


def _corners(values: _Array) -> _Array:
    """The four corners of each cell of a grid, anticlockwise from the lowest."""
    return np.stack([values[:-1, :-1], values[:-1, 1:], values[1:, 1:], values[1:, :-1]])


def _lead(scores: _Array | None, inside: _Array, code: int) -> _Array:
    """By how much a class leads the best of the others."""
    if scores is None or scores.shape[2] < 2:
        return np.where(inside, 1.0, -1.0)
    return np.asarray(scores[..., code] - np.delete(scores, code, axis=2).max(axis=2))


def _segments(inside: _Array, lead: _Array, xs: _Array, ys: _Array, mine: _Array) -> _Array:
    """Where the edges of each cell are crossed, joined in pairs."""
    places = np.stack(np.broadcast_arrays(xs[None, :], ys[:, None]), axis=-1).astype(np.float64)
    x, y = (_corners(places[..., axis]) for axis in (0, 1))
    at, sign = _corners(lead), _corners(inside)
    after = [1, 2, 3, 0]
    crossed = (sign != sign[after]) & mine
    with np.errstate(divide="ignore", invalid="ignore"):
        share = at / (at - at[after])
    share = np.where(np.isfinite(share) & (share >= 0) & (share <= 1), share, 0.5)
    points = np.stack([x + share * (x[after] - x), y + share * (y[after] - y)], axis=-1)
    number = crossed.sum(axis=0)
    order = np.argsort(~crossed, axis=0, kind="stable")[:2]
    pairs = np.take_along_axis(points, order[..., None], axis=0)[:, number == 2]
    saddle = points[:, number == 4]  # two corners across belong together: cut off the other two
    return np.concatenate([pairs.swapaxes(0, 1), saddle[:2].swapaxes(0, 1), saddle[2:].swapaxes(0, 1)])

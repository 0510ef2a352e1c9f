"""A normal law of several numbers in an engine: one form for whole rows, for others looked up by their gaps."""

from __future__ import annotations

from typing import Any

from countwise._typing import Floats
from countwise.sources.asking import Asked, real
from countwise.terms import Joint

__all__ = ["joint_voices"]

Voices = list[tuple[str, list[Any]]]


def joint_voices(plan: Any, asked: Asked, term: Joint, apart: bool, mark: str = "") -> tuple[Any, Voices]:
    """The frame with columns on the way, and what each class adds; column by column if they are wanted apart.

    Null where a row has gaps of a pattern that is not listed.
    """
    import narwhals.stable.v2 as nw

    center = term.center.tolist()
    plan = plan.with_columns(**{f"cw_d{mark}{j}": asked.of(n) - center[j] for j, n in enumerate(term.numbers)})
    key = nw.lit(0)
    for j, place in zip(term.firsts, term.marks, strict=True):
        key = key + nw.when(nw.col(f"cw_d{mark}{j}").is_null()).then(nw.lit(place)).otherwise(nw.lit(0))
    plan = plan.with_columns(**{f"cw_gap{mark}": key.cast(nw.Int64)})
    cells = {name: nw.col(name) for name in (f"cw_d{mark}{j}" for j in range(len(center)))}
    zeros = {name: nw.when(x.is_null()).then(real(0.0)).otherwise(x) for name, x in cells.items()}
    plan = plan.with_columns(**zeros)
    return _shared(plan, term, mark) if term.factors is None else _own(plan, term, apart, mark)


def _by_gaps(term: Joint, numbers: Floats, mark: str) -> Any:
    """A number that depends on the pattern of gaps; null where the pattern is not listed."""
    import narwhals.stable.v2 as nw

    gap = nw.col(f"cw_gap{mark}")
    there = nw.when(gap == 0).then(real(numbers[0]))
    rest = [(key, float(x)) for key, x in zip(term.keys[1:], numbers[1:], strict=True)]
    keys, values = [key for key, _ in rest], [x for _, x in rest]
    nothing = nw.when(gap < 0).then(real(0.0))
    return there.otherwise(gap.replace_strict(keys, values, default=nothing, return_dtype=nw.Float64))


def _shared(plan: Any, term: Joint, mark: str) -> tuple[Any, Voices]:
    import narwhals.stable.v2 as nw

    assert term.slopes is not None  # noqa: S101 - of a shared covariance
    voices: dict[str, list[Any]] = {}
    for j, n in enumerate(term.numbers):
        logs = [
            _by_gaps(term, term.slopes[:, c, j], mark) * (nw.col(f"cw_d{mark}{j}") - 0.5 * float(away[j]))
            for c, away in enumerate(term.away)
        ]
        voices[n.column] = (
            [a + b for a, b in zip(voices[n.column], logs, strict=True)] if n.column in voices else logs
        )
    return plan, list(voices.items())


def _own(plan: Any, term: Joint, apart: bool, mark: str) -> tuple[Any, Voices]:
    import narwhals.stable.v2 as nw

    assert term.factors is not None  # noqa: S101 - of covariances of their own
    assert term.log_norm is not None  # noqa: S101 - the same
    k, n = term.away.shape
    away = [[nw.col(f"cw_d{mark}{j}") - float(term.away[c, j]) for j in range(n)] for c in range(k)]
    factors = {f"cw_f{mark}{c}_{r}_{j}": (c, r, j) for c in range(k) for r in range(n) for j in range(r + 1)}
    plan = plan.with_columns(
        **{name: _by_gaps(term, term.factors[(slice(None), *at)], mark) for name, at in factors.items()}
    )
    parts = {}
    for c in range(k):
        for r in range(n):
            part = nw.col(f"cw_f{mark}{c}_{r}_0") * away[c][0]
            for j in range(1, r + 1):
                part = part + nw.col(f"cw_f{mark}{c}_{r}_{j}") * away[c][j]
            parts[f"cw_y{mark}{c}_{r}"] = part
    plan = plan.with_columns(**parts)
    voices: dict[str, list[Any]] = {"": [_by_gaps(term, term.log_norm[:, c], mark) for c in range(k)]}
    for r, number in enumerate(term.numbers):
        name = number.column if apart else ""
        said = [
            _said(f"{mark}{c}", r, n, away[c][r]) if apart else nw.col(f"cw_y{mark}{c}_{r}") ** 2 * -0.5
            for c in range(k)
        ]
        _add(voices, name, said)
    return plan, list(voices.items())


def _add(voices: dict[str, list[Any]], name: str, logs: list[Any]) -> None:
    voices[name] = [a + b for a, b in zip(voices[name], logs, strict=True)] if name in voices else logs


def _said(c: str, j: int, n: int, away: Any) -> Any:
    """Of the square the part of a column: its distance from the mean times Σ⁻¹ of all distances."""
    import narwhals.stable.v2 as nw

    solved = real(0.0)
    for r in range(j, n):
        solved = solved + nw.col(f"cw_f{c}_{r}_{j}") * nw.col(f"cw_y{c}_{r}")
    return away * solved * -0.5

"""Numeric columns of one C-ordered matrix: domains and codes computed in one pass over its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from countwise import _kernels
from countwise.data.attributes import Attribute, Nominal
from countwise.data.columns import number_lookup
from countwise.data.frames import Coded, Column, Frame
from countwise.data.table import BLOCK

__all__ = ["encode_together", "encoded_by_guess", "grows_from", "is_interleaved", "small_domains"]

_LEAST_SMALL, _SMALL = -1024, 1 << 13  # integers in this range are counted; others are found by sorting


def is_interleaved(column: Column) -> bool:
    """Return whether a numeric column is a strided view of a C-ordered matrix."""
    return isinstance(column, np.ndarray) and column.dtype.kind in "iuf" and column.strides[0] > column.itemsize


def grows_from(a: Attribute, frame: Frame) -> bool:
    """Return whether the domain of an attribute is learned from a column of a C-ordered matrix."""
    return isinstance(a, Nominal) and bool(a.grows) and is_interleaved(frame.columns[a.name])


def small_domains(columns: Mapping[str, Any], n_rows: int) -> dict[str, Any]:
    """Return the distinct values of the columns that contain only small integers, in one pass."""
    if not columns:
        return {}

    def work(start: int, stop: int) -> tuple[Any, Any]:
        return _kernels.mark_columns([c[start:stop] for c in columns.values()], _LEAST_SMALL, _SMALL)

    results = _kernels.over_blocks(n_rows, BLOCK, work)
    marks = np.maximum.reduce([result[0] for result in results])
    outside = np.maximum.reduce([result[1] for result in results])
    return {name: np.flatnonzero(marks[j, :-1]) + _LEAST_SMALL for j, name in enumerate(columns) if not outside[j]}


def encoded_by_guess(columns: Mapping[str, Any], n_rows: int) -> dict[str, Coded]:
    """Encode columns of a matrix in one pass, with the domain of the first block of rows.

    The result excludes the columns that have other values in later rows.
    """
    if not columns:
        return {}
    marks, outside = _kernels.mark_columns([c[:BLOCK] for c in columns.values()], _LEAST_SMALL, _SMALL)
    domains = [tuple((np.flatnonzero(mark[:-1]) + _LEAST_SMALL).tolist()) for mark in marks]
    guessed = [
        Nominal(name, values, grows=True)
        for name, values, far in zip(columns, domains, outside, strict=True)
        if values and not far
    ]
    frame = Frame({a.name: columns[a.name] for a in guessed}, n_rows, named=True)
    codes = encode_together(guessed, frame, strict=False) if guessed else {}
    return {
        a.name: Coded(codes[a.name], [*a.values, None], all_used=True)
        for a in guessed
        if a.name in codes and int(codes[a.name].max()) != a.unseen
    }


def encode_together(attributes: Sequence[Nominal], frame: Frame, *, strict: bool) -> dict[str, Any]:
    """Encode the columns of one matrix whose domains are integers, in one pass."""
    found = [(a, number_lookup(a.values)) for a in attributes]
    ready = [(a, low, lookup) for a, (kind, low, lookup) in found if kind == "lookup" and lookup is not None]
    codes = {a.name: np.empty(frame.n_rows, dtype=lookup.dtype) for a, _, lookup in ready}
    lows, lookups, others = [low for _, low, _ in ready], [t for _, _, t in ready], [a.unseen for a, _, _ in ready]

    def work(start: int, stop: int) -> None:
        _kernels.encode_columns(
            [frame.columns[name][start:stop] for name in codes],
            lows,
            lookups,
            others,
            [column[start:stop] for column in codes.values()],
        )

    _kernels.over_blocks(frame.n_rows, BLOCK, work)
    for a, _, _ in ready:
        if strict and len(codes[a.name]) and int(codes[a.name].max()) == a.unseen:
            a.encode(frame.columns[a.name], strict=True)  # raises the error for the first such row
    return codes

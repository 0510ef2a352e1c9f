"""The compiled kernels at every level of the processor, and the NumPy ones, which are asked once for each case."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy import testing

from countwise._kernels import reference as specification

try:
    from countwise._kernels import _native as native
    from countwise._kernels import binning as binning
except ImportError:
    pytest.skip("the compiled kernels are absent", allow_module_level=True)

LEVELS = [name.removeprefix("x86-64-") for name in native.levels() if name.startswith("x86-64-")]


class UnknownError(Exception):
    """What an argument holds cannot be told by its bytes."""


class Remembering:
    """The NumPy kernels; while `answers` is a table, the same arguments are answered from it.

    Arguments are the same if their bits and their places in memory (strides) are. What a kernel wrote into its
    arguments is written again; what it returned is copied, so that no test can change what another level is compared
    with. Errors are not remembered, nor answers to arguments that are more than arrays, numbers and texts.
    """

    __name__ = specification.__name__

    def __init__(self) -> None:
        self.answers: dict[Any, tuple[Any, list[tuple[int, np.ndarray]]]] | None = None
        self._lock = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        kernel = getattr(specification, name)
        return self._asked(name, kernel) if self.answers is not None and callable(kernel) else kernel

    def _asked(self, name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
        def answer(*arguments: Any, **named: Any) -> Any:
            with self._lock:
                arrays: list[np.ndarray] = []
                try:
                    key = name, told((arguments, *named.items()), arrays)
                except UnknownError:
                    return kernel(*arguments, **named)
                assert self.answers is not None
                if key not in self.answers:
                    before = [x.tobytes() if x.flags.writeable else b"" for x in arrays]
                    given = kernel(*arguments, **named)
                    written = [
                        (i, x.copy()) for i, x in enumerate(arrays) if x.flags.writeable and x.tobytes() != before[i]
                    ]
                    with contextlib.suppress(UnknownError):
                        self.answers[key] = copied(given), written
                    return given
                given, written = self.answers[key]
                for i, x in written:
                    arrays[i][...] = x
                return copied(given)

        return answer


def told(value: Any, arrays: list[np.ndarray]) -> Any:
    """What an argument holds, as a key; its arrays are gathered on the way."""
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise UnknownError
        arrays.append(value)
        return value.dtype.str, value.shape, value.strides, value.flags.writeable, hash(value.tobytes())
    if isinstance(value, (list, tuple)):
        return type(value), tuple([told(x, arrays) for x in value])
    if value is None or isinstance(value, (bool, int, float, str, np.generic)):
        return type(value), repr(value)
    raise UnknownError


def copied(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.copy(order="K")
    if type(value) in (list, tuple):
        return type(value)(copied(x) for x in value)
    if value is None or isinstance(value, (bool, int, float, str, np.generic)):
        return value
    raise UnknownError


reference = Remembering()


def each_level() -> Iterator[str]:
    """Every level that this processor has, one after the other; all are compared with the same answers."""
    before = native.get_level().removeprefix("x86-64-")
    reference.answers = {}
    try:
        for level in LEVELS or ["native"]:
            if LEVELS:
                native.set_level(level)
            yield level
    finally:
        reference.answers = None
        if LEVELS:
            native.set_level(before)


def _same_bits(ours: Any, theirs: Any) -> bool:
    return (
        isinstance(ours, np.ndarray)
        and isinstance(theirs, np.ndarray)
        and ours.dtype == theirs.dtype
        and ours.shape == theirs.shape
        and not ours.dtype.hasobject
        and ours.tobytes() == theirs.tobytes()
    )


def assert_array_equal(ours: Any, theirs: Any) -> None:
    """As NumPy has it; arrays of the same bits, which most are, are equal without a closer look."""
    if not _same_bits(ours, theirs):
        testing.assert_array_equal(ours, theirs)


def assert_allclose(ours: Any, theirs: Any, **tolerances: float) -> None:
    """As NumPy has it; arrays of the same bits, which many are, are close without a closer look."""
    if not _same_bits(ours, theirs):
        testing.assert_allclose(ours, theirs, **tolerances)

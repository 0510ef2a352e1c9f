"""Who wants to know how far the work has come."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

__all__ = ["bar", "counter", "current", "quiet", "reporting"]

_listener: ContextVar[Callable[[int], None] | None] = ContextVar("countwise_progress", default=None)


def current() -> Callable[[int], None] | None:
    """The function to call with the number of rows (or subsets) done, if anybody listens."""
    return _listener.get()


def counter() -> Callable[[], None]:
    """A function to call at each step of the work.

    Examples
    --------
    >>> from countwise.progress import counter, reporting
    >>> heard = []
    >>> with reporting(heard.append):
    ...     tell = counter()
    ...     tell(), tell()
    (None, None)
    >>> heard
    [1, 2]
    """
    listener, done = _listener.get(), 0

    def tell() -> None:
        nonlocal done
        done += 1
        if listener is not None:
            listener(done)

    return tell


@contextmanager
def reporting(listener: Callable[[int], None]) -> Iterator[None]:
    """Tell `listener` how many rows of the present piece, or how many subsets, are done.

    Examples
    --------
    >>> from countwise import NaiveBayesClassifier, samples
    >>> from countwise.progress import reporting
    >>> heard = []
    >>> with reporting(heard.append):
    ...     _ = NaiveBayesClassifier().fit(samples.load("rain").X, samples.load("rain").y)
    >>> heard[-1]
    6
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def quiet() -> Iterator[None]:
    """Work that is a part of what is told of: it says nothing itself."""
    token = _listener.set(None)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def bar(title: str, total: int | None = None, unit: str = "rows", patience: float = 1.0) -> Iterator[None]:
    """A bar on the standard error for work that takes longer than a second.

    Parameters
    ----------
    title : str
        What is being done.
    total : int, optional
        How much there is to do, if that is known.
    unit : str, default="rows"
        Of what.
    patience : float, default=1
        Seconds to wait before a bar is shown.
    """
    started = time.monotonic()
    shown: Any = None
    before = last = 0

    def listen(done: int) -> None:
        nonlocal shown, before, last
        if done < last:  # the next piece has begun
            before += last
        last = done
        if shown is None and time.monotonic() - started > patience:
            shown = _rich(title, total, unit)
        if shown is not None:
            shown[0].update(shown[1], completed=before + done)

    try:
        with reporting(listen):
            yield
    finally:
        if shown is not None:
            shown[0].stop()


def _rich(title: str, total: int | None, unit: str) -> tuple[Any, Any]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    shown = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    shown.start()
    return shown, shown.add_task(title, total=total)

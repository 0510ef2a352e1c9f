"""Progress reports of long computations."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from countwise.errors import printable

__all__ = ["bar", "counter", "current", "quiet", "reporting"]

_listener: ContextVar[Callable[[int], None] | None] = ContextVar("countwise_progress", default=None)


def current() -> Callable[[int], None] | None:
    """Return the function that receives the number of finished rows or subsets, or None."""
    return _listener.get()


def counter() -> Callable[[], None]:
    """Return a function that counts the steps of a computation and reports them.

    Examples
    --------
    >>> from countwise.progress import counter, reporting
    >>> done = []
    >>> with reporting(done.append):
    ...     step = counter()
    ...     step(), step()
    (None, None)
    >>> done
    [1, 2]
    """
    listener, done = _listener.get(), 0

    def step() -> None:
        nonlocal done
        done += 1
        if listener is not None:
            listener(done)

    return step


@contextmanager
def reporting(listener: Callable[[int], None]) -> Iterator[None]:
    """Call `listener` with the number of finished rows of the current chunk, or of finished subsets.

    Parameters
    ----------
    listener : callable
        Function of one int.

    Examples
    --------
    >>> from countwise import NaiveBayesClassifier, samples
    >>> from countwise.progress import reporting
    >>> done = []
    >>> with reporting(done.append):
    ...     _ = NaiveBayesClassifier().fit(samples.load("rain").X, samples.load("rain").y)
    >>> done[-1]
    6
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress the reports of a computation that is one step of a larger one."""
    token = _listener.set(None)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def bar(title: str, total: int | None = None, unit: str = "rows", patience: float = 1.0) -> Iterator[None]:
    """Show a progress bar on standard error.

    Parameters
    ----------
    title : str
        Text before the bar.
    total : int or None, default=None
        Number of units at the end, if it is known.
    unit : str, default='rows'
        Unit that is counted.
    patience : float, default=1.0
        Seconds before the bar is shown.
    """
    started = time.monotonic()
    shown: Any = None
    before = last = 0

    def listen(done: int) -> None:
        nonlocal shown, before, last
        if done < last:  # the next chunk has begun
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
        TextColumn("{task.description}", markup=False),  # a file may be named like a color
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    shown.start()
    return shown, shown.add_task(printable(title, lines=False), total=total)

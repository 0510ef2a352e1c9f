"""What a call may do: answer, or refuse with a CountwiseError. Anything else is a defect."""

from __future__ import annotations

import re
import signal
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sklearn.exceptions import DataConversionWarning, NotFittedError

import countwise
from countwise.errors import CountwiseError, CountwiseWarning

__all__ = ["Answer", "Defect", "Guard", "Hang"]

LIMIT = 10.0  # seconds of one call
PACKAGE = str(Path(countwise.__file__).parent)
# Python shows these to nobody who did not ask for them; the last is what scikit-learn wants for a column as target.
HIDDEN = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning, DataConversionWarning)


class Hang(BaseException):
    """A call takes too long; nothing in the library may catch it."""


@dataclass(frozen=True)
class Defect:
    """A call that did what it may not: the cause as far as it can be seen, and what happened."""

    cause: str
    what: str


@dataclass
class Answer:
    """What a call returned; `ok` is False if it refused or failed."""

    ok: bool
    value: Any = None
    error: BaseException | None = None


@dataclass
class Guard:
    """Makes calls and keeps the accounts of one case."""

    calls: int = 0
    refusals: int = 0
    defects: list[Defect] = field(default_factory=list)
    log: list[str] = field(default_factory=list)

    def __call__(self, what: str, call: Callable[[], Any], *, also: tuple[type[BaseException], ...] = ()) -> Answer:
        """Make a call; `also` are errors that are right here beside those of Countwise."""
        self.calls += 1
        self.log.append(what)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            try:
                with _alarm():
                    answer = Answer(True, call())
            except (CountwiseError, NotFittedError, *also) as error:
                self.refusals += 1
                answer = Answer(False, error=error)
                self._check_message(error)
            except Hang:
                answer = self._failed(f"hang {what[:25]}", f"more than {LIMIT:g} s in {what[:900]}")
            except Exception as error:
                answer = self._failed(*_described(what, error))
        for raw in seen:
            if not issubclass(raw.category, (CountwiseWarning, *HIDDEN)):
                place = _short(raw.filename) if PACKAGE in raw.filename else ""
                cause = f"{raw.category.__name__} {place} {_without_numbers(str(raw.message))}"
                self.defects.append(Defect(cause, f"{raw.category.__name__}: {raw.message} in {what}"[:900]))
        return answer

    def holds(self, true: Any, cause: str, what: str) -> bool:
        """Note a defect unless an invariant holds."""
        if not true:
            self.defects.append(Defect(cause, f"{what[:500]} in {self.log[-1] if self.log else ''}"[:900]))
        return bool(true)

    def _failed(self, cause: str, what: str) -> Answer:
        self.defects.append(Defect(cause, what))
        return Answer(False)

    def _check_message(self, error: BaseException) -> None:
        """A message says something, in a few lines."""
        text = str(error)
        self.holds(text.strip() and len(text) < 40_000, f"message {type(error).__name__}", repr(text[:300]))


class _alarm:  # noqa: N801 - used like a function
    """Raise Hang in a call that takes longer than LIMIT, by the clock and by the processor."""

    def __enter__(self) -> None:
        self.began = time.process_time()
        self.left = 6
        signal.signal(signal.SIGALRM, self._ring)
        signal.setitimer(signal.ITIMER_REAL, LIMIT)

    def _ring(self, *_: Any) -> None:
        self.left -= 1
        if self.left and time.process_time() - self.began < LIMIT / 2:  # a busy machine, not a slow call
            signal.setitimer(signal.ITIMER_REAL, LIMIT)
        else:
            raise Hang

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _described(what: str, error: BaseException) -> tuple[str, str]:
    """The cause of an error, by the innermost function of Countwise, and what to print."""
    frames = traceback.extract_tb(error.__traceback__)
    inner = [frame for frame in frames if frame.filename.startswith(PACKAGE)]
    if not inner:
        raise error  # a fault of the fuzzer, not of the library
    place = f"{_short(inner[-1].filename)}:{inner[-1].name}"
    line = f"{type(error).__name__}: {error}"[:300]
    what = f"{line} [{place}:{inner[-1].lineno}: {inner[-1].line}] in {what}"
    return f"{type(error).__name__} in {place}", what[:1200]


def _short(filename: str) -> str:
    return str(Path(filename).relative_to(PACKAGE)) if filename.startswith(PACKAGE) else Path(filename).name


def _without_numbers(text: str) -> str:
    return re.sub(r"[-+]?\d[\d.e+-]*", "#", text)[:80]

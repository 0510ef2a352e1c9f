"""An answer: values with their probabilities, and how sure they are if they were drawn."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from countwise.working.numbers import number

__all__ = ["QueryAnswer"]


class QueryAnswer(dict[Any, float]):
    """Probabilities of values, or of combinations of values; a dict that prints as a table.

    Parameters
    ----------
    shares : mapping of value to float
        Of several nodes the keys are tuples.
    asked : str
        What was asked.
    errors : mapping of value to float, optional
        Standard errors of what was drawn.
    effective : float, optional
        How many independent rows the sample was worth.
    method : str
        How it was found.

    Examples
    --------
    >>> from countwise.network.answer import QueryAnswer
    >>> print(QueryAnswer({"no": 0.25, "yes": 0.75}, "P(rain)"))
    P(rain)
    no   0.25
    yes  0.75
    """

    def __init__(
        self,
        shares: Mapping[Any, float],
        asked: str,
        errors: Mapping[Any, float] | None = None,
        effective: float | None = None,
        method: str = "exact",
    ) -> None:
        super().__init__(shares)
        self.asked, self.errors, self.effective, self.method = asked, errors, effective, method

    @property
    def best(self) -> Any:
        """The most probable; of equals the first."""
        return max(self, key=lambda value: self[value])

    def _rows(self) -> list[tuple[str, str]]:
        def shown(value: Any) -> str:
            return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)

        return [
            (shown(v), number(p) if self.errors is None else f"{number(p)} ± {number(self.errors[v])}")
            for v, p in self.items()
        ]

    def _note(self) -> str:
        if self.effective is None:
            return ""
        return f"drawn by {self.method.replace('_', ' ')}; worth {self.effective:.0f} independent rows"

    def __str__(self) -> str:
        rows = self._rows()
        width = max((len(value) for value, _ in rows), default=0)
        lines = [self.asked, *(f"{value.ljust(width)}  {p}" for value, p in rows)]
        return "\n".join([*lines, self._note()] if self._note() else lines)

    def _repr_html_(self) -> str:
        body = "".join(f"<tr><td>{escape(v)}</td><td>{escape(p)}</td></tr>" for v, p in self._rows())
        note = f"<p>{escape(self._note())}</p>" if self._note() else ""
        return f"<table><caption>{escape(self.asked)}</caption><tbody>{body}</tbody></table>{note}"

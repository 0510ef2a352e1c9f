"""Random choices that can be repeated and made simpler.

A generator asks a `Draw` for each of its decisions. The decisions are small integers, 0 being the simplest. A list of
them repeats a case exactly; a shorter list or smaller numbers give a simpler case, so a case can be reduced without
any knowledge of what it is made of.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

__all__ = ["Draw", "reduced"]

T = TypeVar("T")


class Draw:
    """Decisions from a seed, or repeated from a list; after the end of the list, every decision is 0."""

    def __init__(self, seed: str | None = None, choices: Iterable[int] | None = None) -> None:
        self._random = None if seed is None else random.Random(seed)
        self._given = list(choices or ())
        self.choices: list[int] = []

    def below(self, n: int) -> int:
        """An integer from 0 to n - 1."""
        if self._random is not None:
            choice = self._random.randrange(n)
        else:
            place = len(self.choices)
            choice = min(self._given[place], n - 1) if place < len(self._given) else 0
        self.choices.append(choice)
        return choice

    def pick(self, options: Sequence[T]) -> T:
        """One of the options; the first is the simplest."""
        return options[self.below(len(options))]

    def chance(self, percent: int) -> bool:
        """True in so many of 100 cases; False is simpler."""
        return self.below(100) >= 100 - percent

    def integer(self, least: int, most: int) -> int:
        return least + self.below(most - least + 1)

    def some(self, options: Sequence[T], percent: int = 50) -> list[T]:
        """A random part of the options, in their order."""
        return [option for option in options if self.chance(percent)]

    def often(self, percent: int, usual: Sequence[T], rare: Sequence[T]) -> T:
        """A usual option; one of the rare ones in so many of 100 cases."""
        return self.pick(rare) if self.chance(percent) else self.pick(usual)


def reduced(choices: list[int], still: Callable[[list[int]], Any], tries: int = 150) -> list[int]:
    """A shorter or smaller list for which `still` holds: spans are removed, then decisions lowered."""
    left = tries

    def holds(candidate: list[int]) -> bool:
        nonlocal left
        left -= 1
        return left >= 0 and bool(still(candidate))

    size = max(1, len(choices) // 2)
    while size >= 1 and left > 0:
        start = 0
        while start < len(choices) and left > 0:
            without = choices[:start] + choices[start + size :]
            zeros = choices[:start] + [0] * len(choices[start : start + size]) + choices[start + size :]
            if holds(without):
                choices = without
            elif any(choices[start : start + size]) and holds(zeros):
                choices = zeros
                start += size
            else:
                start += size
        size //= 2
    return choices

"""What the two laws of words share: the vocabulary kept, and the probability of each word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._cached import lazy
from countwise._typing import Floats
from countwise.data.text import Bag
from countwise.distributions.categorical import written
from countwise.distributions.distribution import Smoothing, add_each, exact
from countwise.tallies import Words
from countwise.working.steps import Factor

__all__ = ["FEW_WORDS", "WordsDensity"]

FEW_WORDS = 40  # absent words are listed one by one in vocabularies up to this size


class WordsDensity:
    """P(word | class) for the words kept of a block.

    Parameters
    ----------
    tally : Words
        Totals of each word in each class.
    smoothing : Smoothing
        Imagined counts.
    max_words : int or None
        Keep only the words that occur most (002); ties in order of the words.
    cap : float or None
        The most that one word may speak for one class against another, in natural logarithms (003).
    repeats : int or None
        The most times that one word counts in one text.
    """

    add_many = classmethod(add_each)

    def __init__(
        self,
        tally: Words,
        smoothing: Smoothing,
        max_words: int | None,
        cap: float | None,
        repeats: int | None,
    ) -> None:
        self.name, self.words = tally.of.name, tally.of.words
        self.n, self.counts = tally.filled
        self.n_classes = len(self.n)
        self.smoothing, self.cap, self.repeats = smoothing, cap, repeats
        overall = self.counts.sum(axis=0)
        known = np.flatnonzero(overall > 0) if max_words is not None else np.arange(len(self.words))
        if max_words is not None and len(known) > max_words:
            known = np.sort(known[np.argsort(-overall[known], kind="stable")[:max_words]])
        self.kept = known  # positions of the words in use

    @lazy
    def used(self) -> NDArray[Any]:
        """Counts of the words kept, shape (classes, kept)."""
        return self.counts if len(self.kept) == len(self.words) else self.counts[:, self.kept]

    def _capped(self, logs: Floats) -> Floats:
        """Raise low log-probabilities so that no word outweighs the cap; shape (kept, classes)."""
        if self.cap is None:
            return logs
        return np.maximum(logs, logs.max(axis=1, keepdims=True) - self.cap)

    def _spread(self, kept: Floats) -> Floats:
        """Rows for all words of the block; a word that is not kept adds nothing."""
        if len(self.kept) == len(self.words):
            return np.ascontiguousarray(kept)
        table = np.zeros((len(self.words), self.n_classes))
        table[self.kept] = kept
        return table

    def _amounts(self, bag: Bag) -> NDArray[Any]:
        """How often each word counts, after the cap on repeats."""
        return bag.data if self.repeats is None else np.minimum(bag.data, self.repeats)

    def _fraction_factor(
        self,
        log: float,
        count: Any,
        total: Any,
        added: Any,
        mass: Any,
        power: float = 1.0,
        absent: bool = False,
    ) -> Factor:
        """A factor with its count, total and smoothing, as far as they are whole."""
        parts = [exact(count), exact(total), added, mass]
        if any(p is None for p in parts) or parts[1] + parts[3] == 0 or self.cap is not None:
            shown = f"{np.exp(log):.6g}"
            return Factor(log, shown, shown, count=float(count), total=float(total))
        fraction = (parts[0] + parts[2]) / (parts[1] + parts[3])
        text, latex = written(*parts)
        if absent:
            fraction, text, latex = 1 - fraction, f"1 - {text}", f"1 - {latex}"
        elif power != 1:
            whole = float(power).is_integer()
            fraction = fraction ** int(power) if whole else None
            text, latex = f"({text})^{power:g}", rf"\left({latex}\right)^{{{power:g}}}"
        return Factor(log, text, latex, fraction, float(count), float(total))

    def grid(self) -> None:
        """A text is not tried with other values."""
        return

    def label(self, column: Bag, row: int) -> str:
        """The words of a row."""
        return " ".join(self.words[w] for w in column.row(row)[0])

    def _word_rows(self, classes: Sequence[Any], prob: Floats, most: int = 20) -> dict[str, list[Any]]:
        """The words that speak loudest for or against a class."""
        with np.errstate(divide="ignore"):
            logs = np.log(prob)
        finite = np.where(np.isfinite(logs), logs, -50.0)
        loud = np.argsort(-(finite.max(axis=0) - finite.min(axis=0)), kind="stable")[:most]
        columns: dict[str, list[Any]] = {self.name: [self.words[self.kept[w]] for w in loud]}
        for c, label in enumerate(classes):
            columns[str(label)] = [f"{prob[c, w]:.6g}" for w in loud]
        return columns

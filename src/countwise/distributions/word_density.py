"""What the two distributions of words share: the vocabulary, the probability of each word, leaving a text out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._cached import lazy
from countwise._typing import Flags, Floats, Indices
from countwise.data.text import Bag, Text
from countwise.distributions.categorical import written
from countwise.distributions.distribution import Density, LeftOutRows
from countwise.distributions.smoothing import Smoothing, exact
from countwise.tallies import Words
from countwise.working.steps import Factor

__all__ = ["FEW_WORDS", "WordEntries", "WordsDensity", "in_pieces", "may_leave", "reranked"]

_ENTRIES = 1 << 22  # words times classes that are worked on at a time
_NOTHING = 1e-9  # a count that is no more than rounding
FEW_WORDS = 40  # absent words are listed one by one in vocabularies up to this size


class WordsDensity(Density):
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
            columns[str(label)] = prob[c, loud].tolist()
        return columns


# -- leaving one text out: the counts of its words go down in its class ------------------------------


@dataclass(frozen=True, eq=False)
class WordEntries:
    """The words in use of some rows, one entry each.

    Parameters
    ----------
    row, at : ndarray of int
        The row, counted from the first of these, and the place of the word among those kept.
    amount : ndarray
        How often it stands there.
    own : ndarray of int
        The class of the row.
    less : ndarray
        What its count goes down by: the amount, or 1 for presence, times the weight of the row.
    gone : ndarray of bool
        Whether it stands nowhere else.
    n : int
        How many rows.
    """

    row: Indices
    at: Indices
    amount: Floats
    own: Indices
    less: Floats
    gone: Flags
    n: int

    def with_own(self, every: Floats, own: Floats) -> Floats:
        """An entry of all classes for each word, with another one for the row's own class."""
        out = every[self.at]
        out[np.arange(len(self.at)), self.own] = own
        return out

    def summed(self, values: Floats) -> Floats:
        """Over the words of each row."""
        if values.ndim == 1:
            return np.bincount(self.row, values, self.n).astype(np.float64)
        return np.stack([np.bincount(self.row, column, self.n) for column in values.T], axis=1)


def in_pieces(
    left: LeftOutRows, density: WordsDensity, leaves: bool, bag: Bag, present: bool
) -> Iterator[tuple[slice, WordEntries]]:
    """The rows a number at a time, so that what is worked on stays small."""
    place = np.full(len(density.words), -1, dtype=np.int64)
    place[density.kept] = np.arange(len(density.kept))
    overall = density.used.sum(axis=0).astype(np.float64)
    start = 0
    while start < len(bag):
        room = bag.indptr[start] + _ENTRIES // left.k
        stop = max(start + 1, int(np.searchsorted(bag.indptr, room, side="right")) - 1)
        a, b = int(bag.indptr[start]), int(bag.indptr[stop])
        row = np.repeat(np.arange(stop - start), np.diff(bag.indptr[start : stop + 1]))
        at, amount = place[bag.indices[a:b]], np.asarray(bag.data[a:b], dtype=np.float64)
        kept = (at >= 0) & (amount > 0)
        row, at, amount = row[kept], at[kept], amount[kept]
        less = left.weights[start + row] * (1.0 if present else amount)
        gone = leaves & (overall[at] - less <= _NOTHING)
        yield slice(start, stop), WordEntries(row, at, amount, left.codes[start + row], less, gone, stop - start)
        start = stop


def may_leave(rule: Any, tally: Words) -> bool:
    """Whether a word that no text has leaves the vocabulary."""
    return isinstance(tally.of, Text) and (rule.max_words is not None or bool(tally.of.grows))


def reranked(density: WordsDensity, words: WordEntries) -> Flags:
    """The rows without which another word may be among those that occur most."""
    overall = density.counts.sum(axis=0).astype(np.float64)
    others = np.delete(overall, density.kept)
    most = float(others.max(initial=0.0))
    if most <= 0:
        return np.zeros(words.n, dtype=bool)
    close = overall[density.kept][words.at] - words.less <= most + _NOTHING
    return words.summed(close.astype(np.float64)) > 0

"""What the two distributions of words share: the vocabulary, the probability of each word, leaving a text out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from countwise._cached import lazy
from countwise._typing import Flags, Floats, Indices
from countwise.data.attributes import Attribute, Nominal, Numeric
from countwise.data.text import Bag, Block, Text, text_if_named
from countwise.distributions.categorical import counted_factor
from countwise.distributions.distribution import Density, Distribution, LeftOutRows, no_say
from countwise.distributions.smoothing import smoothing_of
from countwise.errors import OptionError
from countwise.tallies import Words
from countwise.working.steps import Factor, Step

__all__ = ["WordDistribution", "WordsDensity"]

_ENTRIES = 1 << 22  # words times classes that are worked on at a time
_NOTHING = 1e-9  # a count that is no more than rounding


@dataclass(frozen=True, slots=True)
class WordDistribution(Distribution):
    """The settings of a distribution of words, and the columns that it is for."""

    smoothing: Any = None
    max_words: int | None = 10_000
    cap: float | None = None
    present: ClassVar[bool]  # whether a word is there or not, or as often as it stands
    purpose: ClassVar[str]  # what it is for, for the error message

    def suits(self, attribute: Attribute) -> bool:
        """Texts, blocks and numeric columns."""
        return isinstance(attribute, Text | Block | Numeric)

    def implied_attribute(self, attribute: Attribute, *, named: bool) -> Attribute:
        """A column of strings that is named is a text."""
        return text_if_named(attribute, named=named)

    def blank(self, given: Nominal, of: Attribute) -> Words:
        """Totals of the words, or in how many texts each stands."""
        if not isinstance(of, Text | Block):
            raise OptionError(f"{of.name!r} is {of.kind}; {self.purpose}.")
        return Words(given, of, present=self.present)


class WordsDensity(Density):
    """P(word | class) for the words kept of a block; of a text only those that occur most (002)."""

    title: ClassVar[str]
    prob: Any  # P(word | class), shape (classes, kept)

    def __init__(self, tally: Words, rule: Any) -> None:
        self.name, self.words = tally.of.name, tally.of.words
        self.n, self.counts = tally.filled
        self.n_classes = len(self.n)
        self.smoothing, self.cap = smoothing_of(rule.smoothing), rule.cap
        self.rule = f"{self.title}, {self.smoothing}"
        overall, most = self.counts.sum(axis=0), rule.max_words if isinstance(tally.of, Text) else None
        known = np.flatnonzero(overall > 0) if most is not None else np.arange(len(self.words))
        if most is not None and len(known) > most:  # ties in order of the words
            known = np.sort(known[np.argsort(-overall[known], kind="stable")[:most]])
        self.kept = known  # positions of the words in use

    @lazy
    def used(self) -> NDArray[Any]:
        """Counts of the words kept, shape (classes, kept)."""
        return self.counts if len(self.kept) == len(self.words) else self.counts[:, self.kept]

    @lazy
    def kept_words(self) -> list[str]:
        """The words kept."""
        return [self.words[w] for w in self.kept]

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

    def steps(self, name: str, column: Bag, shown: str) -> list[Step]:
        """A step a word."""
        if _is_missing(column):
            return no_say(name, shown or "?", "missing", self.rule)
        found = [Step(name, shown, tuple(each), "known", self.rule, label) for label, each in self._factors(column)]
        return found or no_say(name, shown, "never seen", self.rule)

    def _factors(self, column: Bag) -> Iterator[tuple[str, Sequence[Factor]]]:
        """The words of the first row, and their factors in each class."""
        raise NotImplementedError

    def _word_factor(
        self, log: float, count: Any, total: Any, added: Any, mass: Any, power: float = 1.0, absent: bool = False
    ) -> Factor:
        """A factor with its count, total and smoothing, as far as they are whole."""
        factor = counted_factor(log, count, total, added, mass if self.cap is None else None)
        fraction, text, latex = factor.fraction, factor.text, factor.latex
        if fraction is None or (power == 1 and not absent):
            return factor
        if absent:
            return replace(factor, fraction=1 - fraction, text=f"1 - {text}", latex=f"1 - {latex}")
        text, latex = f"({text})^{power:g}", rf"\left({latex}\right)^{{{power:g}}}"
        return replace(
            factor, fraction=fraction ** int(power) if float(power).is_integer() else None, text=text, latex=latex
        )

    def label(self, column: Bag, row: int) -> str:
        """The words of a row."""
        return " ".join(self.words[w] for w in column.row(row)[0])

    def _most_telling(self, lead: Floats, *, every: bool = False) -> tuple[str, str]:
        """The words of a class with the greatest lead over the other classes."""
        top = [w for w in np.argsort(-lead, kind="stable")[:8] if every or lead[w] > 0]
        return ", ".join(self.kept_words[w] for w in top), "its most telling words"

    def draw_log_prob(self, column: Bag, size: int, rng: np.random.Generator) -> Floats:
        """Probabilities of the words drawn from their posterior."""
        out = np.zeros((size, self.n_classes))
        if not _is_missing(column):
            self._add_drawn(column, out, rng)
        return out

    def _add_drawn(self, column: Bag, out: Floats, rng: np.random.Generator) -> None:
        """Add log P(text | class) under drawn probabilities to out (draws, classes)."""
        raise NotImplementedError

    def summary(self, classes: Sequence[Any]) -> dict[str, list[Any]]:
        """The words that speak loudest for or against a class."""
        with np.errstate(divide="ignore"):
            logs = np.log(self.prob)
        finite = np.where(np.isfinite(logs), logs, -50.0)
        loud = np.argsort(-(finite.max(axis=0) - finite.min(axis=0)), kind="stable")[:20]
        columns: dict[str, list[Any]] = {self.name: [self.kept_words[w] for w in loud]}
        return columns | {str(label): self.prob[c, loud].tolist() for c, label in enumerate(classes)}

    # -- leaving one text out: the counts of its words go down in its class --------------------------

    def _in_pieces(self, rule: Any, tally: Words, bag: Bag, left: LeftOutRows) -> Iterator[tuple[slice, WordEntries]]:
        """The rows a number at a time, so that what is worked on stays small."""
        place = np.full(len(self.words), -1, dtype=np.int64)
        place[self.kept] = np.arange(len(self.kept))
        overall = self.used.sum(axis=0).astype(np.float64)
        # whether a word that no text has leaves the vocabulary
        leaves = isinstance(tally.of, Text) and (rule.max_words is not None or bool(tally.of.grows))
        start = 0
        while start < len(bag):
            room = bag.indptr[start] + _ENTRIES // left.k
            stop = max(start + 1, int(np.searchsorted(bag.indptr, room, side="right")) - 1)
            a, b = int(bag.indptr[start]), int(bag.indptr[stop])
            row = np.repeat(np.arange(stop - start), np.diff(bag.indptr[start : stop + 1]))
            at, amount = place[bag.indices[a:b]], np.asarray(bag.data[a:b], dtype=np.float64)
            kept = (at >= 0) & (amount > 0)
            row, at, amount = row[kept], at[kept], amount[kept]
            less = left.weights[start + row] * (1.0 if rule.present else amount)
            gone = leaves & (overall[at] - less <= _NOTHING)
            yield slice(start, stop), WordEntries(row, at, amount, left.codes[start + row], less, gone, stop - start)
            start = stop

    def _reranked(self, words: WordEntries) -> Flags:
        """The rows without which another word may be among those that occur most."""
        overall = self.counts.sum(axis=0).astype(np.float64)
        most = float(np.delete(overall, self.kept).max(initial=0.0))
        if most <= 0:
            return np.zeros(words.n, dtype=bool)
        close = overall[self.kept][words.at] - words.less <= most + _NOTHING
        return words.summed(close.astype(np.float64)) > 0


def _is_missing(column: Bag) -> bool:
    """Whether a one-row column has no text."""
    return column.missing is not None and bool(column.missing[0])


@dataclass(frozen=True, eq=False)
class WordEntries:
    """The words in use of some rows, one entry each."""

    row: Indices  # counted from the first of these rows
    at: Indices  # the place of the word among those kept
    amount: Floats  # how often it stands there
    own: Indices  # the class of the row
    less: Floats  # what its count goes down by: the amount, or 1 for presence, times the weight of the row
    gone: Flags  # whether it stands nowhere else
    n: int  # how many rows

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

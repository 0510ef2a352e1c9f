"""Base classes of the multinomial and the Bernoulli distribution of words."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from countwise._cached import lazy
from countwise._typing import Flags, Floats, Indices
from countwise.data.attributes import Attribute, Nominal, Numeric
from countwise.data.text import Bag, Block, Text, text_if_named
from countwise.distributions.categorical import capped, counted_factor
from countwise.distributions.distribution import Density, Distribution, LeftOutRows, no_say
from countwise.distributions.smoothing import check_smoothing, exact, smoothing_of
from countwise.errors import NumberIn, OptionError, check_settings
from countwise.tallies import Words
from countwise.working.numbers import Worked
from countwise.working.smoothing import frequency
from countwise.working.steps import Factor, Step

__all__ = ["WordDistribution", "WordsDensity"]

_ENTRIES = 1 << 22  # words times classes processed at a time
_NOTHING = 1e-9  # a smaller count is a rounding error


@dataclass(frozen=True, slots=True)
class WordDistribution(Distribution):
    """Settings of a distribution of words."""

    smoothing: Any = None
    max_words: int | None = 10_000
    cap: float | None = None
    present: ClassVar[bool]  # whether presence is counted instead of occurrences
    purpose: ClassVar[str]  # the columns that it needs, for the error message

    def suits(self, attribute: Attribute) -> bool:
        """Return whether the attribute is text, a block or numeric."""
        return isinstance(attribute, Text | Block | Numeric)

    def __post_init__(self) -> None:
        check_smoothing(self.smoothing)
        check_settings(
            self, max_words=NumberIn(1, whole=True, words=(None,)), cap=NumberIn(0, sys.float_info.max, words=(None,))
        )

    def implied_attribute(self, attribute: Attribute, *, named: bool) -> Attribute:
        """Return a string column as text if the user requested the distribution for it by name."""
        return text_if_named(attribute, named=named)

    def blank(self, given: Nominal, of: Attribute) -> Words:
        """Return an empty tally of word counts, or of the documents that contain each word."""
        if not isinstance(of, Text | Block):
            raise OptionError(f"{of.name!r} has type {of.kind}; {self.purpose}.")
        return Words(given, of, present=self.present)


class WordsDensity(Density):
    """P(word | class) for the kept words: all of a block, the most frequent ones of a text column."""

    title: ClassVar[str]
    prob: Any  # P(word | class), shape (classes, kept)

    def __init__(self, tally: Words, rule: Any) -> None:
        self.name, self.words = tally.of.name, tally.of.words
        self.n, self.counts = tally.filled
        self.n_classes = len(self.n)
        self.smoothing, self.cap = smoothing_of(rule.smoothing), rule.cap
        self.rule = f"{self.title}, {self.smoothing}"
        # a declared vocabulary is kept whole, but an unsmoothed word without counts would rule out every class
        self.fixed = isinstance(tally.of, Block) or (not tally.of.grows and self.smoothing.adds)
        overall, most = self.counts.sum(axis=0), None if self.fixed else rule.max_words
        known = np.flatnonzero(overall > 0) if most is not None else np.arange(len(self.words))
        if most is not None and len(known) > most:  # ties keep the order of the words
            known = np.sort(known[np.argsort(-overall[known], kind="stable")[:most]])
        self.kept = known  # positions of the kept words

    @lazy
    def used(self) -> NDArray[Any]:
        """Counts of the kept words, shape (classes, kept)."""
        return self.counts if len(self.kept) == len(self.words) else self.counts[:, self.kept]

    @lazy
    def kept_words(self) -> list[str]:
        """The kept words."""
        return [self.words[w] for w in self.kept]

    def _capped(self, logs: Floats) -> Floats:
        """Raise low log-probabilities so that no word exceeds the cap; the last axis is that of the classes."""
        return capped(logs, self.cap)

    def _expand(self, kept: Floats) -> Floats:
        """Expand an array over the kept words to all words of the block; other words add nothing."""
        if len(self.kept) == len(self.words):
            return np.ascontiguousarray(kept)
        table = np.zeros((len(self.words), self.n_classes))
        table[self.kept] = kept
        return table

    def steps(self, name: str, column: Bag, shown: str) -> list[Step]:
        """Return a step for each word."""
        if _is_missing(column):
            return no_say(name, shown or "?", "missing", self.rule)
        found = [Step(name, shown, tuple(each), "known", self.rule, label) for label, each in self._factors(column)]
        return found or no_say(name, shown, "never seen", self.rule)

    def counted_in(self, column: Any, one: Any, word: str = "") -> Flags | None:
        """Return the rows that contain the word."""
        word = word.removeprefix("no ") if word not in self.words else word
        if not isinstance(column, Bag) or word not in self.words:
            return None
        found = np.zeros(len(column), dtype=bool)
        entries = slice(column.indptr[0], column.indptr[-1])
        owner = np.repeat(np.arange(len(column)), np.diff(column.indptr))
        found[owner[column.indices[entries] == self.words.index(word)]] = True
        return found

    def _factors(self, column: Bag) -> Iterator[tuple[str, Sequence[Factor]]]:
        """Yield the words of the first row and their factors in each class."""
        raise NotImplementedError

    def _word_factor(
        self, log: float, count: Any, total: Any, added: Any, mass: Any, power: float = 1.0, absent: bool = False
    ) -> Factor:
        """Return a factor with its count, total and smoothing, as a fraction if possible."""
        factor = counted_factor(log, count, total, added, mass if self.cap is None else None)
        fraction, text, latex = factor.fraction, factor.text, factor.latex
        whole, of = exact(count), exact(total)
        if whole is not None and of is not None:
            factor = replace(factor, raw=frequency(whole, of, power, absent=absent))
        if fraction is None or (power == 1 and not absent):
            return factor
        if absent:
            return replace(factor, fraction=1 - fraction, text=f"1 - {text}", latex=rf"\left(1 - {latex}\right)")
        text, latex = f"({text})^{power:g}", rf"\left({latex}\right)^{{{power:g}}}"
        return replace(
            factor, fraction=fraction ** int(power) if float(power).is_integer() else None, text=text, latex=latex
        )

    def label(self, column: Bag, row: int) -> str:
        """Return the words of a row."""
        return " ".join(self.words[w] for w in column.row(row)[0])

    def _most_characteristic(self, lead: Floats, *, every: bool = False) -> tuple[str, str]:
        """Return the words of a class with the largest lead over the other classes."""
        top = [w for w in np.argsort(-lead, kind="stable")[:8] if every or lead[w] > 0]
        return ", ".join(self.kept_words[w] for w in top), "most characteristic words"

    def draw_log_prob(self, column: Bag, size: int, rng: np.random.Generator) -> Floats:
        """Return the log-likelihood with word probabilities drawn from their posterior."""
        out = np.zeros((size, self.n_classes))
        if not _is_missing(column):
            self._add_drawn(column, out, rng)
        return out

    def _add_drawn(self, column: Bag, out: Floats, rng: np.random.Generator) -> None:
        """Add log P(text | class) with drawn probabilities to `out` (draws, classes)."""
        raise NotImplementedError

    def summary(self, classes: Sequence[Any]) -> dict[str, list[Any]]:
        """Return the 20 words whose probabilities differ most between the classes."""
        strongest = self._strongest()
        columns: dict[str, list[Any]] = {self.name: [self.kept_words[w] for w in strongest]}
        factors = [self._factors_of(w) for w in strongest.tolist()]
        for c, label in enumerate(classes):
            counted = zip(self.prob[c, strongest].tolist(), factors, strict=True)
            columns[str(label)] = [Worked(p, "", of[c].count) for p, of in counted]
        return columns

    def _strongest(self) -> NDArray[np.intp]:
        """Return the positions of the 20 kept words whose probabilities differ most between the classes."""
        with np.errstate(divide="ignore"):
            logs = np.log(self.prob)
        finite = np.where(np.isfinite(logs), logs, -50.0)
        return np.argsort(-(finite.max(axis=0) - finite.min(axis=0)), kind="stable")[:20]

    def smoothing_steps(self) -> list[Step]:
        """Return a step for each of the 20 words whose probabilities differ most between the classes."""
        strongest = self._strongest().tolist()
        return [Step(self.name, "", tuple(self._factors_of(w)), word=self.kept_words[w]) for w in strongest]

    def _factors_of(self, i: int) -> list[Factor]:
        """Return P(word | class) of a kept word."""
        raise NotImplementedError

    # -- leave-one-out: the counts of the document's words decrease in its class -----------------------

    def _in_chunks(self, rule: Any, tally: Words, bag: Bag, left: LeftOutRows) -> Iterator[tuple[slice, WordEntries]]:
        """Yield the rows in chunks, so that little memory is needed."""
        place = np.full(len(self.words), -1, dtype=np.int64)
        place[self.kept] = np.arange(len(self.kept))
        overall = self.used.sum(axis=0).astype(np.float64)
        # whether a word without documents is removed from the vocabulary
        leaves = not self.fixed and (rule.max_words is not None or bool(tally.of.grows))
        start = 0
        while start < len(bag):
            limit = bag.indptr[start] + _ENTRIES // left.k
            stop = max(start + 1, int(np.searchsorted(bag.indptr, limit, side="right")) - 1)
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
        """Return the rows without which another word may become one of the most frequent words."""
        overall = self.counts.sum(axis=0).astype(np.float64)
        most = float(np.delete(overall, self.kept).max(initial=0.0))
        if most <= 0:
            return np.zeros(words.n, dtype=bool)
        close = overall[self.kept][words.at] - words.less <= most + _NOTHING
        return words.summed(close.astype(np.float64)) > 0


def _is_missing(column: Bag) -> bool:
    """Return whether the text of a one-row column is missing."""
    return column.missing is not None and bool(column.missing[0])


@dataclass(frozen=True, eq=False)
class WordEntries:
    """The kept words of some rows, one entry for each word and row."""

    row: Indices  # relative to the first of these rows
    at: Indices  # the position among the kept words
    amount: Floats  # how often the word occurs in the row
    own: Indices  # the class of the row
    less: Floats  # the decrease of its count: the amount, or 1 for presence, times the weight of the row
    gone: Flags  # whether the word occurs in no other row
    n: int  # the number of rows

    def with_own(self, every: Floats, own: Floats) -> Floats:
        """Return an array (entries, classes) from `every`, with the entry of each row's class replaced by `own`."""
        out = every[self.at]
        out[np.arange(len(self.at)), self.own] = own
        return out

    def summed(self, values: Floats) -> Floats:
        """Sum over the words of each row."""
        if values.ndim == 1:
            return np.bincount(self.row, values, self.n).astype(np.float64)
        return np.stack([np.bincount(self.row, column, self.n) for column in values.T], axis=1)

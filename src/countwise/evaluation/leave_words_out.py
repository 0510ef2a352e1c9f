"""Leaving one text out in closed form: what its words are worth by all other texts.

Of the own class the counts of the row's words go down, and what all counts are divided by. A word that stands nowhere
else leaves the vocabulary of all classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from countwise._typing import Flags, Floats, Indices
from countwise.base.term import Term
from countwise.data.text import Bag, Text
from countwise.distributions.bernoulli import BernoulliDensity
from countwise.distributions.multinomial import MultinomialDensity
from countwise.distributions.word_density import WordsDensity
from countwise.evaluation.left_out_rows import LeftOutRows

__all__ = ["bernoulli", "multinomial", "words_are_closed"]

_CELLS = 1 << 22  # words times classes that are worked on at a time
_NOTHING = 1e-9  # a count that is no more than rounding


def words_are_closed(density: WordsDensity) -> bool:
    """Whether what is imagined does not depend on what is left out."""
    estimate = density.smoothing.estimate
    if isinstance(density, BernoulliDensity):
        if density.cap is not None or (estimate is not None and estimate.p == "global"):
            return False
        return bool((_two(density) > 0).all())
    return estimate is None or estimate.p == "uniform"


@dataclass(frozen=True, eq=False)
class _Words:
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


def _in_pieces(
    left: LeftOutRows, density: WordsDensity, part: Term, bag: Bag, present: bool
) -> Iterator[tuple[slice, _Words]]:
    """The rows a number at a time, so that what is worked on stays small."""
    place = np.full(len(density.words), -1, dtype=np.int64)
    place[density.kept] = np.arange(len(density.kept))
    overall, leaves = density.used.sum(axis=0).astype(np.float64), _may_leave(part)
    start = 0
    while start < len(bag):
        room = bag.indptr[start] + _CELLS // left.k
        stop = max(start + 1, int(np.searchsorted(bag.indptr, room, side="right")) - 1)
        a, b = int(bag.indptr[start]), int(bag.indptr[stop])
        row = np.repeat(np.arange(stop - start), np.diff(bag.indptr[start : stop + 1]))
        at, amount = place[bag.indices[a:b]], np.asarray(bag.data[a:b], dtype=np.float64)
        kept = (at >= 0) & (amount > 0)
        row, at, amount = row[kept], at[kept], amount[kept]
        less = left.weights[start + row] * (1.0 if present else amount)
        gone = leaves & (overall[at] - less <= _NOTHING)
        yield slice(start, stop), _Words(row, at, amount, left.codes[start + row], less, gone, stop - start)
        start = stop


def _may_leave(part: Term) -> bool:
    """Whether a word that no text has leaves the vocabulary."""
    return isinstance(part.of, Text) and (part.rule.max_words is not None or bool(part.of.grows))


def _reranked(density: WordsDensity, words: _Words) -> Flags:
    """The rows without which another word may be among those that occur most."""
    overall = density.counts.sum(axis=0).astype(np.float64)
    others = np.delete(overall, density.kept)
    most = float(others.max(initial=0.0))
    if most <= 0:
        return np.zeros(words.n, dtype=bool)
    close = overall[density.kept][words.at] - words.less <= most + _NOTHING
    return words.summed(close.astype(np.float64)) > 0


def multinomial(left: LeftOutRows, part: Term, bag: Bag) -> tuple[Floats, Flags]:
    """Σ m log P(word | class) of each row by all others, and the rows that must be taken back."""
    density: MultinomialDensity = left.model.densities_[part.key]
    terms, odd = np.zeros((len(bag), left.k)), np.zeros(len(bag), dtype=bool)
    counts = np.ascontiguousarray(density.used.T, dtype=np.float64)  # (kept, classes)
    for rows, words in _in_pieces(left, density, part, bag, present=False):
        size = len(density.kept) - words.summed(words.gone.astype(np.float64))
        total = np.tile(counts.sum(axis=0), (words.n, 1))
        total[np.arange(words.n), left.codes[rows]] -= words.summed(words.less)
        each, mass = _imagined(density, size)
        total = np.maximum(total, 0.0) + mass[:, None]
        rest = words.with_own(counts, np.maximum(counts[words.at, words.own] - words.less, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = density._capped(np.log(rest + each[words.row, None]) - np.log(total)[words.row])
        times = words.amount if density.repeats is None else np.minimum(words.amount, density.repeats)
        logs = np.where(words.gone[:, None], 0.0, times[:, None] * logs)
        terms[rows] = words.summed(logs)
        told = words.summed(np.ones(len(words.at))) > 0
        odd[rows] = _reranked(density, words) | (told & (total <= 1e-12).any(axis=1))
    terms[odd] = 0.0
    return terms, odd


def _imagined(density: MultinomialDensity, size: Floats) -> tuple[Floats, Floats]:
    """What is added to each word, and to all together, in vocabularies of these sizes."""
    estimate = density.smoothing.estimate
    if estimate is None:
        epsilon = float(density.smoothing.epsilon or 0.0)
        return np.full(len(size), epsilon), epsilon * size
    return float(estimate.m) / np.maximum(size, 1.0), np.full(len(size), float(estimate.m))


def _two(density: BernoulliDensity) -> Floats:
    """Imagined texts with a word, and without it."""
    return density.smoothing.pseudo(np.zeros((1, 2)), ("there", "not there"))


def bernoulli(left: LeftOutRows, part: Term, bag: Bag) -> tuple[Floats, Flags]:
    """Log P(words there, words not there | class) of each row by all others, and the rows that must be taken back."""
    density: BernoulliDensity = left.model.densities_[part.key]
    terms, odd = np.zeros((len(bag), left.k)), np.zeros(len(bag), dtype=bool)
    counts, n = np.ascontiguousarray(density.used.T, dtype=np.float64), density.n.astype(np.float64)
    a, b = _two(density)
    there, away = np.log((counts + a) / (n + a + b)), np.log((n - counts + b) / (n + a + b))
    base = away.sum(axis=0)
    own_base = _own_bases(left, counts, n, a, b)
    for rows, words in _in_pieces(left, density, part, bag, present=True):
        n_own, w = n[words.own], words.less
        mine = counts[words.at, words.own]
        total = np.maximum(n_own - w, 0.0) + a + b
        own_there = np.log((np.maximum(mine - w, 0.0) + a) / total)
        own_away = _log_or_0(n_own - w - mine + b, total)
        logs = np.where(words.gone[:, None], 0.0, words.with_own(there, own_there)) - words.with_own(away, own_away)
        bases = np.tile(base, (words.n, 1))
        bases[np.arange(words.n), left.codes[rows]] = own_base[rows]
        terms[rows] = bases + words.summed(logs)
        odd[rows] = _reranked(density, words)
    if bag.missing is not None:
        terms[bag.missing] = 0.0
    return terms, odd


def _log_or_0(count: Any, total: Any) -> Floats:
    """The log of a share; 0 of a word that all other texts of the class have, which the row left out has too."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(count > 1e-12, np.log(count / total), 0.0)


def _own_bases(left: LeftOutRows, counts: Floats, n: Floats, a: float, b: float) -> Floats:
    """Of each row, what all words absent give by the other texts of its class."""
    pairs, place = np.unique(np.stack([left.codes, left.weights], axis=1), axis=0, return_inverse=True)
    bases = np.empty(len(pairs))
    for j, (c, w) in enumerate(pairs):
        c = int(c)
        bases[j] = _log_or_0(n[c] - w - counts[:, c] + b, max(n[c] - w, 0.0) + a + b).sum()
    return np.asarray(bases[place.ravel()])

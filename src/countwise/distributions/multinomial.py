"""Multinomial distribution: word counts, or columns of counts, modeled jointly in each class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._cached import lazy
from countwise._typing import Flags, Floats
from countwise.data.attributes import Attribute, Numeric
from countwise.data.text import Bag
from countwise.distributions.distribution import LeftOutRows
from countwise.distributions.smoothing import drawn_counts, jeffreys
from countwise.distributions.word_density import WordDistribution, WordsDensity
from countwise.errors import NumberIn, OptionError, check_flag, check_value
from countwise.tallies import Words
from countwise.working.steps import Factor

__all__ = ["Multinomial", "MultinomialDensity"]

_LONGEST = 10_000  # words of a drawn document
_CELLS = 1 << 22  # drawn probabilities at a time


@dataclass(frozen=True, slots=True)
class Multinomial(WordDistribution):
    """Multinomial distribution of words: each word counts as often as it occurs.

    .. math:: P(text | c) ∝ ∏_w P(w | c)^{m_w}

    The word w occurs m_w times in the text. Absent words do not count.

    Numeric columns with this distribution are modeled jointly by one multinomial. A text column or a sparse matrix is
    such a block already.

    Parameters
    ----------
    smoothing : float, str, MEstimate or None, default=None
        The smoothing against zero frequencies. None uses the smoothing of the model.
    max_words : int or None, default=10000
        Keep only this many words of a text column, the most frequent ones. None keeps all; a declared vocabulary is
        always kept whole, unless there is no smoothing.
    cap : float or None, default=None
        The largest difference between the log-probabilities of one word in two classes (natural logarithm). It limits
        the influence of a single word, such as one added to evade a spam filter. None sets no limit.
    repeats : int or None, default=None
        The largest number of times that one word counts in one document. None sets no limit.
    coefficient : bool, default=False
        Whether P(text | class) includes the factor 1/m_w! of each word. It is the same for every class and does not
        change the posterior.
    block : str, default=''
        Numeric columns with different blocks are modeled by separate multinomials.

    Examples
    --------
    >>> from countwise import samples, NaiveBayesClassifier
    >>> mail = samples.load("mail")
    >>> model = NaiveBayesClassifier("multinomial", types="text", smoothing=1).fit(mail.X, mail.y)
    >>> model.predict_proba([{"text": "review us"}]).round(6).tolist()
    [[0.515436, 0.484564]]
    """

    repeats: int | None = None
    coefficient: bool = False
    block: str = ""
    kind: ClassVar[str] = "multinomial"
    present: ClassVar[bool] = False
    purpose: ClassVar[str] = "a multinomial distribution needs a text column or counts"

    def __post_init__(self) -> None:
        WordDistribution.__post_init__(self)
        check_value("repeats", self.repeats, NumberIn(1, 2**53, words=(None,)))
        check_flag("coefficient", self.coefficient)
        if not isinstance(self.block, str):
            raise OptionError(f"block must be a string, not {self.block!r}.")

    def block_of(self, attribute: Attribute) -> str | None:
        """Return the block of a numeric column; all columns of a block are modeled jointly."""
        return self.block if isinstance(attribute, Numeric) else None

    def estimate(self, tally: Words) -> MultinomialDensity:
        """Estimate the proportion of each word among all words of a class."""
        return MultinomialDensity(tally, self)


class MultinomialDensity(WordsDensity):
    """P(word | class): the count of the word / the count of all words."""

    title: ClassVar[str] = "multinomial"

    def __init__(self, tally: Words, rule: Multinomial) -> None:
        super().__init__(tally, rule)
        self.repeats, self.coefficient = rule.repeats, rule.coefficient

    @lazy
    def pseudo(self) -> Floats:
        """Pseudocounts of the kept words."""
        return self.smoothing.pseudo(self.used, self.kept_words)

    @lazy
    def prob(self) -> Floats:
        """P(word | class), shape (classes, kept)."""
        counts = self.used.astype(np.float64)
        totals = counts.sum(axis=1, keepdims=True) + self.smoothing.added(self.pseudo, self.n_classes)
        overall = counts.sum(axis=0) / max(counts.sum(), 1e-300)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(totals > 0, (counts + self.pseudo) / totals, overall)

    @lazy
    def _table(self) -> Floats:
        """Log P(word | class) of all words of the block, shape (words, classes)."""
        with np.errstate(divide="ignore"):
            return self._expand(self._capped(np.log(self.prob).T))

    def _amounts(self, amounts: NDArray[Any]) -> NDArray[Any]:
        """Limit the counts of words to `repeats`."""
        return amounts if self.repeats is None else np.minimum(amounts, self.repeats)

    def add_log_prob(self, column: Bag, out: Floats) -> None:
        """Add Σ m log P(word | class)."""
        amounts = self._amounts(column.data)
        _kernels.csr_add(column.indptr, column.indices, amounts, self._table, False, out)
        if self.coefficient:
            from scipy.special import gammaln

            minus = self._expand(np.full((len(self.kept), self.n_classes), -1.0))
            _kernels.csr_add(column.indptr, column.indices, gammaln(amounts + 1.0), minus, False, out)

    def _row(self, column: Bag) -> tuple[NDArray[np.intp], NDArray[Any]]:
        """Return the words of the first row, as positions among the kept words, and their counts."""
        words, data = column.row(0)
        known = np.isin(words, self.kept)
        return np.searchsorted(self.kept, words[known]), self._amounts(data[known])

    def _factors(self, column: Bag) -> Iterator[tuple[str, Sequence[Factor]]]:
        """Yield the factors of the words in the row, and 1/m! if it is included."""
        places, amounts = self._row(column)
        for i, m in zip(places.tolist(), amounts.tolist(), strict=True):
            if m > 0:
                yield self.kept_words[i], self._factors_of(i, float(m))
        if self.coefficient and (amounts > 0).any():
            from scipy.special import gammaln

            yield "1/m!", [Factor(-float(gammaln(amounts + 1.0).sum()), "1/m!", "1/m!")] * self.n_classes

    def _factors_of(self, i: int, m: float = 1.0) -> list[Factor]:
        """Return P(word | class)^m of a kept word."""
        added, totals = self.smoothing.exact(self.used, i, self.kept_words), self.used.sum(axis=1)
        mass = self.smoothing.mass(self.used, added)
        return [
            self._word_factor(log, self.used[c, i], totals[c], added, mass, m)
            for c, log in enumerate((m * self._table[self.kept[i]]).tolist())
        ]

    def typical(self, c: int) -> tuple[str, str]:
        """Return the words that are most characteristic of the class."""
        with np.errstate(divide="ignore", invalid="ignore"):
            lift = np.log(self.prob[c])
            if self.n_classes > 1:
                lift = lift - np.log(np.delete(self.prob, c, axis=0).mean(axis=0))
        lift = np.where(self.used[c] > 0, np.nan_to_num(lift, posinf=1e6), -np.inf) * self.prob[c]
        return self._most_characteristic(lift, every=self.n_classes == 1)

    def draw(self, c: int, size: int, rng: np.random.Generator) -> NDArray[Any]:
        """Draw documents with the average length of class c, up to a limit."""
        length = float(self.used[c].sum() / max(self.n[c], 1))
        lengths = np.minimum(rng.poisson(min(length, 1e6), size), _LONGEST)
        texts = np.full(size, "", dtype=object)
        if not self.prob[c].sum() > 0:
            return texts
        p = self.prob[c] / self.prob[c].sum()
        for i, k in enumerate(lengths):
            texts[i] = " ".join(self.kept_words[w] for w in rng.choice(len(p), size=k, p=p))
        return texts

    def _add_drawn(self, column: Bag, out: Floats, rng: np.random.Generator) -> None:
        """Add the log-likelihood with word probabilities drawn from their Dirichlet posterior."""
        places, amounts = self._row(column)
        if not len(places):
            return
        pseudo, used = jeffreys(self.pseudo), drawn_counts(self.used, self.used.sum(axis=1), self.pseudo)
        total = np.broadcast_to(self.smoothing.added(pseudo, self.n_classes), pseudo.shape)[places]
        block = max(1, _CELLS // (len(places) * self.n_classes))  # bounded memory for long texts
        for start in range(0, len(out), block):
            part = out[start : start + block]
            logs = np.empty((len(part), len(places), self.n_classes))
            for c in range(self.n_classes):
                alpha = used[c, places] + pseudo[places]
                rest = used[c].sum() + total.mean() - alpha.sum()
                gammas = rng.gamma(np.append(alpha, max(rest, 1e-9)), size=(len(part), len(alpha) + 1))
                sums = np.maximum(gammas.sum(axis=1, keepdims=True), 1e-300)
                logs[:, :, c] = np.log(np.maximum(gammas[:, :-1], 1e-300)) - np.log(sums)
            part += np.einsum("dwc,w->dc", self._capped(logs), amounts.astype(np.float64))

    def log_prob_left_out(
        self, rule: Any, tally: Words, column: Bag, rows: LeftOutRows, *, keep: bool = False
    ) -> tuple[Floats, Flags, bool] | None:
        """Return the leave-one-out log-likelihood, from the counts without the document."""
        if (self.smoothing.estimate is not None and self.smoothing.estimate.p != "uniform") or (
            not self.smoothing.proper
        ):
            return None  # the pseudocounts depend on the document
        terms, odd = np.zeros((len(column), rows.k)), np.zeros(len(column), dtype=bool)
        counts = np.ascontiguousarray(self.used.T, dtype=np.float64)  # (kept, classes)
        for part, words in self._in_chunks(rule, tally, column, rows):
            size = len(self.kept) - words.summed(words.gone.astype(np.float64))
            total = np.tile(counts.sum(axis=0), (words.n, 1))
            total[np.arange(words.n), rows.codes[part]] -= words.summed(words.less)
            each, mass = self._pseudo_of(size)
            total = np.maximum(total, 0.0) + mass[:, None]
            rest = words.with_own(counts, np.maximum(counts[words.at, words.own] - words.less, 0.0))
            with np.errstate(divide="ignore", invalid="ignore"):
                logs = self._capped(np.log(rest + each[words.row, None]) - np.log(total)[words.row])
            logs = np.where(words.gone[:, None], 0.0, self._amounts(words.amount)[:, None] * logs)
            terms[part] = words.summed(logs)
            known = words.summed(np.ones(len(words.at))) > 0
            odd[part] = self._reranked(words) | (known & (total <= 1e-12).any(axis=1))
        terms[odd] = 0.0
        return terms, odd, False

    def _pseudo_of(self, size: Floats) -> tuple[Floats, Floats]:
        """Return the pseudocount of each word and of all words, for vocabularies of the given sizes."""
        estimate = self.smoothing.estimate
        if estimate is None:
            epsilon = float(self.smoothing.epsilon or 0.0)
            return np.full(len(size), epsilon), epsilon * size
        return float(estimate.m) / np.maximum(size, 1.0), np.full(len(size), float(estimate.m))

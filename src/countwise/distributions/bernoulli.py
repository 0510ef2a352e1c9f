"""Bernoulli distribution: each word of a block is present or absent, and both count."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._cached import lazy
from countwise._typing import Flags, Floats
from countwise.data.attributes import Attribute, Nominal, Numeric
from countwise.data.derived import AsGiven, Derived, Positive
from countwise.data.text import Bag
from countwise.distributions.categorical import Categorical
from countwise.distributions.distribution import LeftOutRows
from countwise.distributions.smoothing import drawn_counts, exact, jeffreys
from countwise.distributions.word_density import WordDistribution, WordsDensity
from countwise.errors import OptionError, listed
from countwise.tallies import Words
from countwise.working.steps import Factor

__all__ = ["Bernoulli", "BernoulliDensity"]

_FEW_WORDS = 40  # in larger vocabularies a working combines the absent words into one factor


@dataclass(frozen=True, slots=True)
class Bernoulli(WordDistribution):
    """Bernoulli distribution of words: present or absent.

    .. math:: P(text | c) = ∏_{w present} P(w | c) ∏_{w absent} (1 - P(w | c))

    Absent words count too. A numeric column with this distribution is treated as binary: above 0 or not.

    Parameters
    ----------
    smoothing : float, str, MEstimate or None, default=None
        The smoothing against zero frequencies; each word has the two values present and absent. None uses the
        smoothing of the model.
    max_words : int or None, default=10000
        Keep only this many words, those that occur in the most documents. None keeps all; a declared vocabulary
        is always kept whole, unless there is no smoothing.
    cap : float or None, default=None
        The largest difference between the log-probabilities of one word in two classes (natural logarithm). It limits
        the influence of a single word. None sets no limit.

    Examples
    --------
    >>> from countwise import samples, NaiveBayesClassifier
    >>> mail = samples.load("mail")
    >>> model = NaiveBayesClassifier("bernoulli", types="text", smoothing=0).fit(mail.X, mail.y)
    >>> model.predict_proba([{"text": "review us now"}]).round(6).tolist()
    [[0.123288, 0.876712]]
    """

    kind: ClassVar[str] = "bernoulli"
    present: ClassVar[bool] = True
    purpose: ClassVar[str] = "a Bernoulli distribution needs a text column or a column with two values"

    def suits(self, attribute: Attribute) -> bool:
        """Return whether the attribute is text, a block, numeric (above 0 or not), or nominal with two values."""
        two = isinstance(attribute, Nominal) and len(attribute.values) <= 2
        return two or WordDistribution.suits(self, attribute)

    def derived(self, attribute: Attribute, taken: Container[str]) -> tuple[Derived, Any]:
        """Return a numeric column as above 0 or not; a nominal column with two values stays as it is."""
        if isinstance(attribute, Numeric):
            return Positive.of_column(attribute.name, taken), Categorical(self.smoothing, cap=self.cap)
        if isinstance(attribute, Nominal):
            return AsGiven(attribute), Categorical(self.smoothing, cap=self.cap)
        return AsGiven(attribute), self

    def estimate(self, tally: Words) -> BernoulliDensity:
        """Estimate the proportion of documents of each class that contain the word."""
        return BernoulliDensity(tally, self)


class BernoulliDensity(WordsDensity):
    """P(word present | class): the documents of the class with the word / all documents of the class."""

    title: ClassVar[str] = "Bernoulli"

    @property
    def _either(self) -> Floats:
        """Pseudocounts of documents with and without a word, if they are the same for every word."""
        pseudo = self.smoothing.pseudo(np.zeros((1, 2)), ("present", "absent"))
        return np.array([pseudo[0], self.smoothing.added(pseudo, self.n_classes)[0] - pseudo[0]])

    @property
    def _by_word(self) -> Floats | None:
        """The given probability of each word, for an m-estimate with a mapping of words."""
        estimate = self.smoothing.estimate
        if estimate is None or not isinstance(estimate.p, Mapping) or estimate.p.keys().isdisjoint(self.words):
            return None
        unknown = [word for word in estimate.p if word not in self.words]
        if unknown:
            raise OptionError(
                f"p has a probability for {listed(unknown)}, which {self.name!r} does not contain.",
                hint="declare the words, as in types={'mail': Text('mail', words=('send', 'us'))}.",
            )
        return np.array([float(estimate.p.get(word, 0.0)) for word in self.kept_words])

    @lazy
    def pseudo(self) -> Floats:
        """Pseudocounts of documents with and without each word, shape (kept, 2)."""
        estimate = self.smoothing.estimate
        present = None if estimate is None else self._by_word
        if estimate is not None and estimate.p == "global":
            present = self.used.sum(axis=0) / max(float(self.n.sum()), 1e-300)
        if estimate is not None and present is not None:
            pseudo = float(estimate.m) * np.stack([present, 1 - present], axis=1)
            if self.smoothing.denominator == "literal":  # P(absent) stays 1 - P(present)
                pseudo[:, 1] = self.smoothing.added(pseudo, self.n_classes)[:, 0] - pseudo[:, 0]
            return pseudo
        return np.broadcast_to(self._either, (len(self.kept), 2))

    @lazy
    def prob(self) -> Floats:
        """P(word present | class), shape (classes, kept)."""
        totals = self.n.astype(np.float64)[:, None] + self.pseudo.sum(axis=1)
        overall = self.used.sum(axis=0) / max(float(self.n.sum()), 1e-300)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(totals > 0, (self.used + self.pseudo[:, 0]) / totals, overall)

    @lazy
    def _logs(self) -> tuple[Floats, Floats]:
        """Log P(present) and log P(absent), shape (kept, classes)."""
        with np.errstate(divide="ignore"):
            return self._capped(np.log(self.prob.T)), self._capped(np.log1p(-self.prob.T))

    @lazy
    def _tables(self) -> tuple[Floats, Floats, Floats | None]:
        """The log-odds of each word, the sum of log P(absent), and the words that cannot be absent."""
        present, absent = self._logs
        certain = np.isneginf(absent)  # P(present) = 1: log P(absent) is -inf, and a difference cannot represent it
        change = present - np.where(certain, 0.0, absent)
        base = np.where(certain, 0.0, absent).sum(axis=0)
        return self._expand(change), base, self._expand(certain.astype(np.float64)) if certain.any() else None

    def add_log_prob(self, column: Bag, out: Floats) -> None:
        """Add the log-probabilities of the present and the absent words."""
        change, base, certain = self._tables
        if column.missing is None:
            out += base
        else:
            out[~column.missing] += base
        _kernels.csr_add(column.indptr, column.indices, column.data, change, True, out)
        if certain is not None:
            found = np.zeros_like(out)
            _kernels.csr_add(column.indptr, column.indices, column.data, certain, True, found)
            lacking = found < certain.sum(axis=0)
            if column.missing is not None:
                lacking[column.missing] = False
            out[lacking] = -np.inf

    def _factors(self, column: Bag) -> Iterator[tuple[str, Sequence[Factor]]]:
        """Yield the factors of present and absent words; in a large vocabulary one for all absent words."""
        present = self._present(column)
        each = len(self.kept) <= _FEW_WORDS
        for i in range(len(self.kept)) if each else np.flatnonzero(present).tolist():
            absent = not present[i]
            yield f"{'no ' if absent else ''}{self.kept_words[i]}", self._factors_of(i, absent=absent)
        if not each:
            others = int(np.count_nonzero(~present))
            text, latex = f"∏ (1 - P) of {others} words", rf"\prod_{{{others}}} (1 - P)"
            rest = self._logs[1][~present].sum(axis=0).tolist()
            yield f"{others} absent words", [Factor(log, text, latex) for log in rest]

    def _factors_of(self, i: int, *, absent: bool = False) -> list[Factor]:
        """Return P(word present | class) of a kept word, or P(word absent | class)."""
        added, mass = self._exact_pseudo(i)
        return [
            self._word_factor(log, self.used[c, i], self.n[c], added, mass, absent=absent)
            for c, log in enumerate(self._logs[int(absent)][i].tolist())
        ]

    def _exact_pseudo(self, i: int) -> tuple[Fraction | None, Fraction | None]:
        """Return the pseudocount of documents with a word, and what is added to their number, as fractions."""
        counts, estimate = self.used[:, i].sum(), self.smoothing.estimate
        if estimate is None or estimate.p != "global":
            return exact(self.pseudo[i, 0]), exact(self.pseudo[i].sum())
        # the documents with the word and those without it are the two values
        either = np.array([[counts, self.n.sum() - counts]])
        added = self.smoothing.exact(either, 0, ("present", "absent"))
        return added, self.smoothing.mass(np.zeros((self.n_classes, 2)), added)

    def _present(self, column: Bag) -> Flags:
        """Return which of the kept words occur in the first row."""
        words, data = column.row(0)
        return np.isin(self.kept, words[data > 0])

    def typical(self, c: int) -> tuple[str, str]:
        """Return the words with the largest excess of P(present) over the other classes."""
        others = np.delete(self.prob, c, axis=0).mean(axis=0) if self.n_classes > 1 else 0.0
        return self._most_characteristic(self.prob[c] - others)

    def draw(self, c: int, size: int, rng: np.random.Generator) -> NDArray[Any]:
        """Draw documents in which each word is present with its probability in class c."""
        texts = np.empty(size, dtype=object)
        for i in range(size):
            present = rng.random(len(self.kept)) < self.prob[c]
            texts[i] = " ".join(self.kept_words[w] for w in np.flatnonzero(present))
        return texts

    def _add_drawn(self, column: Bag, out: Floats, rng: np.random.Generator) -> None:
        """Add the log-likelihood with word probabilities drawn from their Beta posterior."""
        present = self._present(column)
        extra, used = jeffreys(self.pseudo), drawn_counts(self.used, self.n, self.pseudo)
        n = np.where((self.n > 0) | bool(self.pseudo.any()), self.n, self.n.sum())
        block = max(1, 512 // self.n_classes)  # bounded memory for large vocabularies
        for start in range(0, len(self.kept), block):
            part = slice(start, start + block)
            logs = np.empty((len(out), len(self.kept[part]), self.n_classes))
            for c in range(self.n_classes):
                with_it = np.maximum(used[c, part] + extra[part, 0], 1e-9)
                without = np.maximum(n[c] - used[c, part] + extra[part, 1], 1e-9)
                p = rng.beta(with_it, without, (len(out), len(with_it)))
                logs[:, :, c] = np.log(np.maximum(np.where(present[part], p, 1 - p), 1e-300))
            out += self._capped(logs).sum(axis=1)

    def log_prob_left_out(
        self, rule: Any, tally: Words, column: Bag, rows: LeftOutRows, *, keep: bool = False
    ) -> tuple[Floats, Flags, bool] | None:
        """Return the leave-one-out log-likelihood, from the counts without the document."""
        estimate = self.smoothing.estimate
        if self.cap is not None or (estimate is not None and (estimate.p == "global" or self._by_word is not None)):
            return None
        a, b = self._either
        if not (a > 0 and b > 0):
            return None
        terms, odd = np.zeros((len(column), rows.k)), np.zeros(len(column), dtype=bool)
        counts, n = np.ascontiguousarray(self.used.T, dtype=np.float64), self.n.astype(np.float64)
        present, absent = np.log((counts + a) / (n + a + b)), np.log((n - counts + b) / (n + a + b))
        base = absent.sum(axis=0)
        own_base = _own_bases(rows, counts, n, a, b)
        for part, words in self._in_chunks(rule, tally, column, rows):
            n_own, w = n[words.own], words.less
            mine = counts[words.at, words.own]
            total = np.maximum(n_own - w, 0.0) + a + b
            own_present = np.log((np.maximum(mine - w, 0.0) + a) / total)
            own_absent = _log_or_0(n_own - w - mine + b, total)
            logs = np.where(words.gone[:, None], 0.0, words.with_own(present, own_present))
            logs -= words.with_own(absent, own_absent)
            bases = np.tile(base, (words.n, 1))
            bases[np.arange(words.n), rows.codes[part]] = own_base[part]
            terms[part] = bases + words.summed(logs)
            odd[part] = self._reranked(words)
        if column.missing is not None:
            terms[column.missing] = 0.0
        return terms, odd, False


def _log_or_0(count: Any, total: Any) -> Floats:
    """Return the log of a proportion, or 0 for a word in every other document of the class: it is in the row too."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(count > 1e-12, np.log(count / total), 0.0)


def _own_bases(rows: LeftOutRows, counts: Floats, n: Floats, a: float, b: float) -> Floats:
    """Return, for each row, the sum of log P(absent) over all words, from the other documents of its class."""
    pairs, place = np.unique(np.stack([rows.codes, rows.weights], axis=1), axis=0, return_inverse=True)
    bases = np.empty(len(pairs))
    for j, (c, w) in enumerate(pairs):
        c = int(c)
        bases[j] = _log_or_0(n[c] - w - counts[:, c] + b, max(n[c] - w, 0.0) + a + b).sum()
    return np.asarray(bases[place.ravel()])

"""Multinomial: a block of counts, as words drawn from one distribution in each class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._cached import lazy
from countwise._typing import Flags, Floats
from countwise.data.attributes import Attribute, Nominal, Numeric
from countwise.data.text import Bag, Block, Text, text_if_named
from countwise.distributions.distribution import Distribution, LeftOutRows, no_say
from countwise.distributions.smoothing import smoothing_of
from countwise.distributions.word_density import WordsDensity, in_pieces, may_leave, reranked
from countwise.errors import OptionError
from countwise.tallies import Words
from countwise.working.steps import Factor, Step

__all__ = ["Multinomial", "MultinomialDensity"]

_LONGEST = 10_000  # words in a text that is drawn


@dataclass(frozen=True, slots=True)
class Multinomial(Distribution):
    """Words, each as often as it stands.

    .. math:: P(text | c) = ∏_w P(w | c)^{m_w} / m_w!

    Numeric columns that have this distribution form one block; texts and sparse
    matrices are blocks already.

    Parameters
    ----------
    smoothing : optional
        Against zero counts; None takes the model's.
    max_words : int or None, default=10000
        Keep only so many words: those that occur most (002).
    cap : float or None, default=None
        The most that one word may speak for one class against another, in natural
        logarithms, so that padding cannot fool the model (003).
    repeats : int or None, default=None
        The most times that one word counts in one text.
    coefficient : bool, default=False
        Whether 1/m! is part of P(text | class), as lecture 000 writes it. It is the same
        for every class and changes no posterior.
    block : str, default=""
        Numeric columns with different blocks have different multinomials.

    Examples
    --------
    >>> from countwise import samples, NaiveBayesClassifier
    >>> mail = samples.load("mail")
    >>> model = NaiveBayesClassifier("multinomial", types="text", smoothing=1).fit(mail.X, mail.y)
    >>> model.predict_proba([{"text": "review us"}]).round(6).tolist()
    [[0.515436, 0.484564]]
    """

    smoothing: Any = None
    max_words: int | None = 10_000
    cap: float | None = None
    repeats: int | None = None
    coefficient: bool = False
    block: str = ""
    kind: ClassVar[str] = "multinomial"

    def suits(self, attribute: Attribute) -> bool:
        """Texts, blocks of counts, and numeric columns, which form a block."""
        return isinstance(attribute, Text | Block | Numeric)

    def implied_attribute(self, attribute: Attribute, *, named: bool) -> Attribute:
        """A column of strings that is named is a text."""
        return text_if_named(attribute, named=named)

    def block_of(self, attribute: Attribute) -> str | None:
        """Numeric columns with this distribution form one block."""
        return self.block if isinstance(attribute, Numeric) else None

    def blank(self, given: Nominal, of: Attribute) -> Words:
        """Totals of the words."""
        if not isinstance(of, Text | Block):
            raise OptionError(f"{of.name!r} is {of.kind}; a multinomial distribution is for texts and counts.")
        return Words(given, of, present=False)

    def estimate(self, tally: Words) -> MultinomialDensity:
        """Divide by the words of the class."""
        limit = self.max_words if isinstance(tally.of, Text) else None
        return MultinomialDensity(
            tally, smoothing_of(self.smoothing), limit, self.cap, self.repeats, self.coefficient
        )


class MultinomialDensity(WordsDensity):
    """P(word | class) = count of the word / count of all words.

    Parameters
    ----------
    tally, smoothing, max_words, cap, repeats
        See `WordsDensity`.
    coefficient : bool
        Whether 1/m! counts.
    """

    def __init__(
        self, tally: Words, smoothing: Any, max_words: Any, cap: Any, repeats: Any, coefficient: bool
    ) -> None:
        super().__init__(tally, smoothing, max_words, cap, repeats)
        self.coefficient = coefficient
        self.rule = f"multinomial, {smoothing}"

    @lazy
    def prob(self) -> Floats:
        """P(word | class), shape (classes, kept)."""
        counts = self.used.astype(np.float64)
        pseudo = (
            self.smoothing.pseudo(self.used, [self.words[w] for w in self.kept]) if len(self.kept) else np.zeros(0)
        )
        totals = counts.sum(axis=1, keepdims=True) + pseudo.sum()
        overall = counts.sum(axis=0) / max(counts.sum(), 1e-300)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(totals > 0, (counts + pseudo) / totals, overall)

    @lazy
    def _table(self) -> Floats:
        with np.errstate(divide="ignore"):
            logs = self._capped(np.log(self.prob).T)
        return self._spread(logs)

    def add_log_prob(self, column: Bag, out: Floats) -> None:
        """Add Σ m log P(word | class)."""
        _kernels.csr_add(column.indptr, column.indices, self._amounts(column), self._table, False, out)
        if self.coefficient:
            from scipy.special import gammaln

            minus = self._spread(np.full((len(self.kept), self.n_classes), -1.0))
            _kernels.csr_add(column.indptr, column.indices, gammaln(self._amounts(column) + 1.0), minus, False, out)

    def steps(self, name: str, column: Bag, shown: str) -> list[Step]:
        """A step a word."""
        if column.missing is not None and column.missing[0]:
            return no_say(name, shown or "?", "missing", self.rule)
        kept = {int(w): i for i, w in enumerate(self.kept)}
        words, _ = column.row(0)
        amounts = self._amounts(column)[column.indptr[0] : column.indptr[1]]
        steps = [
            Step(name, shown, self._factors(kept[int(w)], float(m)), "known", self.rule, self.words[w])
            for w, m in zip(words, amounts, strict=True)
            if int(w) in kept and m > 0
        ]
        if self.coefficient and steps:
            from scipy.special import gammaln

            known = np.array([int(w) in kept for w in words])
            log = -float(gammaln(amounts[known] + 1.0).sum())
            steps.append(
                Step(name, shown, (Factor(log, "1/m!", "1/m!"),) * self.n_classes, "known", self.rule, "1/m!")
            )
        return steps or no_say(name, shown, "never seen", self.rule)

    def _factors(self, i: int, m: float) -> tuple[Factor, ...]:
        words = [self.words[w] for w in self.kept]
        added, mass = self.smoothing.exact(self.used, i, words), self.smoothing.mass(self.used)
        row = self._table[self.kept[i]]
        return tuple(
            self._fraction_factor(float(m * row[c]), self.used[c, i], self.used[c].sum(), added, mass, m)
            for c in range(self.n_classes)
        )

    def typical(self, c: int) -> tuple[str, str]:
        """The words that speak most for the class."""
        with np.errstate(divide="ignore", invalid="ignore"):
            lift = (
                np.log(self.prob[c]) - np.log(np.delete(self.prob, c, axis=0).mean(axis=0))
                if self.n_classes > 1
                else np.log(self.prob[c])
            )
        lift = np.where(self.used[c] > 0, np.nan_to_num(lift, posinf=1e6), -np.inf) * self.prob[c]
        top = [w for w in np.argsort(-lift, kind="stable")[:8] if lift[w] > 0 or self.n_classes == 1]
        return ", ".join(self.words[self.kept[w]] for w in top), "its most telling words"

    def draw(self, c: int, size: int, rng: np.random.Generator) -> NDArray[Any]:
        """Texts of as many words as those of the class have on average, up to a limit."""
        length = float(self.used[c].sum() / max(self.n[c], 1))
        lengths = np.minimum(rng.poisson(min(length, 1e6), size), _LONGEST)
        texts = np.full(size, "", dtype=object)
        if not self.prob[c].sum() > 0:
            return texts
        p = self.prob[c] / self.prob[c].sum()
        for i, k in enumerate(lengths):
            texts[i] = " ".join(self.words[self.kept[w]] for w in rng.choice(len(p), size=k, p=p))
        return texts

    def draw_log_prob(self, column: Bag, size: int, rng: np.random.Generator) -> Floats:
        """Probabilities of the words drawn from their Dirichlet posterior."""
        out = np.zeros((size, self.n_classes))
        if column.missing is not None and column.missing[0]:
            return out
        kept = {int(w): i for i, w in enumerate(self.kept)}
        words, _ = column.row(0)
        amounts = self._amounts(column)[column.indptr[0] : column.indptr[1]]
        pairs = [(kept[int(w)], m) for w, m in zip(words, amounts, strict=True) if int(w) in kept]
        if not pairs:
            return out
        places, m = np.array([p for p, _ in pairs]), np.array([m for _, m in pairs], dtype=float)
        pseudo = self.smoothing.pseudo(self.used, [self.words[w] for w in self.kept])
        pseudo = pseudo if pseudo.any() else np.full(len(self.kept), 0.5)
        for c in range(self.n_classes):
            alpha = self.used[c, places] + pseudo[places]
            rest = self.used[c].sum() + pseudo.sum() - alpha.sum()
            gammas = rng.gamma(np.append(alpha, max(rest, 1e-9)), size=(size, len(alpha) + 1))
            logs = np.log(np.maximum(gammas[:, :-1], 1e-300)) - np.log(gammas.sum(axis=1, keepdims=True))
            out[:, c] = logs @ m
        return out

    def log_prob_left_out(
        self, rule: Any, tally: Words, column: Bag, rows: LeftOutRows, *, keep: bool = False
    ) -> tuple[Floats, Flags, bool] | None:
        """Σ m log P(word | class) from the counts without the text."""
        if self.smoothing.estimate is not None and self.smoothing.estimate.p != "uniform":
            return None  # what is imagined depends on the text
        terms, odd = np.zeros((len(column), rows.k)), np.zeros(len(column), dtype=bool)
        counts = np.ascontiguousarray(self.used.T, dtype=np.float64)  # (kept, classes)
        for part, words in in_pieces(rows, self, may_leave(rule, tally), column, present=False):
            size = len(self.kept) - words.summed(words.gone.astype(np.float64))
            total = np.tile(counts.sum(axis=0), (words.n, 1))
            total[np.arange(words.n), rows.codes[part]] -= words.summed(words.less)
            each, mass = self._imagined(size)
            total = np.maximum(total, 0.0) + mass[:, None]
            rest = words.with_own(counts, np.maximum(counts[words.at, words.own] - words.less, 0.0))
            with np.errstate(divide="ignore", invalid="ignore"):
                logs = self._capped(np.log(rest + each[words.row, None]) - np.log(total)[words.row])
            times = words.amount if self.repeats is None else np.minimum(words.amount, self.repeats)
            logs = np.where(words.gone[:, None], 0.0, times[:, None] * logs)
            terms[part] = words.summed(logs)
            told = words.summed(np.ones(len(words.at))) > 0
            odd[part] = reranked(self, words) | (told & (total <= 1e-12).any(axis=1))
        terms[odd] = 0.0
        return terms, odd, False

    def _imagined(self, size: Floats) -> tuple[Floats, Floats]:
        """What is added to each word, and to all together, in vocabularies of these sizes."""
        estimate = self.smoothing.estimate
        if estimate is None:
            epsilon = float(self.smoothing.epsilon or 0.0)
            return np.full(len(size), epsilon), epsilon * size
        return float(estimate.m) / np.maximum(size, 1.0), np.full(len(size), float(estimate.m))

    def summary(self, classes: Sequence[Any]) -> dict[str, list[Any]]:
        """The loudest words."""
        return self._word_rows(classes, self.prob)

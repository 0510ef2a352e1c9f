"""Prediction with a sum of log-probability terms.

Rows are predicted in blocks that fit into the CPU cache while their terms are added.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels, progress
from countwise._typing import Flags, Floats
from countwise.base.model import Model, row_numbers_section, rows_counted_from
from countwise.base.protocol import Classifier
from countwise.base.term import Term, derive
from countwise.data.attributes import Nominal, Numeric
from countwise.data.cells import cell_of, row_of, shown_cell
from countwise.data.columns import refuse_infinity
from countwise.data.frames import Frame
from countwise.data.table import Table
from countwise.data.text import Text
from countwise.data.vectors import Vector
from countwise.errors import listed, warn
from countwise.sources import Memory
from countwise.working import Section, Step, Working
from countwise.working.text import columns as classes_shown
from countwise.working.text import folded

__all__ = ["AdditiveClassifier"]


Output = Literal["log", "proba"]

PREDICT_BLOCK = 1 << 15  # rows whose posteriors stay in cache while the terms are added


class AdditiveClassifier(Classifier, Model):
    """Classifier whose log-joint probability is a sum of terms; subclasses implement `_add_terms`."""

    terms_: list[Term]
    target_: Nominal
    densities_: dict[str, Any]
    classes_: NDArray[Any]
    log_prior_: Floats

    def _add_terms(self, table: Table, out: Floats, *, whole: bool = True) -> None:
        """Add each term to `out` (rows, classes), which holds log P(class).

        Unless `whole` is true, a quantity that is the same for all classes of a row may be omitted.
        """
        raise NotImplementedError

    def _add_term(self, part: Term, table: Table, out: Floats) -> None:
        """Add one term to `out`."""
        raise NotImplementedError

    def _prior_step(self) -> Step:
        """Return P(class) as a step of the working."""
        raise NotImplementedError

    def _refuse_infinity(self, frame: Frame, table: Table, *, every: bool) -> None:
        """Raise an error if a numeric value is infinite.

        Columns whose infinities make every class impossible are checked only if `every` is true.
        """
        shows = set() if every else self._showing()
        columns: dict[str, Any] = {}
        for a in self.schema_.attributes:
            if a.name in shows:
                continue
            if isinstance(a, Numeric):
                columns[a.name] = table[a.name]
            elif isinstance(a, Nominal) and isinstance(frame.columns[a.name], np.ndarray):
                columns[a.name] = frame.columns[a.name]
        refuse_infinity(columns)

    def _showing(self) -> set[str]:
        """Return the columns in which an infinite value makes every class impossible."""
        showing = [part for part in self.terms_ if getattr(part.distribution, "shows_infinity", False)]
        return {name for part in showing for name in part.columns}

    def _table(self, frame: Frame, start: int, stop: int, *, every: bool = False) -> Table:
        """Encode the rows from `start` to `stop`; an error names the row of the whole frame.

        If `every` is true, all numeric columns are checked for infinite values. Otherwise columns modeled by moments
        are skipped, because an infinite value there makes every class impossible and is noticed afterwards.
        """
        with rows_counted_from(start):
            part = frame.slice(start, stop)
            table = self.schema_.encode(part, strict=getattr(self, "unseen", "ignore") == "error")
            self._refuse_infinity(part, table, every=every)
            return derive(table, self.terms_)

    def _joint(self, frame: Frame, finish: Callable[[Table, int, int], int]) -> int:
        """Encode the rows block by block and pass each block to `finish`.

        `finish` returns the number of rows in the block for which every class has probability 0. The sum is returned.
        """

        def work(start: int, stop: int) -> int:
            bad = finish(self._table(frame, start, stop), start, stop)
            if bad:  # raise an error if an infinite value is the cause
                self._table(frame, start, stop, every=True)
            return bad

        return sum(_kernels.over_blocks(frame.n_rows, PREDICT_BLOCK, work, progress=progress.current()))

    def _filled(self, X: Any, kind: Output | None) -> Floats:
        return self._filled_and_decided(X, kind, decide=False)[0]

    def _filled_and_decided(self, X: Any, kind: Output | None, *, decide: bool) -> tuple[Floats, NDArray[np.intp]]:
        """Return the posteriors and, if `decide` is true, the index of the predicted class of each row."""
        frame = self._open(X)
        out, codes = np.empty((frame.n_rows, len(self.classes_))), np.empty(frame.n_rows * decide, dtype=np.intp)
        priors = self._priors(frame.n_rows)

        def finish(table: Table, start: int, stop: int) -> int:
            return self._posterior(table, out[start:stop], kind, priors, codes[start:stop] if decide else None)

        bad = self._joint(frame, finish)
        if kind is not None:
            self._warn_of_zeros(bad)
        return out, codes

    def _labels_and_proba(self, X: Any) -> tuple[NDArray[Any], Floats]:
        proba, codes = self._filled_and_decided(X, "proba", decide=True)
        return self.classes_[codes], proba

    def _priors(self, n_rows: int) -> Floats:
        """Return log P(class) repeated for the rows of a block, so that it is copied at once."""
        return np.repeat(self.log_prior_[None], min(n_rows, PREDICT_BLOCK), axis=0)

    def _posterior(
        self, table: Table, out: Floats, kind: Output | None, priors: Any, codes: NDArray[np.intp] | None = None
    ) -> int:
        """Fill `out` and `codes`; return the number of rows for which every class has probability 0."""
        out[:] = priors[: len(out)]
        self._add_terms(table, out, whole=kind is None)
        if codes is not None:
            codes[:] = self._best(out)[0]
        if kind is None:
            out[np.isnan(out)] = -np.inf  # ∞ - ∞: the row is too far from every class
            return int(np.count_nonzero(~np.isfinite(out).any(axis=1)))
        bad = _kernels.normalize(out, kind)
        if bad:
            impossible = np.isnan(out).any(axis=1)
            out[impossible] = self.log_prior_ if kind == "log" else np.exp(self.log_prior_)
        return int(bad)

    def _warn_of_zeros(self, bad: int) -> None:
        """Warn that the prior is returned for rows in which every class has probability 0."""
        if bad:
            why, hint = self._zeros()
            rows = f"{bad} row{'s' * (bad > 1)}"
            warn(f"Every class has probability 0 in {rows}: {why}. The prior is returned instead. Hint: {hint}.")

    def _zeros(self) -> tuple[str, str]:
        """Return why every class may have probability 0, and what to do about it."""
        return "a number is too far from the training values", "check that X has the same units as the training data"

    def contributions(self, X: Any) -> dict[str, Floats]:
        """Return the log-likelihood log P(attribute | class) of each term.

        The log prior plus the sum of the contributions is the joint log-probability of each class, up to a constant
        that is the same for all classes of a row.

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, samples
        >>> rain = samples.load("rain")
        >>> model = NaiveBayesClassifier().fit(rain.X, rain.y)
        >>> found = model.contributions([{"wind": "north", "temp": 20}])
        >>> {name: logs.round(3).tolist() for name, logs in found.items()}
        {'wind': [[-0.511, -0.916]], 'temp': [[-3.087, -1.041]]}
        """
        frame = self._open(X)
        table = self._table(frame, 0, frame.n_rows, every=True)

        def one(part: Term) -> Floats:
            out = np.zeros((frame.n_rows, len(self.classes_)))
            self._add_term(part, table, out)
            return out

        found: dict[str, Floats] = {}
        for part, term in zip(self.terms_, _kernels.over_items(self.terms_, one, table.threads), strict=True):
            name = " + ".join(part.columns)
            found[name] = found[name] + term if name in found else term
        return found

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Return the joint log-probability log P(class) + Σ log P(attribute | class).

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, samples
        >>> rain = samples.load("rain")
        >>> model = NaiveBayesClassifier().fit(rain.X, rain.y)
        >>> model.predict_joint_log_proba([{"wind": "north", "temp": 20}]).round(3).tolist()
        [[-4.291, -2.65]]
        """
        return self._filled(X, None)

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithm of the posterior probability of each class.

        It stays finite where a probability is too small for `predict_proba`.

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, samples
        >>> rain = samples.load("rain")
        >>> model = NaiveBayesClassifier().fit(rain.X, rain.y)
        >>> model.predict_log_proba([{"wind": "north", "temp": 20}]).round(3).tolist()
        [[-1.818, -0.177]]
        """
        return self._filled(X, "log")

    def predict_proba(self, X: Any) -> Floats:
        """Return the posterior probability of each class.

        A row for which every class has probability 0 gets the prior, with a warning.

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, samples
        >>> rain = samples.load("rain")
        >>> model = NaiveBayesClassifier().fit(rain.X, rain.y)
        >>> model.predict_proba([{"wind": "north", "temp": 20}]).round(3).tolist()
        [[0.162, 0.838]]
        """
        return self._filled(X, "proba")

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class of each row; ties go to the first class in `classes_`.

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, samples
        >>> rain = samples.load("rain")
        >>> model = NaiveBayesClassifier().fit(rain.X, rain.y)
        >>> model.predict([{"wind": "north", "temp": 20}, {"wind": "east", "temp": 28}]).tolist()
        ['yes', 'no']
        """
        codes = self._codes(X)
        return self.classes_[codes]

    def _codes(self, X: Any) -> NDArray[np.intp]:
        """Return the index of the most probable class of each row."""
        frame = self._open(X)
        priors, codes = self._priors(frame.n_rows), np.empty(frame.n_rows, dtype=np.intp)
        buffers: list[Floats] = []  # one for each thread

        def finish(table: Table, start: int, stop: int) -> int:
            try:
                buffer = buffers.pop()
            except IndexError:
                buffer = np.empty_like(priors)
            try:
                codes[start:stop], bad = self._decided(table, buffer[: table.n_rows], priors)
            finally:
                buffers.append(buffer)
            return bad

        self._warn_of_zeros(self._joint(frame, finish))
        return codes

    def _decided(self, table: Table, out: Floats, priors: Any) -> tuple[NDArray[np.intp], int]:
        """Return the index of the most probable class, and the number of rows in which every class has probability 0.

        Those rows get the class of the largest prior.
        """
        out[:] = priors[: len(out)]
        self._add_terms(table, out, whole=False)
        return self._best(out)

    def _best(self, joint: Floats) -> tuple[NDArray[np.intp], int]:
        """Return the index of the class with the largest log-joint, the first at a tie; see `_decided`."""
        codes = _kernels.argmax_rows(joint)
        with np.errstate(all="ignore"):
            if np.isfinite(joint.sum()):  # then every entry is finite
                return codes, 0
        bad = ~np.isfinite(joint[np.arange(len(codes)), codes]) | np.isnan(joint).any(axis=1)
        codes[bad] = _kernels.argmax_rows(self.log_prior_[None])[0]
        return codes, int(np.count_nonzero(bad))

    def explain(self, X: Any, *, row: int = 0, rows: Any = None) -> Working:
        """Explain the prediction for one row step by step.

        The working lists the prior, the factor of each attribute, their product and the posterior of each class.

        Parameters
        ----------
        X : table
            The rows.
        row : int, default=0
            The position of the row in X; negative positions count from the end.
        rows : table or tuple (X, y) or None, default=None
            The training table. With it, the working lists the numbers of the training rows behind each count.

        Returns
        -------
        Working
            The working. It prints as text, and notebooks show it as a table.

        Examples
        --------
        >>> from countwise import DiscriminantClassifier, samples
        >>> weather = samples.load("weather")
        >>> model = DiscriminantClassifier().fit(weather.columns("temperature", "humidity", "play"), "play")
        >>> working = model.explain([{"temperature": 66, "humidity": 90}])
        >>> [round(p, 6) for p in working.posterior]
        [0.490646, 0.509354]
        """
        table, one = self._one(X, row)
        return self._with_rows(self._worked(table, one), table, self._training_rows(rows))

    def _with_rows(self, working: Working, one: Table, rows: Memory | None) -> Working:
        """Add the numbers of the training rows behind each count to the working of the encoded row `one`."""
        if rows is None:
            return working
        train = self._table(rows.frame, 0, rows.n_rows)
        codes = self.target_.encode(rows.target, strict=True)
        found: list[tuple[str, Flags]] = []
        notes: list[str] = []
        for step in (working.prior, *folded(working)[0]):
            mask = self._rows_of_step(step, train, one)
            for c in classes_shown(working) if mask is not None else ():
                factor = step.factors[c]
                event = [step.event if factor.count is not None else step.attribute, step.given]
                named = [] if step is working.prior else [part for part in event if part]
                found.append(
                    (", ".join([*named, f"{self.target_.name} = {working.classes[c]}"]), mask & (codes == c))
                )
                count = factor.total if factor.count is None else factor.count
                if not step.word and count is not None and abs(count - found[-1][1].sum()) > 1e-9 * max(count, 1):
                    notes = ["Counts that differ from the number of rows are sums of weights, or expected counts."]
        return replace(working, sections=(*working.sections, row_numbers_section(found, rows, *notes)))

    def _rows_of_step(self, step: Step, train: Table, one: Table) -> Flags | None:
        """Return the training rows that a step counts, in all classes; None if it counts none."""
        if step.attribute == self.target_.name:
            return np.ones(train.n_rows, dtype=bool)
        if step.attribute not in self.densities_:
            return None
        return self.densities_[step.attribute].counted_in(train[step.attribute], one[step.attribute], step.word)

    def _one(self, X: Any, row: int) -> tuple[Table, Frame]:
        """Return one row of a table, encoded and as given."""
        frame = self._open(X)
        row = row_of(frame, row)
        return self._table(frame, row, row + 1, every=True), frame.slice(row, row + 1)

    def _worked(self, table: Table, one: Frame) -> Working:
        steps, notes = self._steps(table, one)
        joint = self.log_prior_[None, :].copy()
        self._add_terms(table, joint)
        posterior, chosen = np.empty_like(joint), np.empty(1, dtype=np.intp)
        if self._posterior(table, posterior, "proba", self._priors(1), chosen):
            why, hint = self._zeros()
            notes.append(f"Every product is 0: {why}. The prior is returned instead. Hint: {hint}.")
        working = Working(
            target=self.target_.name,
            classes=tuple(self.classes_.tolist()),
            prior=self._prior_step(),
            steps=tuple(steps),
            log_joint=tuple(joint[0].tolist()),
            posterior=tuple(posterior[0].tolist()),
            chosen=int(chosen[0]),
            notes=tuple(notes),
            given={name: shown_cell(column) for name, column in one.columns.items()},
        )
        sections = tuple(self._sections(table, working))
        return replace(working, sections=sections) if sections else working

    def _sections(self, table: Table, working: Working) -> list[Section]:
        """Return sections that derive factors which are more than a fraction or a formula."""
        return []

    def _steps(self, table: Table, one: Frame) -> tuple[list[Step], list[str]]:
        """Return the steps of the working, one or more for each term, and its notes."""
        steps: list[Step] = []
        notes: list[str] = []
        for part in self.terms_:
            density = self.densities_[part.key]
            shown = part.derived.label(one.columns, shown_cell)
            shown = density.label(table[part.key], 0) if shown is None else shown
            own = _unseen_marked(density.steps(part.key, table[part.key], shown), part, table, one)
            steps += own
            codes = table[part.key].dtype.kind in "iu" if isinstance(part.of, Nominal) else False
            if codes and own[0].state == "known" and int(table[part.key][0]) == part.of.unseen:
                notes.append(f"{own[0].event} was never seen in training; it has the probability of an unseen value.")
            if isinstance(part.of, Text):
                unknown = part.of.unknown(cell_of(one.columns[part.key]) or "")
                if unknown:
                    notes.append(f"Not used: {listed(unknown)} in {part.key!r} (never seen in training).")
        return steps, notes


def _unseen_marked(steps: list[Step], part: Any, table: Table, one: Frame) -> list[Step]:
    """Mark unseen values in the steps of a term over whole rows, to distinguish them from missing values."""
    if not isinstance(part.of, Vector):
        return steps
    odd = {a.name: a for a in part.of.attributes if isinstance(a, Nominal) and int(table[a.name][0]) == a.unseen}
    marked = [s for s in steps if s.attribute.partition("=")[0] not in odd]
    return marked + [Step(name, shown_cell(one.columns[name]), (), "never seen") for name in odd]

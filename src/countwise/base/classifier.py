"""Predicting: posteriors block by block, so that the terms of a block are added while its rows are in cache."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels, progress
from countwise._typing import Floats
from countwise.base.model import Model, rows_counted_from
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
from countwise.working import Section, Step, Working

__all__ = ["AdditiveClassifier"]


Kind = Literal["log", "proba"]

PREDICT_BLOCK = 1 << 15  # rows whose posteriors stay in cache while the terms are added


class AdditiveClassifier(Classifier, Model):
    """A classifier whose answer is a sum of terms; a model writes `_add_terms`."""

    terms_: list[Term]
    target_: Nominal
    densities_: dict[str, Any]
    classes_: NDArray[Any]
    log_prior_: Floats

    def _add_terms(self, table: Table, out: Floats, *, whole: bool = True) -> None:
        """Add each term to out (rows, classes), which holds log P(class).

        What is the same for all classes of a row may be left out unless the whole is asked for.
        """
        raise NotImplementedError

    def _add_term(self, part: Term, table: Table, out: Floats) -> None:
        """Add one term to out."""
        raise NotImplementedError

    def _prior_step(self) -> Step:
        """P(class) as a step of the working."""
        raise NotImplementedError

    def _refuse_infinity(self, frame: Frame, table: Table, *, every: bool) -> None:
        """An infinity under a distribution of moments shows in the prediction; elsewhere it must be looked for."""
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
        """The columns in which an infinity shows in the answer."""
        showing = [part for part in self.terms_ if getattr(part.distribution, "shows_infinity", False)]
        return {name for part in showing for name in part.columns}

    def _table(self, frame: Frame, start: int, stop: int, *, every: bool = False) -> Table:
        """Rows start to stop encoded; an error names the row of the whole frame.

        An infinity under a distribution of moments shows in the prediction, and is looked for only then (`every`).
        """
        with rows_counted_from(start):
            part = frame.slice(start, stop)
            table = self.schema_.encode(part, strict=getattr(self, "unseen", "ignore") == "error")
            self._refuse_infinity(part, table, every=every)
            return derive(table, self.terms_)

    def _joint(self, frame: Frame, finish: Callable[[Table, int, int], int]) -> int:
        """Posteriors block by block: terms are added in cache, then `finish` takes the block.

        `finish` returns how many rows of the block no class could have made; the sum is returned.
        """

        def work(start: int, stop: int) -> int:
            bad = finish(self._table(frame, start, stop), start, stop)
            if bad:  # is it an infinity?
                self._table(frame, start, stop, every=True)
            return bad

        return sum(_kernels.over_blocks(frame.n_rows, PREDICT_BLOCK, work, progress=progress.current()))

    def _filled(self, X: Any, kind: Kind | None) -> Floats:
        frame = self._open(X)
        out = np.empty((frame.n_rows, len(self.classes_)))
        priors = self._priors(frame.n_rows)

        bad = self._joint(frame, lambda table, start, stop: self._posterior(table, out[start:stop], kind, priors))
        if kind is not None:
            self._warn_of_zeros(bad)
        return out

    def _priors(self, n_rows: int) -> Floats:
        """Log P(class) for the rows of a block, to be copied in one go."""
        return np.tile(self.log_prior_, (min(n_rows, PREDICT_BLOCK), 1))

    def _posterior(self, table: Table, out: Floats, kind: Kind | None, priors: Any) -> int:
        """Fill out; returns how many rows no class could have made."""
        out[:] = priors[: len(out)]
        self._add_terms(table, out, whole=kind is None)
        if kind is None:
            return int(np.count_nonzero(~np.isfinite(out).any(axis=1)))
        bad = _kernels.normalize(out, kind)
        if bad:
            lost = np.isnan(out).any(axis=1)
            out[lost] = self.log_prior_ if kind == "log" else np.exp(self.log_prior_)
        return int(bad)

    def _warn_of_zeros(self, bad: int) -> None:
        """A row that no class could have made gets the prior, with a warning."""
        if bad:
            why, hint = self._zeros()
            rows = f"{bad} row{'s' * (bad > 1)}"
            warn(f"In {rows} every class has probability 0: {why}. The prior is given instead. Hint: {hint}.")

    def _zeros(self) -> tuple[str, str]:
        """Why every class may have probability 0, and what helps."""
        return "numbers lie beyond all densities", "are they of the same unit as in training?"

    def contributions(self, X: Any) -> dict[str, Floats]:
        """Log P(attribute | class) of every column on its own, whose sum with the log prior is the prediction.

        Arrays of shape (rows, classes), by column, or by the columns joined with " + " where they share one term.
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
        """Log P(class) + Σ log P(attribute | class)."""
        return self._filled(X, None)

    def predict_log_proba(self, X: Any) -> Floats:
        """Log P(class | row)."""
        return self._filled(X, "log")

    def predict_proba(self, X: Any) -> Floats:
        """P(class | row)."""
        return self._filled(X, "proba")

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class; at a tie the first of `classes_`."""
        codes = self._codes(X)
        return self.classes_[codes]

    def _codes(self, X: Any) -> NDArray[np.intp]:
        """The place of the most probable class of each row."""
        frame = self._open(X)
        priors, codes = self._priors(frame.n_rows), np.empty(frame.n_rows, dtype=np.intp)
        rooms = [np.empty_like(priors) for _ in range(_kernels.thread_count())]  # one for each block at work

        def finish(table: Table, start: int, stop: int) -> int:
            room = rooms.pop()
            try:
                codes[start:stop], bad = self._decided(table, room[: table.n_rows], priors)
            finally:
                rooms.append(room)
            return bad

        self._warn_of_zeros(self._joint(frame, finish))
        return codes

    def _decided(self, table: Table, out: Floats, priors: Any) -> tuple[NDArray[np.intp], int]:
        """The most probable class of each row, and how many rows no class could have made: the prior decides them."""
        out[:] = priors[: len(out)]
        self._add_terms(table, out, whole=False)
        codes = _kernels.argmax_rows(out)
        with np.errstate(all="ignore"):
            if np.isfinite(out.sum()):  # so is every cell
                return codes, 0
        bad = ~np.isfinite(out[np.arange(len(codes)), codes])
        codes[bad] = int(np.argmax(self.log_prior_))
        return codes, int(np.count_nonzero(bad))

    def explain(self, X: Any, *, row: int = 0) -> Working:
        """The working behind the answer for one row."""
        return self._worked(*self._one(X, row))

    def _one(self, X: Any, row: int) -> tuple[Table, Frame]:
        """One row of a table, encoded and as it was given."""
        frame = self._open(X)
        row = row_of(frame, row)
        return self._table(frame, row, row + 1, every=True), frame.slice(row, row + 1)

    def _worked(self, table: Table, one: Frame) -> Working:
        steps, notes = self._steps(table, one)
        joint = self.log_prior_[None, :].copy()
        self._add_terms(table, joint)
        posterior = np.empty_like(joint)
        if self._posterior(table, posterior, "proba", self._priors(1)):
            why, hint = self._zeros()
            notes.append(f"Every product is 0: {why}. So the prior is given instead; {hint}.")
        working = Working(
            target=self.target_.name,
            classes=tuple(self.classes_.tolist()),
            prior=self._prior_step(),
            steps=tuple(steps),
            log_joint=tuple(joint[0].tolist()),
            posterior=tuple(posterior[0].tolist()),
            chosen=int(np.argmax(posterior[0])),
            notes=tuple(notes),
            given={name: shown_cell(column) for name, column in one.columns.items()},
        )
        sections = tuple(self._sections(table, working))
        return replace(working, sections=sections) if sections else working

    def _sections(self, table: Table, working: Working) -> list[Section]:
        """How the factors came about, where they are more than a count or a formula of one number."""
        return []

    def _steps(self, table: Table, one: Frame) -> tuple[list[Step], list[str]]:
        """The steps of each part: the terms of the prediction before they are summed."""
        steps: list[Step] = []
        notes: list[str] = []
        for part in self.terms_:
            density = self.densities_[part.key]
            shown = part.derived.label(one.columns, shown_cell)
            shown = density.label(table[part.key], 0) if shown is None else shown
            steps += _unseen_marked(density.steps(part.key, table[part.key], shown), part, table, one)
            if isinstance(part.of, Text):
                unknown = part.of.unknown(cell_of(one.columns[part.key]) or "")
                if unknown:
                    notes.append(f"{listed(unknown)} in {part.key!r}: never seen in training, left out.")
        return steps, notes


def _unseen_marked(steps: list[Step], part: Any, table: Table, one: Frame) -> list[Step]:
    """Steps of a whole row, in which a value never met is told from a missing cell."""
    if not isinstance(part.of, Vector):
        return steps
    odd = {a.name: a for a in part.of.attributes if isinstance(a, Nominal) and int(table[a.name][0]) == a.unseen}
    marked = [s for s in steps if s.attribute.partition("=")[0] not in odd]
    return marked + [Step(name, shown_cell(one.columns[name]), (), "never seen") for name in odd]

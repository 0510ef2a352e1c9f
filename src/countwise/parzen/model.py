"""Parzen densities of whole rows: one on its own, or one a class (003)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from countwise._typing import Floats
from countwise.base.generative import GenerativeClassifier
from countwise.base.row_model import encode_finite
from countwise.base.tally_model import TallyModel
from countwise.base.term import Term, derive, numeric_and_nominal
from countwise.data.attributes import Attribute, Nominal, Numeric, Ordinal
from countwise.data.cells import one_row
from countwise.data.derived import CellMatrix, whole_row
from countwise.data.frames import Coded, Frame
from countwise.data.output import dense, library_of, rebuilt
from countwise.data.schema import Schema
from countwise.data.table import Table
from countwise.data.vectors import chosen_cells
from countwise.errors import OptionError, TableError, check_settings, did_you_mean
from countwise.parzen.bandwidth_search import HELD_OUT, check_width, folds_of, held_out, rule_of, train
from countwise.parzen.density import Parzen, ParzenJointDensity, kernel_of, written
from countwise.parzen.product_kernel import ProductKernelDensity
from countwise.parzen.working import by_columns, carriers, columns_section
from countwise.working import Account, Grid, Section, Working
from countwise.working.numbers import number, probability
from countwise.working.text import columns as classes_shown

__all__ = ["ParzenClassifier", "ParzenDensity"]


def _checked_kinds(frame: Frame, types: Any, bandwidth: Any, kernel: Any) -> Schema:
    """What each column is, after a look at the options that name columns."""
    check_width(bandwidth, frame.columns)
    for name in kernel if isinstance(kernel, Mapping) else ():
        if name not in frame.columns:
            raise OptionError(
                f"kernel names {name!r}, which the table does not have.", hint=did_you_mean(name, frame.columns)
            )
        kernel_of(kernel, name)
    if not isinstance(kernel, Mapping):
        kernel_of(kernel, "")
    return numeric_and_nominal(Schema.kinds(frame, types), "a Parzen density")


@dataclass(eq=False, repr=False)
class ParzenClassifier(GenerativeClassifier):
    """A Parzen density of whole rows for each class: mixed columns, missing cells, bandwidths by column and class.

    .. math:: P(c | x) ∝ P(c) 1/n_c Σ_i ∏_j K((x_j - x_ij) / h_cj) / h_cj

    Parameters
    ----------
    bandwidth : float, str or mapping of column to either, default="silverman"
        Of each class and column: "silverman", "scott", "sheather_jones" (improved), "leave_one_out"
        (where left-out rows of the class are likeliest), or a number. See `ParzenDensity`.
    kernel, types, unseen
        As of a `ParzenDensity`.
    prior : {"raw", "uniform"}, mapping or array-like, default="raw"
        P(class): as counted, alike, or given.

    Attributes
    ----------
    classes_ : ndarray
        The classes in order.
    bandwidths_ : dict of dict
        The bandwidth of each column in each class.
    left_out_ : dict
        The columns not in use, and why.
    tallies_ : dict
        All that was learned: the rows.

    Examples
    --------
    >>> from countwise import ParzenClassifier, samples
    >>> rain = samples.load("rain")
    >>> model = ParzenClassifier(bandwidth={"temp": 2.0}).fit(rain.X, rain.y)
    >>> model.predict([{"wind": "north", "temp": 22.8}]).tolist()
    ['no']
    """

    bandwidth: Any = "silverman"
    _: KW_ONLY
    kernel: Any = "gaussian"
    prior: Any = "raw"
    types: Any = None
    unseen: str = "ignore"

    def _infer_schema(self, frame: Frame) -> Schema:
        check_settings(self, unseen=("ignore", "error"))
        rules = self.bandwidth.values() if isinstance(self.bandwidth, Mapping) else [self.bandwidth]
        if any(isinstance(rule, str) and rule == "k_fold" for rule in rules):
            raise OptionError("bandwidth='k_fold' is for a ParzenDensity.", hint="give 'leave_one_out'.")
        return _checked_kinds(frame, self.types, self.bandwidth, self.kernel)

    def _terms(self, schema: Schema, target: str) -> list[Term]:
        row = whole_row(CellMatrix, schema.attributes, {*schema, target})
        return [Term(row, Parzen(self.bandwidth, self.kernel))]

    @property
    def bandwidths_(self) -> dict[str, dict[Any, float]]:
        """The bandwidth of each column, in each class; of nominal columns it is λ, the share of other values."""
        classes, density = self.classes_.tolist(), self._density
        table = np.array([own.bandwidths for own in density.by_class])  # (classes, columns)
        return {name: dict(zip(classes, table[:, j].tolist(), strict=True)) for j, name in enumerate(density.names)}

    @property
    def left_out_(self) -> dict[str, str]:
        """The columns that are not in use, and why."""
        return dict(self._density.left_out)

    def _zeros(self) -> tuple[str, str]:
        return "no bump reaches the row", "a wider kernel, or a Gaussian one, does"

    def _sections(self, table: Table, working: Working) -> list[Section]:
        density = self._density
        x, by_class = density.row(table[self.terms_[0].key]), density.by_class
        if np.isnan(x).all():
            return []
        titles = {c: f"{working.target} = {working.classes[c]}: rows that carry it" for c in classes_shown(working)}
        found = [carriers(by_class[c], x, density.places[c], title) for c, title in titles.items()]
        if len(working.classes) > 1 and len(density.names) > 1:
            found.append(by_columns(by_class, x, working.classes, working.chosen, working.rival))
        return found


@dataclass(eq=False, repr=False)
class ParzenDensity(TallyModel):
    """A Parzen (kernel) density of tables as they are: mixed columns, missing cells, weights.

    .. math:: f(x) = 1/n Σ_i ∏_j K((x_j - x_ij) / h_j) / h_j

    Numeric columns have Gaussian, Epanechnikov or uniform kernels; nominal ones that of Aitchison and Aitken
    (1 - λ for the same value, λ / (k - 1) for any other); ordinal ones a geometric one (λ^|steps|, made
    to add up to 1). One numeric column is summed by the fast Gauss transform, exact to 1e-12 of
    the peak and in logarithms to 1e-9 however far out; several by a tree of boxes, each sum to 1e-12 of itself.

    Parameters
    ----------
    bandwidth : float, str or mapping of column to either, default="silverman"
        "silverman" (0.9 min(σ, IQR / 1.349) n^(-1/(d+4))), "scott" (σ n^(-1/(d+4))), "sheather_jones"
        (improved), "leave_one_out" or "k_fold" (where held-out rows are likeliest), or a number. A number
        is for numeric columns; of nominal and ordinal ones the bandwidth is the share λ, by default such
        that one column alone gets Laplace's shares. Epanechnikov and uniform kernels have the bandwidths
        at which they smooth as the Gaussian does.
    kernel : {"gaussian", "epanechnikov", "uniform"} or mapping of column to one, default="gaussian"
        Of numeric columns.
    cv : int or splitter, default=10
        For "k_fold": into how many folds the rows are dealt, at random and always alike, equal rows into
        one; or a splitter, or its splits.
    types : mapping of column to kind, str or Schema, optional
        What the columns are, where dtypes do not say.
    unseen : {"ignore", "error"}, default="ignore"
        A value never met in training is left out, or is an error.

    Attributes
    ----------
    bandwidths_ : dict
        The bandwidth of each column.
    bandwidth_curve_ : Grid
        For "leave_one_out" and "k_fold": train and held-out log-likelihood against the bandwidth, or
        against a factor on the bandwidths if there are several. `countwise.plots.plot_bandwidth` draws it.
    best_bandwidth_ : float
        Where the held-out curve is highest.
    tallies_ : dict
        All that was learned: the rows.

    Examples
    --------
    >>> from countwise import ParzenDensity, samples
    >>> temp = {"temp": samples.load("rain").X["temp"]}
    >>> density = ParzenDensity("leave_one_out").fit(temp)
    >>> round(density.best_bandwidth_, 6), density.score_samples({"temp": [22.8]}).round(6).tolist()
    (5.077724, [-2.856261])
    """

    bandwidth: Any = "silverman"
    _: KW_ONLY
    kernel: Any = "gaussian"
    cv: Any = 10
    types: Any = None
    unseen: str = "ignore"

    # -- learning --------------------------------------------------------------------

    def _needs_target(self) -> bool:
        return False

    def _coerce_input(self, X: Any) -> Any:
        self._library = library_of(X)
        return dense(X)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Learn from a table; there is no target.

        Parameters
        ----------
        X : any table, path, or iterator of frames
            The rows: pandas, Polars, PyArrow, NumPy, a mapping of columns, a list of dicts.
        y : ignored
        sample_weight : array-like or str, optional
            A weight for each row, or the name of their column; a weight of n equals n copies.

        Returns
        -------
        self
        """
        if isinstance(y, str):
            raise TableError("A density has no target; y is not looked at.", hint=f"leave {y!r} out of X.")
        return super().fit(X, None, sample_weight)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:  # type: ignore[override]
        """Learn from more rows; in any split the same as `fit` on all of them.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.

        Returns
        -------
        self
        """
        return super().partial_fit(X, None, None, sample_weight)

    def forget(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Take rows back, as if they had never been there.

        Parameters
        ----------
        X, y, sample_weight
            Rows that were given to `fit` or `partial_fit`.

        Returns
        -------
        self
        """
        return super().forget(X, None, sample_weight)

    def _infer_schema(self, frame: Frame) -> Schema:
        check_settings(self, unseen=("ignore", "error"))
        return _checked_kinds(frame, self.types, self.bandwidth, self.kernel)

    def _terms(self, schema: Schema, target: str) -> list[Term]:
        rule = Parzen(self.bandwidth, self.kernel, self.cv, alone=True)
        return [Term(whole_row(CellMatrix, schema.attributes, {*schema, target}), rule)]

    def _estimate(self) -> None:
        for name in ("bandwidth_curve_", "best_bandwidth_"):
            vars(self).pop(name, None)
        self.terms_ = self._terms(self.schema_, self.target_.name)
        part = self.terms_[0]
        self.density_: ParzenJointDensity = part.distribution.estimate(self.tallies_[part.key])
        self.bandwidths_ = dict(zip(self.density_.names, self._kernels.bandwidths.tolist(), strict=True))
        rules = {rule_of(self.bandwidth, a) for a in self.density_.attributes}
        if rules & set(HELD_OUT):
            self.bandwidth_curve_ = self._curve(self._tried(None), self.density_.folds if "k_fold" in rules else None)
            self.best_bandwidth_ = next(iter(self.bandwidths_.values())) if self._one_bandwidth else 1.0

    @property
    def left_out_(self) -> dict[str, str]:
        """The columns that are not in use, and why."""
        self._check_fitted()
        return dict(self.density_.left_out)

    @property
    def _kernels(self) -> ProductKernelDensity:
        return self.density_.by_class[0]

    @property
    def _one_bandwidth(self) -> bool:
        return len(self.density_.names) == 1 and isinstance(self.density_.attributes[0], Numeric)

    # -- predictions -------------------------------------------------------------------

    def _cells(self, frame: Frame) -> Floats:
        """The rows of a frame as cells of the columns in use."""
        table = encode_finite(self.schema_, frame, strict=self.unseen == "error")
        return chosen_cells(derive(table, self.terms_)[self.terms_[0].key], self.density_.columns)

    def score_samples(self, X: Any) -> Floats:
        """Log f of each row; a missing cell is integrated out, so that a row without any has log 1 = 0."""
        cells = self._cells(self._open(X))
        return self._kernels.log_density(cells)

    def score(self, X: Any, y: Any = None) -> float:
        """The log-likelihood of all rows together.

        Parameters
        ----------
        X : any table
            The rows.
        y : ignored

        Returns
        -------
        float
        """
        return float(self.score_samples(X).sum())

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Any:
        """Rows drawn from the density.

        Parameters
        ----------
        n_samples : int, default=1
            How many rows to draw.
        random_state : int, Generator or None
            A seed, or the generator to draw with.

        Returns
        -------
        table of the kind that `fit` was given
        """
        self._check_fitted()
        if isinstance(n_samples, bool) or not isinstance(n_samples, int | np.integer) or n_samples < 1:
            raise OptionError(f"n_samples must be a whole number of at least 1, not {n_samples!r}.")
        drawn = self._kernels.draw(int(n_samples), np.random.default_rng(random_state))
        cells, absent = dict(zip(self.density_.names, drawn.T, strict=True)), np.full(int(n_samples), np.nan)
        columns = {a.name: _as_given(a, cells.get(a.name, absent)) for a in self.schema_.attributes}
        return rebuilt(None, Frame(columns, int(n_samples), named=True), columns, getattr(self, "_library", "array"))

    # -- bandwidths -------------------------------------------------------------------------

    def bandwidth_curve(self, bandwidths: Any = None, *, cv: Any = None) -> Grid:
        """Train and held-out log-likelihood against the bandwidth: the two curves of lecture 003.

        Parameters
        ----------
        bandwidths : array-like, optional
            Which bandwidths, for one numeric column; else factors on the bandwidths in use. By default 41,
            from a tenth of the bandwidth in use to ten times it.
        cv : int, splitter or None
            Folds; None leaves each row out in turn.

        Returns
        -------
        Grid
            "bandwidth", "train", "held_out".

        Examples
        --------
        >>> from countwise import ParzenDensity, samples
        >>> density = ParzenDensity().fit({"temp": samples.load("rain").X["temp"]})
        >>> print(density.bandwidth_curve([0.5, 1, 2, 5, 10]))
        bandwidth      train   held_out
              0.5   -9.69804  -181.146
              1    -12.1345    -54.8041
              2    -14.6701    -25.035
              5    -17.9886    -19.3842
             10    -20.4364    -20.7127
        """
        self._check_fitted()
        return self._curve(self._tried(bandwidths), None if cv is None else folds_of(self._kernels, cv))

    def _tried(self, bandwidths: Any) -> Floats:
        """The bandwidths, or factors, of a curve."""
        if bandwidths is None:
            factors = np.geomspace(0.1, 10, 41)
            return factors * self._kernels.bandwidths[0] if self._one_bandwidth else factors
        tried = np.atleast_1d(np.asarray(bandwidths, dtype=np.float64))
        if tried.ndim != 1 or not len(tried) or not (np.isfinite(tried) & (tried > 0)).all():
            raise OptionError(f"bandwidths must be numbers above 0, not {bandwidths!r}.")
        return tried

    def _curve(self, tried: Floats, folds: Any) -> Grid:
        now = self._kernels.bandwidths
        numeric = np.array([isinstance(a, Numeric) for a in self.density_.attributes])
        curve: dict[str, list[float]] = {"bandwidth": tried.tolist(), "train": [], "held_out": []}
        for h in tried.tolist():
            own = np.array([h]) if self._one_bandwidth else np.where(numeric, now * h, now)
            other = self._kernels.with_widths(own)
            curve["train"].append(train(other))
            curve["held_out"].append(held_out(other, folds))
        return Grid(curve)

    # -- why ---------------------------------------------------------------------------

    def summary(self) -> str:
        """What was learned, in a few lines: rows and bandwidths.

        Examples
        --------
        >>> from countwise import ParzenDensity, samples
        >>> print(ParzenDensity().fit(samples.load("rain").X).summary())
        6 rows, 2 attributes: a density
          column  bandwidth
          wind      0.125
          temp      1.86492
        """
        lines = str(self.tables()["bandwidths"]).split("\n")[:13]
        head = f"{self.n_rows_} rows, {len(self.schema_)} attributes: a density"
        return "\n".join([head, *(f"  {line}" for line in lines)])

    def tables(self) -> dict[str, Grid]:
        """What was learned, as tables: the bandwidths, and the curve that they were chosen by."""
        self._check_fitted()
        found = {"bandwidths": Grid({"column": list(self.bandwidths_), "bandwidth": list(self.bandwidths_.values())})}
        return found | ({"curve": self.bandwidth_curve_} if hasattr(self, "bandwidth_curve_") else {})

    def explain(self, X: Any, *, row: int = 0) -> Account:
        """Which training rows carried the density at one row, and what each column added."""
        x = self._cells(one_row(self._open(X), row))[0]
        shown = ", ".join(f"{a.name} = {written(a, v)}" for a, v in zip(self.density_.attributes, x, strict=True))
        notes = [f"{name} is left out ({why})." for name, why in self.density_.left_out.items()]
        if np.isnan(x).all():
            return Account(f"f({shown}) = 1: no cell is there, so nothing is asked.", 0.0, (), tuple(notes))
        log = float(self._kernels.log_density(x[None, :])[0])
        sections = [carriers(self._kernels, x, self.density_.places[0], "Rows that carry it")]
        if len(x) > 1:
            sections.append(columns_section(self._kernels, x))
        return Account(f"f({shown}) = {probability(log)}, log f = {number(log)}", log, tuple(sections), tuple(notes))


def _as_given(a: Attribute, column: Floats) -> Any:
    if isinstance(a, Nominal):
        if all(isinstance(v, bool) for v in a.values) and not np.isnan(column).any():
            return np.array(a.values, dtype=bool)[column.astype(np.int64)]
        codes = np.where(np.isnan(column), -1, column).astype(np.int64)
        return Coded(codes, tuple(a.values), declared=bool(a.fixed) or not a.grows, ordered=isinstance(a, Ordinal))
    return column

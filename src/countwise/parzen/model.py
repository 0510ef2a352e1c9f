"""Parzen density of rows, and the classifier with one such density for each class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np

from countwise._typing import Floats
from countwise.base.generative import GenerativeClassifier
from countwise.base.portraits import distinct, typical
from countwise.base.protocol import write_tables
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
from countwise.errors import (
    SEED,
    NumberIn,
    OptionError,
    TableError,
    check_flag,
    check_settings,
    check_value,
    did_you_mean,
    listed,
    printable,
)
from countwise.parzen.bandwidth_search import HELD_OUT, LEAST, check_bandwidth, folds_of, held_out, rule_of, train
from countwise.parzen.density import Parzen, ParzenJointDensity, kernel_of, written
from countwise.parzen.product_kernel import ProductKernelDensity
from countwise.parzen.working import by_columns, columns_section, rows_section
from countwise.working import Account, Grid, Section, Working
from countwise.working.numbers import number, probability
from countwise.working.text import columns as classes_shown

__all__ = ["ParzenClassifier", "ParzenDensity"]


def _checked_schema(frame: Frame, types: Any, bandwidth: Any, kernel: Any) -> Schema:
    """Return the types of the columns, after checking the options that refer to columns."""
    check_bandwidth(bandwidth, frame.columns)
    for name in kernel if isinstance(kernel, Mapping) else ():
        if name not in frame.columns:
            raise OptionError(
                f"kernel refers to column {name!r}, but the table has no such column.",
                hint=did_you_mean(name, frame.columns) or f"use one of {listed(frame.columns)}.",
            )
        kernel_of(kernel, name)
    if not isinstance(kernel, Mapping):
        kernel_of(kernel, "")
    return numeric_and_nominal(Schema.kinds(frame, types), "a Parzen density")


_MOST_ROWS = 100_000_000  # of a drawn sample


@dataclass(eq=False, repr=False)
class ParzenClassifier(GenerativeClassifier):
    """Parzen classifier: a kernel density of whole rows for each class, for mixed columns with missing values.

    .. math:: P(c | x) ∝ P(c) 1/n_c Σ_i ∏_j K((x_j - x_ij) / h_cj) / h_cj

    The sum is over the n_c training rows of class c, the product over the columns. Each class and column has its own
    bandwidth h_cj.

    Parameters
    ----------
    bandwidth : float, str or mapping of column to either, default='silverman'
        Bandwidth of each class and column. 'silverman', 'scott' and 'sheather_jones' are rules. 'leave_one_out'
        maximizes the leave-one-out likelihood of the rows of the class. A number is the bandwidth of all numeric
        columns. See `ParzenDensity`.
    kernel : {'gaussian', 'epanechnikov', 'uniform'} or mapping of column to one, default='gaussian'
        Kernel of numeric columns; see `ParzenDensity`.
    prior : {'raw', 'uniform'}, mapping or array-like, default='raw'
        P(class). 'raw': the class frequencies. 'uniform': equal for all classes. A mapping or array gives the
        probabilities. A class without rows has probability 0 in any case.
    types : mapping of column to type, str or Schema, optional
        Types of the columns, where the dtypes do not determine them.
    unseen : {'ignore', 'error'}, default='ignore'
        Treatment of a value never seen in training. 'ignore': it is treated as missing. 'error': it raises an error.

    Attributes
    ----------
    classes_ : ndarray
        The classes, sorted.
    bandwidths_ : dict of dict
        The bandwidth of each column in each class.
    left_out_ : dict of str to str
        Excluded columns, and the reason for each.
    tallies_ : dict
        The stored training rows.

    See Also
    --------
    ParzenDensity : A single density, without classes.

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
            raise OptionError(
                "bandwidth='k_fold' is available only in ParzenDensity, not in ParzenClassifier.",
                hint="use 'leave_one_out'.",
            )
        return _checked_schema(frame, self.types, self.bandwidth, self.kernel)

    def _portrait(self, c: int) -> list[tuple[str, Any, str]]:
        own = self._density.by_class[c]
        return [(a.name, *typical(a, own.cells[:, j], own.weights)) for j, a in enumerate(own.attributes)]

    def _numbers_to_try(self, name: str) -> Any:
        by_class = self._density.by_class
        j = next((j for j, a in enumerate(by_class[0].attributes) if a.name == name), None)
        return None if j is None else distinct(np.concatenate([own.cells[:, j] for own in by_class]))

    def _drawn_rows(self, c: int, n: int, rng: np.random.Generator) -> dict[str, Any]:
        own = self._density.by_class[c]
        drawn = dict(zip(own.attributes, own.draw(n, rng).T, strict=True))
        cells = {a.name: a.decode(x.astype(np.int64)) if isinstance(a, Nominal) else x for a, x in drawn.items()}
        return {name: cells.get(name, np.full(n, np.nan)) for name in self.schema_}

    def _terms(self, schema: Schema, target: str) -> list[Term]:
        row = whole_row(CellMatrix, schema.attributes, {*schema, target})
        return [Term(row, Parzen(self.bandwidth, self.kernel))]

    @property
    def bandwidths_(self) -> dict[str, dict[Any, float]]:
        """The bandwidth of each column in each class; for nominal columns λ, the probability of other values."""
        classes, density = self.classes_.tolist(), self._density
        table = np.array([own.bandwidths for own in density.by_class])  # (classes, columns)
        return {name: dict(zip(classes, table[:, j].tolist(), strict=True)) for j, name in enumerate(density.names)}

    @property
    def left_out_(self) -> dict[str, str]:
        """The excluded columns, and the reason for each."""
        return dict(self._density.left_out)

    def _zeros(self) -> tuple[str, str]:
        return "no kernel reaches the row", "use a larger bandwidth or kernel='gaussian'"

    def explain(self, X: Any, *, row: int = 0, rows: Any = None, all_terms: bool = False) -> Working:
        """Explain the prediction for one row step by step.

        The working lists the prior, the density of the row in each class with its sum of kernels, the product and the
        posterior.

        Parameters
        ----------
        X : table
            Rows. Columns are matched by name, or by position if X is an array.
        row : int, default=0
            Index of the row to explain. A negative index counts from the end.
        rows : table or tuple (X, y) or None, default=None
            The training table. With it, the working lists the numbers of the training rows behind each count.
        all_terms : bool, default=False
            Whether the sums list every training row, instead of those with the largest kernels.

        Returns
        -------
        Working
            The working. ``print`` shows it as text.

        Examples
        --------
        >>> from countwise import ParzenClassifier, samples
        >>> rain = samples.load("rain")
        >>> model = ParzenClassifier(1.0).fit({"temp": rain.X["temp"]}, rain.y)
        >>> print(model.explain({"temp": [22.8]}).sections[0])
        class = no: kernel sum
          training row  temp  x - xᵢ     u         K(u)
          0             32.1    -9.3  -9.3  6.60458e-20
          2             19.5     3.3   3.3  0.00172257
          3             23.5    -0.7  -0.7  0.312254
          sum                               0.313977
          effective number of rows 1.01 of 3
          K(u) = exp(-u²/2)/√(2π), u = (x - xᵢ)/h, h = 1
          f = sum/(n·h) = 0.313977/(3·1) = 0.104659
        """
        check_flag("all_terms", all_terms)
        table, one = self._one(X, row)
        working = self._worked(table, one)
        if all_terms:
            working = replace(working, sections=tuple(self._sections(table, working, all_terms=True)))
        return self._with_rows(working, table, self._training_rows(rows))

    def _sections(self, table: Table, working: Working, *, all_terms: bool = False) -> list[Section]:
        density = self._density
        x, by_class = density.row(table[self.terms_[0].key]), density.by_class
        if np.isnan(x).all():
            return []
        name = working.target
        found = [
            rows_section(
                by_class[c], x, density.places[c], f"{name} = {working.classes[c]}: kernel sum", all_terms=all_terms
            )
            for c in classes_shown(working)
        ]
        if len(working.classes) > 1 and len(density.names) > 1:
            found.append(by_columns(by_class, x, working.classes, working.chosen, working.rival))
        return found


@dataclass(eq=False, repr=False)
class ParzenDensity(TallyModel):
    """Parzen (kernel) density of mixed columns with missing values and weights.

    .. math:: f(x) = 1/n Σ_i ∏_j K((x_j - x_ij) / h_j) / h_j

    The sum is over the n training rows, the product over the columns. A numeric column has a Gaussian, Epanechnikov
    or uniform kernel. A nominal column has the kernel of Aitchison and Aitken: 1 - λ for the same value, and
    λ / (k - 1) for each of the other k - 1 values. An ordinal column has a geometric kernel: λ^|steps|, normalized
    to sum to 1.

    Parameters
    ----------
    bandwidth : float, str or mapping of column to either, default='silverman'
        'silverman': Silverman's rule, 0.9 min(σ, IQR / 1.349) n^(-1/(d+4)). 'scott': Scott's rule, σ n^(-1/(d+4)).
        d is the number of numeric columns. 'sheather_jones': the improved Sheather-Jones plug-in. 'leave_one_out' and
        'k_fold': the bandwidths that maximize the likelihood of held-out rows. A number is the bandwidth of all
        numeric columns. For a nominal or ordinal column the bandwidth is λ, by default (k - 1) / (n + k). A single
        nominal column then has the Laplace estimates (count + 1) / (n + k). The rules convert the bandwidths of
        Epanechnikov and uniform kernels, so that they smooth as much as a Gaussian kernel.
    kernel : {'gaussian', 'epanechnikov', 'uniform'} or mapping of column to one, default='gaussian'
        Kernel of numeric columns.
    cv : int or splitter, default=10
        For 'k_fold': the number of folds, or a splitter, or its splits. The rows are shuffled with a fixed seed, and
        identical rows are assigned to one fold.
    types : mapping of column to type, str or Schema, optional
        Types of the columns, where the dtypes do not determine them.
    unseen : {'ignore', 'error'}, default='ignore'
        Treatment of a value never seen in training. 'ignore': it is treated as missing. 'error': it raises an error.

    Attributes
    ----------
    bandwidths_ : dict
        The bandwidth of each column.
    bandwidth_curve_ : Grid
        Training and held-out log-likelihood for a range of bandwidths, or of factors on all bandwidths if there are
        several columns. Only set for 'leave_one_out' and 'k_fold'. `countwise.plots.plot_bandwidth` draws it.
    best_bandwidth_ : float
        The bandwidth with the highest held-out log-likelihood, or the factor 1 if there are several columns. Only set
        for 'leave_one_out' and 'k_fold'.
    left_out_ : dict of str to str
        Excluded columns, and the reason for each.
    tallies_ : dict
        The stored training rows.

    See Also
    --------
    ParzenClassifier : One density for each class.

    Notes
    -----
    The density of a single numeric column is computed by the fast Gauss transform, to within 1e-12 of the peak, and
    its logarithm to within 1e-9. The density of several columns is computed with a tree of boxes, each sum to a
    relative error of 1e-12. A missing value of a query is integrated out. A missing value of a training row has the
    marginal density of its column as its kernel.

    References
    ----------
    Silverman, B. W. (1986). Density Estimation for Statistics and Data Analysis. Chapman and Hall.

    Aitchison, J. and Aitken, C. G. G. (1976). Multivariate binary discrimination by the kernel method. Biometrika 63,
    413-420.

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

    write_tables = write_tables

    # -- fitting ---------------------------------------------------------------------

    def _needs_target(self) -> bool:
        return False

    def _coerce_input(self, X: Any) -> Any:
        self._library = library_of(X)
        return dense(X)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit the density to the rows of a table.

        Parameters
        ----------
        X : table, path or iterator of frames
            The training rows: a pandas or Polars data frame, a PyArrow table, a NumPy array, a mapping of columns, a
            list of dicts, the path of a file, or an iterator of frames.
        y : None
            Ignored; a density has no target.
        sample_weight : array-like or str, optional
            The weight of each row, or the name of the column of weights. A row of weight n counts as n copies.

        Returns
        -------
        ParzenDensity
            The fitted density.

        Examples
        --------
        >>> from countwise import ParzenDensity
        >>> ParzenDensity("scott").fit({"x": [1.0, 2.0, 4.0]}, sample_weight=[1, 2, 1]).n_rows_
        3
        """
        if isinstance(y, str):
            raise TableError(
                f"A density has no target, but y={y!r} was given.", hint=f"drop column {y!r} from X, and omit y."
            )
        return super().fit(X, None, sample_weight)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:  # type: ignore[override]
        """Fit the density to further rows; the result equals `fit` on all rows together.

        Parameters
        ----------
        X : table, path or iterator of frames
            Further training rows, as for `fit`.
        y : None
            Ignored.
        sample_weight : array-like or str, optional
            The weight of each row, as for `fit`.

        Returns
        -------
        ParzenDensity
            The density of all rows.

        Examples
        --------
        >>> from countwise import ParzenDensity
        >>> density = ParzenDensity().fit({"x": [1.0, 2.0]}).partial_fit({"x": [4.0]})
        >>> density.n_rows_
        3
        """
        return super().partial_fit(X, None, None, sample_weight)

    def forget(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Remove rows from the density, as if they had never been in the training data.

        Parameters
        ----------
        X : table, path or iterator of frames
            Rows that were passed to `fit` or `partial_fit`.
        y : None
            Ignored.
        sample_weight : array-like or str, optional
            The weight of each row, as for `fit`.

        Returns
        -------
        ParzenDensity
            The density of the remaining rows.

        Examples
        --------
        >>> from countwise import ParzenDensity
        >>> density = ParzenDensity().fit({"x": [1.0, 2.0, 4.0]}).forget({"x": [4.0]})
        >>> density.n_rows_
        2
        """
        return super().forget(X, None, sample_weight)

    def _infer_schema(self, frame: Frame) -> Schema:
        check_settings(self, unseen=("ignore", "error"))
        return _checked_schema(frame, self.types, self.bandwidth, self.kernel)

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
        """The excluded columns, and the reason for each."""
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
        """Return the rows of a frame as a matrix of the used columns."""
        table = encode_finite(self.schema_, frame, strict=self.unseen == "error")
        return chosen_cells(derive(table, self.terms_)[self.terms_[0].key], self.density_.columns)

    def score_samples(self, X: Any) -> Floats:
        """Return log f(x) of each row; missing values are integrated out.

        A row without any known value has log f = 0.

        Parameters
        ----------
        X : table
            Rows. Columns are matched by name, or by position if X is an array.

        Returns
        -------
        ndarray of shape (n_rows,)
            Log density of each row.

        Examples
        --------
        >>> from countwise import ParzenDensity
        >>> density = ParzenDensity(1.0).fit({"x": [0.0, 2.0]})
        >>> density.score_samples({"x": [1.0, None]}).round(3).tolist()
        [-1.419, 0.0]
        """
        cells = self._cells(self._open(X))
        return self._kernels.log_density(cells)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the total log-likelihood of the rows.

        Parameters
        ----------
        X : table
            Rows. Columns are matched by name, or by position if X is an array.
        y : None
            Ignored.

        Returns
        -------
        float
            Sum of `score_samples`.

        Examples
        --------
        >>> from countwise import ParzenDensity
        >>> round(ParzenDensity(1.0).fit({"x": [0.0, 2.0]}).score({"x": [1.0, 1.0]}), 3)
        -2.838
        """
        return float(self.score_samples(X).sum())

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Any:
        """Draw random rows from the density.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        random_state : int, Generator or None, default=None
            Seed or random generator. None draws different rows in each call.

        Returns
        -------
        table
            The rows: a pandas, Polars or PyArrow table or a NumPy array if `fit` got one, else a dict of columns.

        Examples
        --------
        >>> from countwise import ParzenDensity
        >>> density = ParzenDensity(1.0).fit({"x": [0.0, 2.0]})
        >>> len(density.sample(3, random_state=0)["x"])
        3
        """
        self._check_fitted()
        if n_samples not in NumberIn(1, _MOST_ROWS, whole=True):
            raise OptionError(f"n_samples must be an integer, at least 1, not {n_samples!r}.")
        check_value("random_state", random_state, SEED)
        drawn = self._kernels.draw(int(n_samples), np.random.default_rng(random_state))
        cells, absent = dict(zip(self.density_.names, drawn.T, strict=True)), np.full(int(n_samples), np.nan)
        columns = {a.name: _as_given(a, cells.get(a.name, absent)) for a in self.schema_.attributes}
        return rebuilt(None, Frame(columns, int(n_samples), named=True), columns, getattr(self, "_library", "array"))

    # -- bandwidths -------------------------------------------------------------------------

    def bandwidth_curve(self, bandwidths: Any = None, *, cv: Any = None) -> Grid:
        """Return the training and held-out log-likelihood for a range of bandwidths.

        The training likelihood of numeric columns grows without limit as the bandwidth approaches 0. The held-out
        likelihood has a maximum at the bandwidth that generalizes best.

        Parameters
        ----------
        bandwidths : array-like, optional
            Bandwidths of the single numeric column; with several columns, factors on the bandwidths in use. If
            omitted, 41 values from a tenth to ten times the bandwidths in use.
        cv : int, splitter, iterable of splits or None, default=None
            Folds to hold out. In each fold, 'train' is the log-likelihood of its training rows under their own
            density, and 'held_out' that of its held-out rows under the same density. A row that is in several folds
            counts once, with the mean of its log densities. None leaves out one row at a time; 'train' is then the
            log-likelihood of all rows under the density of all rows.

        Returns
        -------
        Grid
            Columns 'bandwidth', 'train' and 'held_out'.

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
        """Return the bandwidths, or factors, of a curve."""
        if bandwidths is None:
            factors = np.geomspace(0.1, 10, 41)
            return factors * self._kernels.bandwidths[0] if self._one_bandwidth else factors
        try:
            tried = np.atleast_1d(np.asarray(bandwidths, dtype=np.float64))
        except (TypeError, ValueError):
            tried = np.empty(0)
        if tried.ndim != 1 or not len(tried) or not (np.isfinite(tried) & (tried >= LEAST)).all():
            raise OptionError(
                f"bandwidths must be a list of finite numbers above 0 (at least {LEAST:g}), not {bandwidths!r}."
            )
        return tried

    def _curve(self, tried: Floats, folds: Any) -> Grid:
        now = self._kernels.bandwidths
        numeric = np.array([isinstance(a, Numeric) for a in self.density_.attributes])
        curve: dict[str, list[float]] = {"bandwidth": tried.tolist(), "train": [], "held_out": []}
        for h in tried.tolist():
            own = np.array([h]) if self._one_bandwidth else np.where(numeric, now * h, now)
            other = self._kernels.with_bandwidths(own)
            curve["train"].append(train(other, folds))
            curve["held_out"].append(held_out(other, folds))
        return Grid(curve)

    # -- explanations ------------------------------------------------------------------

    def summary(self) -> str:
        """Return a short text about the fitted density: the number of rows and the bandwidths.

        Returns
        -------
        str
            The summary.

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
        head = f"{self._training_size}: a density"
        return printable("\n".join([head, *(f"  {line}" for line in lines)]))

    def tables(self) -> dict[str, Grid]:
        """Return the bandwidths, and the curve of likelihoods that they were chosen from, as tables.

        Returns
        -------
        dict of str to Grid
            'bandwidths': the bandwidth of each column. 'curve': `bandwidth_curve_`, only for 'leave_one_out' and
            'k_fold'.

        Examples
        --------
        >>> from countwise import ParzenDensity
        >>> print(ParzenDensity(1.5).fit({"x": [1.0, 2.0]}).tables()["bandwidths"])
        column  bandwidth
        x             1.5
        """
        self._check_fitted()
        found = {"bandwidths": Grid({"column": list(self.bandwidths_), "bandwidth": list(self.bandwidths_.values())})}
        return found | ({"curve": self.bandwidth_curve_} if hasattr(self, "bandwidth_curve_") else {})

    def explain(self, X: Any, *, row: int = 0, all_terms: bool = False) -> Account:
        """Explain the density at one row: the sum of the kernels of the training rows, and the columns.

        Parameters
        ----------
        X : table
            Rows. Columns are matched by name, or by position if X is an array.
        row : int, default=0
            Index of the row to explain. A negative index counts from the end.
        all_terms : bool, default=False
            Whether the sum lists every training row, instead of those with the largest kernels.

        Returns
        -------
        Account
            The working. ``print`` shows it as text.

        Examples
        --------
        >>> from countwise import ParzenDensity
        >>> density = ParzenDensity(1.0).fit({"x": [0.0, 2.0]})
        >>> print(density.explain({"x": [1.5]}))
        f(x = 1.5) = 0.240791, log f = -1.42382
        <BLANKLINE>
        Kernel sum
          training row  x  x - xᵢ     u      K(u)
          0             0     1.5   1.5  0.129518
          1             2    -0.5  -0.5  0.352065
          sum                            0.481583
          effective number of rows 1.65 of 2
          K(u) = exp(-u²/2)/√(2π), u = (x - xᵢ)/h, h = 1
          f = sum/(n·h) = 0.481583/(2·1) = 0.240791
        """
        check_flag("all_terms", all_terms)
        x = self._cells(one_row(self._open(X), row))[0]
        shown = ", ".join(f"{a.name} = {written(a, v)}" for a, v in zip(self.density_.attributes, x, strict=True))
        notes = [f"Not used: {name} ({why})." for name, why in self.density_.left_out.items()]
        if np.isnan(x).all():
            return Account(f"f({shown}) = 1: every value is missing and integrated out.", 0.0, (), tuple(notes))
        log = float(self._kernels.log_density(x[None, :])[0])
        sections = [rows_section(self._kernels, x, self.density_.places[0], "Kernel sum", all_terms=all_terms)]
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

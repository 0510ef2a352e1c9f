"""Both readings of missing values in naive Bayes, left out and as evidence, tested against each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from countwise.errors import OptionError, TableError, listed
from countwise.evaluation.cross_validation import cross_validate, scoring_of
from countwise.evaluation.validation import PairedTest, Validation, paired_test
from countwise.feature_selection.contingency_table import ContingencyTable
from countwise.naive_bayes.model import INFORMATIVE, NaiveBayesClassifier
from countwise.working import Account, Grid, Section

__all__ = ["MissingValues", "missing_values"]

_MOST_COLUMNS = 4  # whose tests are written out


@dataclass(frozen=True, eq=False, repr=False)
class MissingValues:
    """Both readings of missing values; the result of `missing_values`.

    Parameters
    ----------
    target : str
        Name of the target.
    tables : mapping of str to ContingencyTable
        For each column with missing values, how many are missing in each class.
    left_out : Validation
        Cross-validation of the model that leaves missing values out.
    evidence : Validation
        Cross-validation of the model with a factor for whether a value is missing.
    tests : mapping of str to PairedTest
        For each score, the corrected resampled t-test of the difference `evidence` minus `left_out`.

    Examples
    --------
    >>> from countwise import NaiveBayesClassifier, samples
    >>> from countwise.evaluation import missing_values
    >>> credit = samples.load("credit")
    >>> found = missing_values(NaiveBayesClassifier(), credit.X, credit.y)
    >>> found.informative
    ['Income', 'Debt']
    """

    target: str
    tables: Mapping[str, ContingencyTable]
    left_out: Validation
    evidence: Validation
    tests: Mapping[str, PairedTest]

    @property
    def informative(self) -> list[str]:
        """Columns whose missing values depend on the class: the p-value of the chi-square test is below 0.01."""
        return [name for name, table in self.tables.items() if table.p_value < INFORMATIVE]

    @property
    def columns(self) -> Grid:
        """A row for each column with missing values: how many are missing in each class, χ² and the p-value."""
        tables = list(self.tables.values())
        found: dict[str, list[Any]] = {
            "column": list(self.tables),
            "missing": [t.row_totals[0].item() for t in tables],
        }
        for c, label in enumerate(tables[0].classes or ()):
            found[f"P(missing | {label})"] = [float(t.counts[0, c] / t.column_totals[c]) for t in tables]
        return Grid({**found, "χ²": [t.chi_square for t in tables], "p": [t.p_value for t in tables]})

    @property
    def scores(self) -> Grid:
        """A row for each score: its cross-validated mean in both readings, the difference and its p-value."""
        tests = self.tests.values()
        return Grid(
            {
                "score": list(self.tests),
                "left out": [self.left_out.mean(name) for name in self.tests],
                "as evidence": [self.evidence.mean(name) for name in self.tests],
                "difference": [test.difference for test in tests],
                "p": [test.p_value for test in tests],
            }
        )

    def explain(self) -> Account:
        """Return both readings with every step of the tests.

        Returns
        -------
        Account
            The result as a sentence; the sections have the chi-square tests, the cross-validated scores and the
            corrected resampled t-tests. `value` is the p-value of the first score.

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, samples
        >>> from countwise.evaluation import missing_values
        >>> credit = samples.load("credit")
        >>> found = missing_values(NaiveBayesClassifier(), credit.X, credit.y).explain()
        >>> print(found.sections[0].text(80))
        Does being missing depend on the class?
          column   missing  P(missing | bad)  P(missing | good)          χ²            p
          Home           6        0.00318979          0.000625     4.40541   0.0358251
          Marital        1        0                   0.0003125    0.391963  0.531269
          Job            2        0.0015949           0            5.10596   0.0238438
          Income       381        0.173046            0.05125    170.854     4.81457e-39
          Assets        47        0.015949            0.0084375    4.86862   0.0273494
          Debt          18        0.0103668           0.0015625   17.3511    3.10725e-5
        """
        sections = [Section("Does being missing depend on the class?", self.columns)]
        for name in sorted(self.tables, key=lambda name: self.tables[name].p_value)[:_MOST_COLUMNS]:
            if self.tables[name].degrees_of_freedom:
                sections += [replace(s, title=f"{name}: {s.title}") for s in self.tables[name].sections[:3]]
        sections.append(Section("Cross-validated scores of both readings", self.scores))
        for name, test in self.tests.items():
            sections += [replace(s, title=f"{name}: {s.title}") for s in test.explain().sections]
        first = next(iter(self.tests.values()))
        return Account(str(self), first.p_value, tuple(sections), tuple(map(str, self.tests.values())))

    def __str__(self) -> str:
        depend = self.informative
        what = (
            f"depend on {self.target} in {listed(depend)} (p < {INFORMATIVE:g})"
            if depend
            else f"do not depend on {self.target}"
        )
        better = [name for name, test in self.tests.items() if test.significant]
        gain = (
            f"the two readings differ significantly in {listed(better)}"
            if better
            else ("the two readings do not differ significantly")
        )
        return f"Missing values {what}; {gain}."

    __repr__ = __str__

    def text(self, width: int | None = None) -> str:
        """Return both readings as plain text.

        Parameters
        ----------
        width : int or None, default=None
            Tables and lines are wrapped to fit into this many characters. If None, nothing is wrapped.

        Returns
        -------
        str
            The text of `explain`.

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, samples
        >>> from countwise.evaluation import missing_values
        >>> credit = samples.load("credit")
        >>> found = missing_values(NaiveBayesClassifier(), credit.X, credit.y)
        >>> found.text().startswith(str(found))
        True
        """
        return self.explain().text(width)

    def latex(self, width: int | None = None) -> str:
        """Return both readings as LaTeX; the document must load amsmath, and graphicx if a width is given.

        Parameters
        ----------
        width : int or None, default=None
            Formulas and tables are broken to fit into this many characters; a beamer frame has about 56. If None,
            nothing is broken.

        Returns
        -------
        str
            The LaTeX of `explain`.

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, samples
        >>> from countwise.evaluation import missing_values
        >>> credit = samples.load("credit")
        >>> r"\\chi" in missing_values(NaiveBayesClassifier(), credit.X, credit.y).latex()
        True
        """
        return self.explain().latex(width)

    def html(self) -> str:
        """Return both readings as HTML that needs no external style sheet.

        Returns
        -------
        str
            The HTML of `explain`.

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, samples
        >>> from countwise.evaluation import missing_values
        >>> credit = samples.load("credit")
        >>> "<table" in missing_values(NaiveBayesClassifier(), credit.X, credit.y).html()
        True
        """
        return self.explain().html()

    def _repr_html_(self) -> str:
        return self.html()


def missing_values(
    model: NaiveBayesClassifier,
    X: Any,
    y: Any = None,
    *,
    cv: Any = 10,
    scoring: Any = ("accuracy", "log_loss"),
    sample_weight: Any = None,
    random_state: int = 0,
) -> MissingValues:
    """Compare both readings of missing values in naive Bayes: left out, and as evidence for a class.

    Left out, the factor of a missing value is skipped. As evidence, every column with missing values has one more
    factor, P(missing | class). A chi-square test says whether being missing depends on the class, and the corrected
    resampled t-test whether the cross-validated scores differ.

    Parameters
    ----------
    model : NaiveBayesClassifier
        The model; its setting `missing` is not used.
    X : any table
        The rows.
    y : array-like or str
        The class of each row, or the name of its column in X.
    cv : int, splitter or iterable of splits, default=10
        The folds; see `cross_validate`.
    scoring : str or list, default=('accuracy', 'log_loss')
        The scores to compare; see `cross_validate`.
    sample_weight : array-like, optional
        Weight of each row.
    random_state : int, default=0
        Seed for assigning rows to folds.

    Returns
    -------
    MissingValues
        Both readings; it prints as text, and ``explain()`` has every step.

    See Also
    --------
    paired_test : The corrected resampled t-test.

    Examples
    --------
    >>> from countwise import NaiveBayesClassifier, samples
    >>> from countwise.evaluation import missing_values
    >>> credit = samples.load("credit")
    >>> found = missing_values(NaiveBayesClassifier(), credit.X, credit.y)
    >>> print(found.scores)
    score     left out  as evidence   difference           p
    accuracy  0.773466     0.78312    0.00965436  0.0416874
    log_loss  0.646297     0.632474  -0.0138229   0.00527633
    """
    if not isinstance(model, NaiveBayesClassifier):
        raise OptionError(
            f"missing_values compares two readings of naive Bayes, not of {type(model).__name__}.",
            hint="pass a NaiveBayesClassifier; compare() compares other learners.",
        )
    settings = model.get_params(deep=False)
    plain = NaiveBayesClassifier(**{**settings, "missing": "ignore"})
    fitted = NaiveBayesClassifier(**{**settings, "missing": "ignore"}).fit(X, y, sample_weight=sample_weight)
    counts, target = fitted._missing_counts(), fitted.target_
    if not counts:
        raise TableError("No value is missing, so there are no two readings to compare.")
    tables = {
        name: ContingencyTable(np.stack([missing, known]), ("missing", "known"), target.values, name, target.name)
        for name, (missing, known) in counts.items()
    }
    full = NaiveBayesClassifier(**{**settings, "missing": dict.fromkeys(counts, "value")})
    left_out, evidence = (
        cross_validate(
            one, X, y, cv=cv, scoring=scoring, sample_weight=sample_weight, random_state=random_state, name=name
        )
        for one, name in ((plain, "missing left out"), (full, "missing as evidence"))
    )
    names = scoring_of(scoring)[0]
    tests = {name: paired_test(evidence, left_out, name) for name in names}
    return MissingValues(target.name, tables, left_out, evidence, tests)

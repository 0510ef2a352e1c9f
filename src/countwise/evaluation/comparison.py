"""The result of a comparison of learners: a table of scores, and a verdict in plain words."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from countwise._cached import lazy
from countwise.base.predictions import COVERAGE, SCORES, Predictions, greater
from countwise.errors import CountwiseError, OptionError, did_you_mean, listed
from countwise.evaluation.learning_curve import LearningCurve
from countwise.evaluation.validation import PairedTest, Validation, mean_of, paired_test
from countwise.working import Grid
from countwise.working.markup import escape

__all__ = ["MAJORITY", "Comparison", "cause", "grouped", "ordered"]

_MARGIN = 0.02  # calibration error, beyond chance, up to which probabilities are called well calibrated
_PERCENTAGES = ("accuracy", "balanced_accuracy")


def _best(found: Comparison) -> str:
    """Return the score of the best learner and the comparison with the majority class."""
    if found.best is None:
        return "No learner could be evaluated."
    score = found.score.replace("_", " ")
    mine, base = (found.validations[name].mean(found.score) for name in (found.best, MAJORITY))
    n_learners, best = len(found.learners), "highest" if greater(found.score) else "lowest"
    first = f"{found.best} has the {best} {score} of {n_learners} learners: {_shown(found, mine)}"
    if n_learners == 1:
        first = f"{found.best} has {'an' if score[0] in 'aeiou' else 'a'} {score} of {_shown(found, mine)}"
    coverage = found.validations[found.best].mean(COVERAGE)
    if coverage < 1:
        first += f" on the {100 * coverage:.1f} % of the rows that it predicts"
    if math.isnan(base):
        return f"{first}."
    against = found.against(MAJORITY)
    gain = mine - base if greater(found.score) else base - mine
    if gain <= 0:
        return f"{first}, but this is not better than the majority class ({_shown(found, base)})."
    if not against.significant:
        return (
            f"{first}. The difference from the majority class ({_shown(found, base)}) is not significant "
            f"({_p(against.p_value)}) and may be due to chance."
        )
    if found.score in _PERCENTAGES:
        more = f"{100 * gain:.1f} points above"
    else:
        more = f"significantly {'above' if greater(found.score) else 'below'}"
    return f"{first}, {more} the majority class ({_shown(found, base)}; {_p(against.p_value)})."


def _shown(found: Comparison, value: float) -> str:
    return f"{100 * value:.1f} %" if found.score in _PERCENTAGES else f"{value:.3f}"


def _p(value: float) -> str:
    if math.isnan(value):
        return "no test is possible"
    return "p < 0.001" if value < 0.001 else f"p = {value:.2g}"


def _equals(found: Comparison) -> str:
    """Name the learners that do not differ significantly from the best."""
    rest = [name for name in found.learners if name != found.best and not found.validations[name].errors]
    near = [name for name in rest if not found.against(name).significant]
    if not rest or not found.against(MAJORITY).significant:
        return ""
    if not near:
        others = "The other learner is" if len(rest) == 1 else "All other learners are"
        return f"{others} significantly worse (paired test, p < 0.05)."
    fastest = min(near, key=lambda name: _seconds(found, name))
    own = _seconds(found, str(found.best))
    who = f"{_list(near)} {'does' if len(near) == 1 else 'do'} not differ"
    if len(near) == len(rest):
        who = "No other learner differs" if len(rest) > 1 else f"The other learner, {near[0]}, does not differ"
    sentence = f"{who} significantly from it (paired test)"
    fraction = _seconds(found, fastest) / own if own > 0.5 else 1.0
    if fraction < 1 / 5:
        part = f"1/{max(2, round(1 / fraction)):,}" if fraction > 0 else "almost none"
        sentence += f"; {fastest} takes {part} of its computing time"
    return f"{sentence}."


def _seconds(found: Comparison, name: str) -> float:
    return sum(fold.fitted.seconds + fold.seconds for fold in found.validations[name].folds)


def _list(names: Sequence[str], most: int = 5) -> str:
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _calibration(found: Comparison) -> str:
    """Describe the calibration: of the predictions with probability 80 %, about 80 % should be correct."""
    predictions = found.validations[str(found.best)].predictions.decided
    if np.isnan(predictions.proba).any():
        return f"{found.best} does not predict probabilities."
    error, chance = predictions.calibration_error, _chance(predictions)
    if error <= chance + _MARGIN:
        few = " as far as this number of rows can show" if chance > _MARGIN else ""
        return f"Its probabilities are well calibrated{few}: mean error {100 * error:.1f} points."
    chosen = predictions.proba[np.arange(len(predictions)), predictions.answered]
    confidence = float(np.average(chosen, weights=predictions.weight))
    direction = "overconfident" if confidence > predictions.accuracy else "underconfident"
    return (
        f"Its probabilities are poorly calibrated: mean error {100 * error:.1f} points. It is {direction}: its mean "
        f"confidence is {100 * confidence:.0f} %, but {100 * predictions.accuracy:.0f} % of its predictions are "
        "correct."
    )


def _chance(predictions: Predictions) -> float:
    """Return the calibration error that perfectly calibrated probabilities would show in as many rows."""
    table = predictions.reliability()
    p, n = np.array(table["probability"]), np.array(table["rows"], dtype=np.float64)
    return float((n * np.sqrt(2 * np.clip(p * (1 - p), 0, None) / (np.pi * n))).sum() / n.sum())


def _growth(found: Comparison) -> str:
    """Use the learning curve to decide whether more rows would help."""
    curve, best = found.curve, str(found.best)
    if curve is None or best not in curve.test:
        return ""
    half, whole = curve.test[best][-2], curve.test[best][-1]
    gains = (whole - half) if greater(found.score) else (half - whole)
    gains = gains[np.isfinite(gains)]
    if len(gains) < 2:
        return ""
    # 1/3 is the ratio of test rows to training rows (Nadeau & Bengio, 2003): the repeats share rows
    error = math.sqrt((1 / len(gains) + 1 / 3) * float(gains.var(ddof=1)))
    sizes = [f"{n:,}" for n in curve.train_sizes[-2:].tolist()]
    ends = [_shown(found, float(np.nanmean(scores))) for scores in (half, whole)]
    score = found.score.replace("_", " ")
    change = f"its {score} went from {ends[0]} with {sizes[0]} training rows to {ends[1]} with {sizes[1]}"
    if float(gains.mean()) > error and ends[0] != ends[1]:
        little = " a little" * (found.score in _PERCENTAGES and float(gains.mean()) < 0.01)
        return f"More rows would help{little}: {change}."
    return f"More rows would hardly help: {change}."


def _independence(found: Comparison) -> str:
    """Name the attributes that violate the independence assumption of naive Bayes."""
    if found.pairs is None:
        return ""
    rows = [row for row in found.pairs.rows() if row[4]]
    if not rows:
        return "No pair of attributes is significantly dependent given the class."
    pairs = [f"{a} and {b} ({bits:.2f} bits)" for a, b, bits, *_ in rows[:3]]
    dependent = f"{', '.join(pairs)} depend on each other"
    if len(rows) > 3:
        dependent = f"{len(rows)} pairs of attributes depend on each other, most strongly {', '.join(pairs)}"
    return (
        f"Given the class, {dependent}. Naive Bayes counts the information that they share twice and tends to be "
        f"overconfident{_tan(found)}."
    )


def _tan(found: Comparison) -> str:
    if "TAN" not in found.learners or "naive Bayes" not in found.learners:
        return ""
    pair = paired_test(found.validations["TAN"], found.validations["naive Bayes"], found.score)
    result = "does not differ significantly from it here"
    if pair.significant:
        result = f"is significantly {'better' if pair._better else 'worse'} here"
    return f"; TAN, which models one such dependence for each attribute, {result}"


MAJORITY = "majority class"
_WIDTH = 100
_LEGEND = "p: paired test against the best; calib.: calibration error; fit, pred.: seconds per fold"
_SHORT = {
    "balanced_accuracy": "balanced",
    "log_loss": "log loss",
    "brier": "Brier",
    "roc_auc": "AUC",
    "calibration_error": "calib.",
    "fit_seconds": "fit",
    "predict_seconds": "pred.",
    "p_value": "p",
}


def cause(error: Exception) -> str:
    """Return the first line of an error message, preceded by its type unless it is an error of this package."""
    line = str(error).split("\n")[0]
    return line if isinstance(error, CountwiseError) else f"{type(error).__name__}: {line}"


def ordered(validations: Mapping[str, Validation], score: str) -> list[str]:
    """Sort learners from best to worst; those that failed in a fold come last."""

    def place(name: str) -> tuple[bool, float]:
        mean = validations[name].mean(score)
        return bool(validations[name].errors), math.inf if math.isnan(mean) else (-mean if greater(score) else mean)

    return sorted(validations, key=place)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Learners cross-validated on the same folds of one table; the result of `compare`.

    Parameters
    ----------
    score : str
        The metric by which the learners are ranked.
    validations : dict of str to Validation
        The cross-validation result of each learner and of the majority class, best first.
    learners : dict of str to estimator
        The unfitted learners, best first. `cross_validate` of one of them with the same `cv` gives the same numbers.
    skipped : dict of str to str, default={}
        The learners that were not evaluated, and the reason.
    notes : list of str, default=[]
        Further remarks, such as warnings and preprocessing that was added to a learner.
    curve : LearningCurve or None, default=None
        Learning curves of the best learner and of naive Bayes, or of all learners.
    pairs : Grid or None, default=None
        For each pair of attributes `one` and `other`: the conditional mutual information given the class in `bits`,
        its expected value under independence (`by_chance`), and whether the dependence is `significant`.
    partial : bool, default=False
        Whether the comparison was interrupted before all learners were evaluated.

    Attributes
    ----------
    best : str or None
        Name of the learner with the best score.
    table : Grid
        One row for each learner, best first: scores, confidence interval, and p-value of the paired test against the
        best learner.
    verdict : str
        Summary in sentences.

    Examples
    --------
    >>> from countwise import compare, samples
    >>> tennis = samples.load("tennis")
    >>> found = compare(tennis.X, tennis.y, cv=5, only=["naive Bayes", "TAN"])
    >>> list(found.validations), found.partial, found.curve
    (['majority class', 'naive Bayes', 'TAN'], False, None)
    """

    score: str
    validations: dict[str, Validation]
    learners: dict[str, Any]
    skipped: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    curve: LearningCurve | None = None
    pairs: Grid | None = None
    partial: bool = False

    @property
    def best(self) -> str | None:
        """Name of the learner with the best score, or None if no learner was evaluated."""
        return next(iter(self.learners), None)

    def against(self, name: str) -> PairedTest:
        """Compare the best learner with another one by a paired t-test (Nadeau & Bengio correction).

        Parameters
        ----------
        name : str
            Name of a learner, or "majority class".

        Returns
        -------
        PairedTest
            The difference best minus other, with confidence interval and p-value.

        See Also
        --------
        countwise.evaluation.paired_test : The test for any two validations.

        Examples
        --------
        >>> from countwise import compare, samples
        >>> penguins = samples.load("penguins")
        >>> found = compare(penguins.X, penguins.y, only=["naive Bayes", "one rule"], curve=False)
        >>> found.against("one rule").significant
        True
        """
        if name not in self.validations:
            known = did_you_mean(name, self.validations) or f"choose one of {listed(self.validations, 20)}."
            raise OptionError(f"The comparison has no learner {name!r}.", hint=known)
        return paired_test(self.validations[self.best or MAJORITY], self.validations[name], self.score)

    @lazy
    def table(self) -> Grid:
        """One row for each learner, best first.

        `from` and `to` are the 95 % confidence interval of the ranking score, and `p_value` is that of the paired
        test against the best learner. Scores are means over the folds, except for `calibration_error`, which is
        computed from the predictions of all folds together because single folds are too small for it.
        """
        ends = [v.interval(self.score) for v in self.validations.values()]
        columns: dict[str, list[Any]] = {
            "learner": list(self.validations),
            self.score: [v.mean(self.score) for v in self.validations.values()],
            "from": [low for low, _ in ends],
            "to": [high for _, high in ends],
            "p_value": [self._p_value(name) for name in self.validations],
        }
        for other in (s for s in SCORES if s != self.score):
            whole = other == "calibration_error"
            columns[other] = [
                v.predictions.calibration_error if whole else v.mean(other) for v in self.validations.values()
            ]
        if any(COVERAGE in v._shown for v in self.validations.values()):
            columns[COVERAGE] = [v.mean(COVERAGE) for v in self.validations.values()]
        columns["fit_seconds"] = [mean_of([f.fitted.seconds for f in v.folds]) for v in self.validations.values()]
        columns["predict_seconds"] = [mean_of([f.seconds for f in v.done]) for v in self.validations.values()]
        columns["failed_folds"] = [len(v.errors) for v in self.validations.values()]
        return Grid(columns)

    def _p_value(self, name: str) -> float:
        return float("nan") if self.best in (None, name) else self.against(name).p_value

    @lazy
    def verdict(self) -> str:
        """Summary in sentences: best learner, its equals, calibration, effect of more rows, dependent attributes."""
        sentences = [_best(self)]
        if self.best is not None:
            sentences += [_equals(self), _calibration(self), _growth(self), _independence(self)]
        if self.partial:
            sentences.insert(0, "The comparison was interrupted; these are the results so far.")
        return " ".join(sentence for sentence in sentences if sentence)

    @property
    def headline(self) -> str:
        """One line with the numbers of rows, classes and folds, and the ranking score."""
        some = self.validations[MAJORITY]
        n, k = len(some.data), len(some.data.classes)
        return f"{n:,} rows, {k} classes, {len(some.folds)} folds; ordered by {self.score.replace('_', ' ')}"

    @property
    def short(self) -> Grid:
        """The table as rounded strings with short column names, for printing."""
        columns: dict[str, list[str]] = {}
        for name, cells in self.table.items():
            if name == "learner":
                failed = self.table["failed_folds"]
                columns[name] = [f"{c} *" if n else c for c, n in zip(cells, failed, strict=True)]
            elif name == "to":
                pairs = zip(self.table["from"], cells, strict=True)
                columns["95 % interval"] = ["" if math.isnan(a) else f"{a:.3f} .. {b:.3f}" for a, b in pairs]
            elif name not in ("from", "failed_folds", "balanced_accuracy") or name == self.score:
                columns[_SHORT.get(name, name)] = [_figures(name, c) for c in cells]
        return Grid(columns)

    def __str__(self) -> str:
        lines = [self.headline, "", str(_narrowed(self.short)), _LEGEND, "", *_wrapped(self.verdict)]
        for title, remarks in self._remarks().items():
            lines += ["", f"{title}:", *(line for remark in remarks for line in _wrapped(remark, "  "))]
        return "\n".join(lines)

    __repr__ = __str__

    def _remarks(self) -> dict[str, list[str]]:
        """Collect the reasons of skipped learners and the notes, by heading."""
        skipped = [f"{', '.join(names)}: {why}" for why, names in grouped(self.skipped.items()).items()]
        both = {"Not evaluated": skipped, "Notes": [*self._starred(), *self.notes]}
        return {title: remarks for title, remarks in both.items() if remarks}

    def _starred(self) -> list[str]:
        """Explain infinite values and the asterisks in the table."""
        losses = zip(self.validations, self.table["log_loss"], strict=True)
        infinite = ", ".join(name for name, loss in losses if loss == math.inf)
        notes = []
        silent = ", ".join(name for name, v in self.validations.items() if v.done and v.predictions.coverage < 1)
        if silent:
            notes.append(f"learners that abstain are scored on the rows that they predict (coverage): {silent}")
        if infinite:
            notes.append(f"the log loss is infinite if the true class of a row got probability 0: {infinite}")
        for name, validation in self.validations.items():
            for fold, error in validation.errors[:1]:
                notes.append(
                    f"* {name} failed in {len(validation.errors)} of {len(validation.folds)} folds; its scores are "
                    f"means over the other folds. Fold {fold + 1}: {cause(error)}"
                )
        return notes

    def _repr_html_(self) -> str:
        parts = [
            f"<p>{escape(self.headline)}</p>",
            self.short._repr_html_(),
            f"<p>{_LEGEND}</p><p>{escape(self.verdict)}</p>",
        ]
        for title, remarks in self._remarks().items():
            items = "".join(f"<li>{escape(remark)}</li>" for remark in remarks)
            parts.append(f"<p>{title}:</p><ul>{items}</ul>")
        return "".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON-compatible data: NaN becomes None, and infinity the string "inf".

        Returns
        -------
        dict
            With the keys "rows", "classes", "folds", "score", "best", "partial", "verdict", "learners" (the rows of
            `table`), "skipped", "notes", "curve" and "pairs".

        Examples
        --------
        >>> from countwise import compare, samples
        >>> tennis = samples.load("tennis")
        >>> found = compare(tennis.X, tennis.y, cv=5, only="naive Bayes")
        >>> found.to_dict()["rows"], found.to_dict()["best"]
        (14, 'naive Bayes')
        """
        some = self.validations[MAJORITY]
        return {
            "rows": len(some.data),
            "classes": [_plain(c) for c in some.data.classes],
            "folds": len(some.folds),
            "score": self.score,
            "best": self.best,
            "partial": self.partial,
            "verdict": self.verdict,
            "learners": _records(self.table),
            "skipped": dict(self.skipped),
            "notes": [*self._starred(), *self.notes],
            "curve": [] if self.curve is None else _records(self.curve.summary),
            "pairs": [] if self.pairs is None else _records(self.pairs),
        }


def _narrowed(table: Grid) -> Grid:
    """Shorten long learner names in the middle if the table is wider than a terminal."""
    names = [str(name) for name in table["learner"]]
    longest = max(map(len, names))
    most = max(16, longest - (max(map(len, str(table).splitlines())) - _WIDTH))
    end = most // 3
    cut = [name if len(name) <= most else f"{name[: most - 1 - end]}…{name[-end:]}" for name in names]
    return table if most >= longest or len(set(cut)) < len(cut) else Grid({**table, "learner": cut})


def grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Map each reason to the names of the learners that it applies to."""
    names: dict[str, list[str]] = {}
    for name, why in pairs:
        names.setdefault(why, []).append(name)
    return names


def _wrapped(text: str, indent: str = "") -> list[str]:
    """Wrap text to the width of a terminal; percentages and p-values are not broken."""
    wrapper = textwrap.TextWrapper(
        _WIDTH, initial_indent=indent, subsequent_indent=indent * 2, break_on_hyphens=False
    )
    for phrase in (" %", "p < ", "p = "):
        text = text.replace(phrase, phrase.replace(" ", "\x1f"))
    lines = wrapper.wrap(text)
    return [line.replace("\x1f", " ") for line in lines]


def _figures(column: str, cell: float) -> str:
    if math.isnan(cell):
        return ""
    if column == "p_value":
        return "<0.001" if cell < 0.001 else f"{cell:.3f}"
    if column.endswith("_seconds"):
        return f"{cell:.3f}" if cell < 10 else f"{cell:.1f}"
    return f"{cell:.3f}" if abs(cell) < 100 else f"{cell:.3g}"


def _plain(cell: Any) -> Any:
    """Convert a value to one that JSON can hold: JSON has neither NaN nor infinity."""
    cell = cell.item() if isinstance(cell, np.generic) else cell
    if not isinstance(cell, float) or math.isfinite(cell):
        return cell
    return None if math.isnan(cell) else str(cell)


def _records(grid: Grid) -> list[dict[str, Any]]:
    return [dict(zip(grid, (_plain(cell) for cell in row), strict=True)) for row in grid.rows()]

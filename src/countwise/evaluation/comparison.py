"""What came of a comparison: a table, and a verdict in words."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from countwise._cached import lazy
from countwise.base.predictions import SCORES, Predictions, greater
from countwise.errors import CountwiseError, OptionError, did_you_mean, listed
from countwise.evaluation.learning_curve import LearningCurve
from countwise.evaluation.validation import PairedTest, Validation, mean_of, paired_test
from countwise.working import Grid

__all__ = ["MAJORITY", "Comparison", "cause", "grouped", "ordered"]

_MARGIN = 0.02  # by which probabilities may be off, beyond chance, and still be called right
_SHARES = ("accuracy", "balanced_accuracy")


def _best(found: Comparison) -> str:
    if found.best is None:
        return "No learner was judged."
    word = found.score.replace("_", " ")
    mine, base = (found.validations[name].mean(found.score) for name in (found.best, MAJORITY))
    many = len(found.learners)
    first = f"{found.best} has the best {word} of {many} learners, {_shown(found, mine)}"
    if many == 1:
        first = f"{found.best} has {'an' if word[0] in 'aeiou' else 'a'} {word} of {_shown(found, mine)}"
    if math.isnan(base):
        return f"{first}."
    against = found.against(MAJORITY)
    gain = mine - base if greater(found.score) else base - mine
    if gain <= 0:
        return f"{first}, and that is no better than the majority class ({_shown(found, base)}): nothing was learned."
    if not against.told_apart:
        return (
            f"{first}; the majority class has {_shown(found, base)}, and by these folds the two are not told apart "
            f"({_p(against.p_value)}): what was learned may be chance."
        )
    more = f"{100 * gain:.1f} points better than" if found.score in _SHARES else "better than"
    return f"{first}: {more} the majority class ({_shown(found, base)}; {_p(against.p_value)})."


def _shown(found: Comparison, value: float) -> str:
    return f"{100 * value:.1f} %" if found.score in _SHARES else f"{value:.3f}"


def _p(value: float) -> str:
    return "p < 0.001" if value < 0.001 else f"p = {value:.2g}"


def _equals(found: Comparison) -> str:
    """Who is not told apart from the best."""
    rest = [name for name in found.learners if name != found.best and not found.validations[name].errors]
    near = [name for name in rest if not found.against(name).told_apart]
    if not rest or not found.against(MAJORITY).told_apart:
        return ""
    if not near:
        return "All others are worse by more than chance (p < 0.05 each)."
    quick = min(near, key=lambda name: _seconds(found, name))
    own = _seconds(found, str(found.best))
    told = "no other is" if len(near) == len(rest) else f"{_list(near)} {'is' if len(near) == 1 else 'are'} not"
    told = f"By the paired test {told} told apart from it"
    share = _seconds(found, quick) / own if own > 0.5 else 1.0
    if share < 1 / 5:
        told += f"; {quick} takes {f'1/{max(2, round(1 / share)):,}' if share > 0 else 'none'} of its time"
    return f"{told}."


def _seconds(found: Comparison, name: str) -> float:
    return sum(fold.fitted.seconds + fold.seconds for fold in found.validations[name].folds)


def _list(names: Sequence[str], most: int = 5) -> str:
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _calibration(found: Comparison) -> str:
    """Whether a probability of 80 % is right in 80 of 100 rows."""
    answers = found.validations[str(found.best)].answers
    if np.isnan(answers.proba).any():
        return f"{found.best} tells no probabilities."
    off, chance = answers.calibration_error, _chance(answers)
    if off <= chance + _MARGIN:
        few = " as far as so few rows can tell" if chance > _MARGIN else ""
        return f"Its probabilities can be believed{few}: they are off by {100 * off:.1f} points on average."
    sure = float(np.average(answers.proba[np.arange(len(answers)), answers.answered], weights=answers.weight))
    way = "too sure" if sure > answers.accuracy else "not sure enough"
    return (
        f"Its probabilities are off by {100 * off:.1f} points on average: it is {way} "
        f"({100 * sure:.0f} % said, {100 * answers.accuracy:.0f} % right)."
    )


def _chance(answers: Predictions) -> float:
    """The calibration error that right probabilities would show in so many rows."""
    table = answers.reliability()
    p, n = np.array(table["probability"]), np.array(table["rows"], dtype=np.float64)
    return float((n * np.sqrt(2 * np.clip(p * (1 - p), 0, None) / (np.pi * n))).sum() / n.sum())


def _growth(found: Comparison) -> str:
    """Whether more rows would help, by the learning curve."""
    curve, best = found.curve, str(found.best)
    if curve is None or best not in curve.test:
        return ""
    half, whole = curve.test[best][-2], curve.test[best][-1]
    gains = (whole - half) if greater(found.score) else (half - whole)
    gains = gains[np.isfinite(gains)]
    if len(gains) < 2:
        return ""
    # held-out rows are a third of those learned from, and repeats share them (Nadeau and Bengio)
    error = math.sqrt((1 / len(gains) + 1 / 3) * float(gains.var(ddof=1)))
    sizes = [f"{n:,}" for n in curve.train_sizes[-2:].tolist()]
    ends = [_shown(found, float(np.nanmean(scores))) for scores in (half, whole)]
    told = f"from {sizes[0]} to {sizes[1]} rows it went from {ends[0]} to {ends[1]}"
    if float(gains.mean()) > error and ends[0] != ends[1]:
        little = " a little" * (found.score in _SHARES and float(gains.mean()) < 0.01)
        return f"More rows would help{little}: {told}."
    return f"More rows of this kind would hardly help: {told}."


def _independence(found: Comparison) -> str:
    """Which attributes naive Bayes takes for independent that are not."""
    if found.pairs is None:
        return ""
    rows = [row for row in found.pairs.rows() if row[4]]
    if not rows:
        return "No two attributes depend on each other within the classes by more than chance."
    named = [f"{a} and {b} ({bits:.2f} bits)" for a, b, bits, *_ in rows[:3]]
    told = f"{', '.join(named)} tell of each other"
    if len(rows) > 3:
        told = f"{len(rows)} pairs of attributes tell of each other, most of all {', '.join(named)}"
    return (
        f"Within the classes {told}: naive Bayes counts twice what they share and tends to be too sure{_tan(found)}."
    )


def _tan(found: Comparison) -> str:
    if "TAN" not in found.learners or "naive Bayes" not in found.learners:
        return ""
    pair = paired_test(found.validations["TAN"], found.validations["naive Bayes"], found.score)
    what = f"{'better' if pair._better else 'worse'} here" if pair.told_apart else "not told apart from naive Bayes"
    return f"; TAN, which allows for one such link an attribute, is {what}"


MAJORITY = "majority class"
_WIDTH = 100
_LEGEND = "p: paired test against the best; calib.: calibration error; fit s, ask s: seconds a fold"
_SHORT = {
    "balanced_accuracy": "balanced",
    "log_loss": "log loss",
    "brier": "Brier",
    "roc_auc": "AUC",
    "calibration_error": "calib.",
    "fit_seconds": "fit s",
    "predict_seconds": "ask s",
    "p_value": "p",
}


def cause(error: Exception) -> str:
    """What went wrong; our own messages speak for themselves."""
    words = str(error).split("\n")[0]
    return words if isinstance(error, CountwiseError) else f"{type(error).__name__}: {words}"


def ordered(validations: Mapping[str, Validation], score: str) -> list[str]:
    """Learners from the best on; those that failed in a fold come last."""

    def place(name: str) -> tuple[bool, float]:
        mean = validations[name].mean(score)
        return bool(validations[name].errors), math.inf if math.isnan(mean) else (-mean if greater(score) else mean)

    return sorted(validations, key=place)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Learners judged on the same folds of one table.

    Parameters
    ----------
    score : str
        By which they are ordered.
    validations : dict of str to Validation
        What came of each and of the majority class, the best first.
    learners : dict of str to estimator
        As they were judged: `cross_validate` of one of them, with the same `cv`, gives the same numbers.
    left_out : dict of str to str
        The learners that were not judged, and why.
    notes : list of str
        What else there is to know.
    curve : LearningCurve or None
        Of the best learner and of naive Bayes, or of all.
    pairs : Grid or None
        Conditional mutual information of each two attributes given the class, in bits; what it would be by chance;
        and whether it breaks the independence that naive Bayes takes for granted.
    partial : bool
        Whether the work was stopped before all was done.

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
    left_out: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    curve: LearningCurve | None = None
    pairs: Grid | None = None
    partial: bool = False

    @property
    def best(self) -> str | None:
        """The learner with the best score; None if none was judged."""
        return next(iter(self.learners), None)

    def against(self, name: str) -> PairedTest:
        """A learner and the best one on the same folds, by a corrected resampled t-test.

        Parameters
        ----------
        name : str
            A learner, or "majority class".
        """
        if name not in self.validations:
            known = did_you_mean(name, self.validations) or f"there are {listed(self.validations, 20)}."
            raise OptionError(f"No learner {name!r} was judged.", hint=known)
        return paired_test(self.validations[self.best or MAJORITY], self.validations[name], self.score)

    @lazy
    def table(self) -> Grid:
        """A row for each learner, the best first.

        The score has its 95 % interval; `p_value` is that of the test against the best. The other scores are means
        over the folds too, but for `calibration_error`, which is of all answers together: folds are small for it.
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
                v.answers.calibration_error if whole else v.mean(other) for v in self.validations.values()
            ]
        columns["fit_seconds"] = [mean_of([f.fitted.seconds for f in v.folds]) for v in self.validations.values()]
        columns["predict_seconds"] = [mean_of([f.seconds for f in v.done]) for v in self.validations.values()]
        columns["failed_folds"] = [len(v.errors) for v in self.validations.values()]
        return Grid(columns)

    def _p_value(self, name: str) -> float:
        return float("nan") if self.best in (None, name) else self.against(name).p_value

    @lazy
    def verdict(self) -> str:
        """Who is best and by how much, who may be as good, whether to believe its probabilities, what would help."""
        told = [_best(self)]
        if self.best is not None:
            told += [_equals(self), _calibration(self), _growth(self), _independence(self)]
        if self.partial:
            told.insert(0, "This is what was done before it was stopped.")
        return " ".join(sentence for sentence in told if sentence)

    @property
    def headline(self) -> str:
        """What was done, in a line."""
        some = self.validations[MAJORITY]
        n, k = len(some.ground), len(some.ground.classes)
        return f"{n:,} rows, {k} classes, {len(some.folds)} folds; ordered by {self.score.replace('_', ' ')}"

    @property
    def short(self) -> Grid:
        """The table with as many figures as a person reads."""
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
        """What else there is to say, by title."""
        left_out = [f"{', '.join(names)}: {why}" for why, names in grouped(self.left_out.items()).items()]
        both = {"Left out": left_out, "Notes": [*self._starred(), *self.notes]}
        return {title: remarks for title, remarks in both.items() if remarks}

    def _starred(self) -> list[str]:
        """What the marks in the table mean."""
        losses = zip(self.validations, self.table["log_loss"], strict=True)
        infinite = ", ".join(name for name, loss in losses if loss == math.inf)
        told = [f"log loss is infinite where a row is of a class that got probability 0: {infinite}"] * bool(infinite)
        for name, validation in self.validations.items():
            for fold, error in validation.errors[:1]:
                told.append(
                    f"* {name} failed in {len(validation.errors)} of {len(validation.folds)} folds and is judged by "
                    f"the others; fold {fold + 1}: {cause(error)}"
                )
        return told

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
        """Plain data: what has no number is None, and infinity a word."""
        some = self.validations[MAJORITY]
        return {
            "rows": len(some.ground),
            "classes": [_plain(c) for c in some.ground.classes],
            "folds": len(some.folds),
            "score": self.score,
            "best": self.best,
            "partial": self.partial,
            "verdict": self.verdict,
            "learners": _records(self.table),
            "left_out": dict(self.left_out),
            "notes": [*self._starred(), *self.notes],
            "curve": [] if self.curve is None else _records(self.curve.summary),
            "pairs": [] if self.pairs is None else _records(self.pairs),
        }


def _narrowed(table: Grid) -> Grid:
    """The table with the middle of long names of learners left out, if it would be wider than a terminal."""
    names = [str(name) for name in table["learner"]]
    longest = max(map(len, names))
    most = max(16, longest - (max(map(len, str(table).splitlines())) - _WIDTH))
    end = most // 3
    cut = [name if len(name) <= most else f"{name[: most - 1 - end]}…{name[-end:]}" for name in names]
    return table if most >= longest or len(set(cut)) < len(cut) else Grid({**table, "learner": cut})


def grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Each reason once, with the learners that it is of."""
    names: dict[str, list[str]] = {}
    for name, why in pairs:
        names.setdefault(why, []).append(name)
    return names


def _wrapped(text: str, indent: str = "") -> list[str]:
    """Lines that a terminal holds; a number stays with its sign."""
    wrapper = textwrap.TextWrapper(
        _WIDTH, initial_indent=indent, subsequent_indent=indent * 2, break_on_hyphens=False
    )
    lines = wrapper.wrap(text.replace(" %", "\x1f%"))
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
    """NaN and infinity have no place in JSON."""
    cell = cell.item() if isinstance(cell, np.generic) else cell
    if not isinstance(cell, float) or math.isfinite(cell):
        return cell
    return None if math.isnan(cell) else str(cell)


def _records(grid: Grid) -> list[dict[str, Any]]:
    return [dict(zip(grid, (_plain(cell) for cell in row), strict=True)) for row in grid.rows()]

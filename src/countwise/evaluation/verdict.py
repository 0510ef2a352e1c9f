"""A comparison in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from countwise.evaluation.answers import Answers, greater
from countwise.evaluation.comparison import MAJORITY

if TYPE_CHECKING:
    from countwise.evaluation.comparison import Comparison

__all__ = ["verdict_of"]

_MARGIN = 0.02  # by which probabilities may be off, beyond chance, and still be called right
_SHARES = ("accuracy", "balanced_accuracy")


def verdict_of(found: Comparison) -> str:
    """Who is best and by how much, who may be as good, whether to believe its probabilities, and what would help."""
    told = [_best(found)]
    if found.best is not None:
        told += [_equals(found), _calibration(found), _growth(found), _independence(found)]
    if found.partial:
        told.insert(0, "This is what was done before it was stopped.")
    return " ".join(sentence for sentence in told if sentence)


def _best(found: Comparison) -> str:
    if found.best is None:
        return "No learner was judged."
    word = found.score.replace("_", " ")
    mine, base = (found.validations[name].mean(found.score) for name in (found.best, MAJORITY))
    many = len(found.learners)
    first = (
        f"{found.best} has the best {word} of {many} learners" if many > 1 else f"{found.best} has {_article(word)}"
    )
    first += f", {_shown(found, mine)}" if many > 1 else f" of {_shown(found, mine)}"
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


def _article(word: str) -> str:
    return f"an {word}" if word[0] in "aeiou" else f"a {word}"


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
    told = "By the paired test no other is told apart from it" if len(near) == len(rest) else (
        f"By the paired test {_list(near)} {'is' if len(near) == 1 else 'are'} not told apart from it"
    )  # fmt: skip
    if _seconds(found, quick) < own / 5 and own > 0.5:
        told += f"; {quick} takes {_share(_seconds(found, quick) / own)} of its time"
    return f"{told}."


def _seconds(found: Comparison, name: str) -> float:
    return sum(fold.fitted.seconds + fold.seconds for fold in found.validations[name].folds)


def _share(share: float) -> str:
    return f"1/{max(2, round(1 / share)):,}" if share > 0 else "none"


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


def _chance(answers: Answers) -> float:
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
    if len(rows) > 3:
        told = (
            f"Within the classes {len(rows)} pairs of attributes tell of each other, most of all {', '.join(named)}"
        )
    else:
        told = f"Within the classes {', '.join(named)} tell of each other"
    return f"{told}: naive Bayes counts twice what they share and tends to be too sure{_tan(found)}."


def _tan(found: Comparison) -> str:
    if "TAN" not in found.learners or "naive Bayes" not in found.learners:
        return ""
    from countwise.evaluation.pairing import paired

    pair = paired(found.validations["TAN"], found.validations["naive Bayes"], found.score)
    better = pair.difference > 0 if greater(found.score) else pair.difference < 0
    if not pair.told_apart:
        return "; TAN, which allows for one such link an attribute, is not told apart from naive Bayes"
    return f"; TAN, which allows for one such link an attribute, is {'better' if better else 'worse'} here"

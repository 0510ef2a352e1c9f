"""A working as plain text."""

from __future__ import annotations

from countwise.errors import printable
from countwise.working.grid import Grid, cell_width
from countwise.working.numbers import fraction, percent, probability, signed
from countwise.working.sections import broken_line
from countwise.working.steps import Factor, Step
from countwise.working.working import Working

__all__ = ["columns", "factor_text", "folded", "remarks", "render", "unused_lines", "verdict"]

_MOST_CLASSES = 4
_MOST_STEPS = 30


def render(working: Working, width: int | None = None) -> str:
    """Return the factors, the prediction and the notes; one class after the other if the table is too wide."""
    table = _table(working)
    if width is not None and max(map(cell_width, table.split("\n"))) > width:
        table = "\n\n".join(_class(working, c) for c in columns(working))
    lines = [verdict(working), *remarks(working)]
    if width is not None:
        lines = [part for line in lines for part in broken_line(line, width)]
    return printable("\n".join([table, "", *lines, *_sections(working, width)]))


def _table(working: Working) -> str:
    """Return a table with a row for each factor and a column for each class."""
    shown = columns(working)
    target = working.target
    rows = [_row(working.prior_written, working.prior, working, shown)]
    steps, rest = folded(working)
    rows += [_row(step.written(target), step, working, shown) for step in steps]
    if rest:
        odds = sum(step.log_odds(working.chosen, working.rival) for step in rest)
        logs = [probability(sum(step.factors[c].log for step in rest)) for c in shown]
        rows.append([f"{len(rest)} smaller factors", *logs, signed(odds)])
    total = working.log_joint[working.chosen] - working.log_joint[working.rival]
    rows.append(["product", *(_product(working, c) for c in shown), signed(total) if total == total else "?"])
    rows.append(["posterior", *(_posterior(working, c) for c in shown), ""])
    against = f"log-odds {working.answer} : {working.classes[working.rival]}"
    head = ["", *(f"{target} = {working.classes[c]}" for c in shown), against]
    return str(Grid({name: [row[j] for row in rows] for j, name in enumerate(head)}))


def _class(working: Working, c: int) -> str:
    """Return the factors of one class, one below the other."""
    steps, rest = folded(working)
    labels = [working.prior_written, *(step.written(working.target) for step in steps)]
    cells = [factor_text(step.factors[c]) for step in (working.prior, *steps)]
    if rest:
        labels.append(f"{len(rest)} smaller factors")
        cells.append(probability(sum(step.factors[c].log for step in rest)))
    labels += ["product", "posterior"]
    cells += [_product(working, c), _posterior(working, c)]
    title = f"{working.target} = {working.classes[c]}"
    return str(Grid({title: [f"  {label}" for label in labels], "": cells}))


def columns(working: Working) -> list[int]:
    """Return the positions of the classes to show: the most probable ones, in the order of the classes."""
    order = sorted(range(len(working.classes)), key=lambda c: (c != working.chosen, -working.log_joint[c], c))
    return sorted(order[:_MOST_CLASSES])


def folded(working: Working, most: int = _MOST_STEPS) -> tuple[list[Step], list[Step]]:
    """Return the steps to list, and those with the smallest log-odds to sum up if there are more than `most`."""
    used = list(working.used)
    if len(used) <= most:
        return used, []
    largest = sorted(used, key=lambda s: -abs(s.log_odds(working.chosen, working.rival)))[: most - 1]
    kept = {id(step) for step in largest}
    return [s for s in used if id(s) in kept], [s for s in used if id(s) not in kept]


def factor_text(factor: Factor) -> str:
    """Return a factor as formula and number: ``2/9 = 0.222222``."""
    value = probability(factor.log)
    return value if factor.text == value else f"{factor.text} = {value}"


def _row(label: str, step: Step, working: Working, shown: list[int]) -> list[str]:
    odds = signed(step.log_odds(working.chosen, working.rival))
    return [label, *(factor_text(step.factors[c]) for c in shown), odds]


def _product(working: Working, c: int) -> str:
    exact = working.exact_joint[c]
    short = None if exact is None else fraction(exact)
    value = probability(working.log_joint[c])
    return value if short is None or short == value else f"{short} = {value}"


def _posterior(working: Working, c: int) -> str:
    exact = working.exact_posterior[c]
    short = None if exact is None or exact.denominator == 1 else fraction(exact)
    return working.share(c) if short is None else f"{short} = {working.share(c)}"


def verdict(working: Working) -> str:
    """Return the prediction as a sentence, with its probability and credible interval."""
    line = f"{working.target} = {working.answer} with probability {working.share(working.chosen)}"
    if working.interval is not None:
        low, high = working.interval[working.chosen]
        line += f" ({100 * working.level:.0f} % credible interval {percent(low)} to {percent(high)})"
    return printable(line + ".", lines=False)


def unused_lines(working: Working) -> list[str]:
    """Return the attributes that are not used, with the reason; more than three are joined into one line."""
    reasons: dict[str, list[Step]] = {}
    for step in working.left_out:
        reasons.setdefault(step.absence, []).append(step)
    lines = []
    for reason, steps in reasons.items():
        if len(steps) > 3:
            lines.append(f"{', '.join(step.attribute for step in steps)} ({reason})")
        else:
            # a missing value has nothing to show after the name
            lines += [f"{s.attribute if s.state == 'missing' else s.event} ({_why(working, s)})" for s in steps]
    return lines


def _why(working: Working, step: Step) -> str:
    """Return why an attribute is not used; that its value is missing may be evidence of its own."""
    as_evidence = any(used.attribute == f"{step.attribute} missing" for used in working.steps if used.factors)
    return f"{step.absence}; that it is missing is used" if as_evidence else step.absence


def remarks(working: Working) -> list[str]:
    """Return the attributes that are not used, the notes, and what would change the prediction."""
    lines = [f"Not used: {line}." for line in unused_lines(working)]
    lines += [f"Note: {note}" for note in working.notes]
    if working.changes:
        lines.append("What would change the prediction:")
        lines += [f"  {change}." for change in working.changes]
    return lines


def _sections(working: Working, width: int | None) -> list[str]:
    return [line for section in working.sections for line in ("", section.text(width))]

"""A working as HTML: a table with bars that needs no external style sheet and is readable without color."""

from __future__ import annotations

import math
from fractions import Fraction

from countwise.working.markup import escape
from countwise.working.numbers import fraction, percent, probability, signed
from countwise.working.steps import Step
from countwise.working.text import columns, factor_text, folded, unused_lines
from countwise.working.working import Working

__all__ = ["STYLE", "render"]

STYLE = """<style>
.cw-working{font:14px/1.45 system-ui,sans-serif;color:#1b1b1b;background:#fff;overflow-x:auto;padding:.6em}
.cw-working table{border-collapse:collapse;margin:.3em 0;font:inherit}
.cw-working th,.cw-working td{padding:.2em .6em;text-align:left;border-bottom:1px solid #ddd;white-space:nowrap}
.cw-working th{border-bottom:2px solid #555;font-weight:600}
.cw-working .won{background:#eef3fa}
.cw-working tr.sum td{border-top:2px solid #555;font-weight:600}
.cw-working .bar{display:inline-block;position:relative;width:9em;height:.85em;margin-right:.6em;
background:linear-gradient(#999,#999) 50% 0/1px 100% no-repeat}
.cw-working .bar i{position:absolute;top:0;height:100%;background:#2f5d9b}
.cw-working .bar i.no{background:repeating-linear-gradient(45deg,#b5532a,#b5532a 3px,#e6b49c 3px,#e6b49c 6px)}
.cw-working .odds{white-space:nowrap;font-variant-numeric:tabular-nums}
.cw-working h4{margin:.8em 0 .2em;font-size:1em}
.cw-working p{margin:.2em 0}
.cw-working ul{margin:.3em 0;padding-left:1.2em}
</style>"""


def render(working: Working) -> str:
    """Return the prediction, the table of factors, the notes and the sections as HTML."""
    shown = columns(working)
    steps, rest = folded(working)
    widest = max((abs(s.log_odds(working.chosen, working.rival)) for s in (working.prior, *steps)), default=1.0)
    scale = widest if math.isfinite(widest) and widest > 0 else 1.0
    rows = [_row(working.prior_written, working.prior, working, shown, scale)]
    rows += [_row(s.written(working.target), s, working, shown, scale) for s in steps]
    if rest:
        logs = [probability(sum(s.factors[c].log for s in rest)) for c in shown]
        odds = sum(s.log_odds(working.chosen, working.rival) for s in rest)
        rows.append(_cells(f"{len(rest)} smaller factors", logs, working, shown, _bar(odds, scale)))
    total = working.log_joint[working.chosen] - working.log_joint[working.rival]
    rows.append(
        _cells(
            "product",
            [_with(working.exact_joint[c], probability(working.log_joint[c])) for c in shown],
            working,
            shown,
            signed(total),
            "sum",
        )
    )
    rows.append(
        _cells("posterior", [_with(working.exact_posterior[c], working.share(c)) for c in shown], working, shown, "")
    )
    against = f"log-odds {working.answer} : {working.classes[working.rival]}"
    head = "".join(f"<th{_won(c, working)}>{escape(f'{working.target} = {working.classes[c]}')}</th>" for c in shown)
    titles = f"<tr><th></th><th>{escape(against)}</th>{head}</tr>"
    table = f"<table><thead>{titles}</thead><tbody>{''.join(rows)}</tbody></table>"
    return f'{STYLE}<div class="cw-working">{_verdict(working)}{table}{_beside(working)}</div>'


def _won(c: int, working: Working) -> str:
    return ' class="won"' if c == working.chosen else ""


def _with(exact: Fraction | None, value: str) -> str:
    short = None if exact is None or exact.denominator == 1 else fraction(exact)
    return value if short is None else f"{short} = {value}"


def _cells(label: str, cells: list[str], working: Working, shown: list[int], last: str, kind: str = "") -> str:
    middle = "".join(f"<td{_won(c, working)}>{escape(cell)}</td>" for c, cell in zip(shown, cells, strict=True))
    row = f' class="{kind}"' if kind else ""
    return f'<tr{row}><td>{escape(label)}</td><td class="odds">{last}</td>{middle}</tr>'


def _row(label: str, step: Step, working: Working, shown: list[int], scale: float) -> str:
    odds = step.log_odds(working.chosen, working.rival)
    return _cells(label, [factor_text(step.factors[c]) for c in shown], working, shown, _bar(odds, scale))


def _bar(odds: float, scale: float) -> str:
    size = 50.0 if math.isinf(odds) else min(50.0, 50.0 * abs(odds) / scale)
    side = f"left:50%;width:{size:.1f}%" if odds >= 0 else f"right:50%;width:{size:.1f}%"
    kind = "" if odds >= 0 else ' class="no"'
    return f'<span class="bar"><i{kind} style="{side}"></i></span>{signed(odds)}'


def _verdict(working: Working) -> str:
    p = working.share(working.chosen)
    line = f"<b>{escape(f'{working.target} = {working.answer}')}</b> with probability <b>{p}</b>"
    if working.interval is not None:
        low, high = working.interval[working.chosen]
        line += f" ({100 * working.level:.0f} % credible interval {percent(low)} to {percent(high)})"
    return f"<p>{line}.</p>"


def _beside(working: Working) -> str:
    html = _list([*(f"Not used: {line}." for line in unused_lines(working)), *working.notes])
    if working.changes:
        html += "<p>What would change the prediction:</p>" + _list([f"{change}." for change in working.changes])
    return html + "".join(section.html() for section in working.sections)


def _list(items: list[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(item)}</li>" for item in items) + "</ul>" if items else ""

"""Explaining away: two causes of one effect, and what knowing the one says of the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from countwise.data.attributes import Nominal
from countwise.errors import OptionError
from countwise.network.net import Net
from countwise.working import Account, Grid, Section
from countwise.working.numbers import number, percent

__all__ = ["explaining_away"]

_SAME = 1e-9  # of a probability: less is rounding


def explaining_away(
    net: Net, cause: str | Mapping[str, Any], effect_known: Mapping[str, Any], other: str | Mapping[str, Any]
) -> Account:
    """Whether one cause explains an effect away, so that another cause becomes less probable.

    Shown are P(cause), P(cause | effect) and P(cause | effect, other), with P(cause | other) beside them, and whether
    the two causes are d-separated before the effect is known and after.

    Parameters
    ----------
    net : Net
        The network.
    cause, other : str or mapping of str to value
        Two nodes, each with its value, as ``{"rain": "yes"}``; for a name alone it is the value for which the effect
        speaks most.
    effect_known : mapping of str to value
        What is seen.

    Returns
    -------
    Account
        `value` is P(cause | effect, other).

    Examples
    --------
    >>> import numpy as np
    >>> from countwise import Nominal
    >>> from countwise.network.explaining_away import explaining_away
    >>> from countwise.network.graph import Graph
    >>> from countwise.network.net import Net
    >>> both = ("no", "yes")
    >>> net = Net(
    ...     Graph({"rain": (), "sprinkler": (), "wet": ("rain", "sprinkler")}),
    ...     {name: Nominal(name, both) for name in ("rain", "sprinkler", "wet")},
    ...     {
    ...         "rain": np.array([0.8, 0.2]),
    ...         "sprinkler": np.array([0.7, 0.3]),
    ...         "wet": np.array([[[0.98, 0.02], [0.1, 0.9]], [[0.1, 0.9], [0.01, 0.99]]]),
    ...     },
    ...     {},
    ... )
    >>> print(explaining_away(net, "rain", {"wet": "yes"}, "sprinkler"))
    sprinkler = yes explains wet = yes away: P(rain = yes) falls from 44.9 % to 21.6 %.
    <BLANKLINE>
    What is known, and what that says of rain
      known                       P(rain = yes)
      nothing                     0.2
      sprinkler = yes             0.2
      wet = yes                   0.449346
      wet = yes, sprinkler = yes  0.215686
      rain and sprinkler are d-separated as long as nothing is known, and no longer once wet is.
    """
    net.evidence(effect_known)
    (name, value), (beside, seen) = (_event(net, which, effect_known) for which in (cause, other))
    if not effect_known or len({name, beside, *effect_known}) < 2 + len(effect_known):
        raise OptionError("A cause, another cause and an effect are three different nodes.")
    code = net.code(name, value)
    effect, both = dict(effect_known), {**effect_known, beside: seen}
    told: list[dict[str, Any]] = [{}, {beside: seen}, effect, both]
    p = [float(net.query(name, known)[code]) for known in told]
    event, helper, seen_words = f"{name} = {value}", f"{beside} = {seen}", _words(effect_known)
    table = Grid({"known": [_words(known) or "nothing" for known in told], f"P({event})": p})
    line = _separation(net, name, beside, list(effect_known))
    section = Section(f"What is known, and what that says of {name}", table, (line,))
    return Account(_verdict(event, helper, seen_words, p[0], p[2], p[3]), p[3], (section,))


def _event(net: Net, which: str | Mapping[str, Any], effect: Mapping[str, Any]) -> tuple[str, Any]:
    """A node and its value: the one given, else that for which the effect speaks most."""
    if isinstance(which, Mapping):
        if len(which) != 1:
            raise OptionError(f"A cause is one node with its value, not {dict(which)!r}.", hint='{"rain": "yes"}.')
        ((name, value),) = which.items()
    else:
        name, value = which, None
    net.graph.known([name])
    a = net.attributes[name]
    if not isinstance(a, Nominal):
        raise OptionError(f"{name!r} is a number; a cause is a node with values.")
    if isinstance(which, Mapping) or name in effect:
        return name, value
    before, after = net.query(name), net.query(name, effect)
    return name, a.values[int(np.argmax(after / np.where(before > 0, before, np.inf)))]


def _words(known: Mapping[str, Any]) -> str:
    words = []
    for name, value in known.items():
        soft = isinstance(value, Mapping | np.ndarray | list)
        shown = number(value) if isinstance(value, float) else str(value)
        words.append(f"{name} by weights" if soft else f"{name} = {shown}")
    return ", ".join(words)


def _verdict(event: str, helper: str, effect: str, before: float, after: float, last: float) -> str:
    """What the three probabilities say, in a sentence."""
    start, seen, end = (percent(p, certain=p in (0.0, 1.0)) for p in (before, after, last))
    moved = f"P({event}) {'falls' if last < after else 'rises'} from {seen} to {end}"
    if abs(last - after) <= _SAME * max(after, last):
        return f"No: once {effect} is known, {helper} says nothing of {event}; P({event}) stays {seen}."
    if after - before <= _SAME * max(after, before):
        why = f"{effect} does not speak for {event} (from {start} to {seen}), so there is nothing to explain away"
        return f"No: {why}; with {helper}, {moved}."
    if last < after:
        return f"{helper} explains {effect} away: {moved}."
    return f"No, the opposite: {helper} speaks for {event} even more; {moved}."


def _separation(net: Net, one: str, other: str, effect: list[str]) -> str:
    """Whether two causes are d-separated before an effect is known, and after."""
    before, after = net.graph.separated(one, other), net.graph.separated(one, other, effect)
    pair, known = f"{one} and {other} are", ", ".join(effect)
    verb = "is" if len(effect) == 1 else "are"
    if before and after:
        return f"{pair} d-separated, whether {known} {verb} known or not."
    if before:
        return f"{pair} d-separated as long as nothing is known, and no longer once {known} {verb}."
    if after:
        return f"{pair} d-separated once {known} {verb} known, but not before."
    return f"{pair} not d-separated, whether {known} {verb} known or not."

"""A decision tree as LaTeX: a TikZ picture of its nodes."""

from __future__ import annotations

from typing import Any

from countwise.tree.conditions import condition_of
from countwise.working.tikz import AT, LETTER, Arrow, Box, picture, scale_of

__all__ = ["tree_latex"]

_FEW = 9  # trees with more leaves grow to the right
_MOST_LEAVES = 30
_SMALLEST = 0.55  # scale of a picture that can still be read


def tree_latex(model: Any, max_depth: int | None, width: int | None) -> str:
    """Return the picture of a tree; by default, of the largest depth with at most 30 leaves that stays readable."""
    if max_depth is not None:
        return picture(*_placed(model, max_depth), width)
    for depth in range(model.tree_.depth_with(_MOST_LEAVES), -1, -1):
        boxes, arrows = _placed(model, depth)
        if width is None or depth == 0 or scale_of(boxes, width) >= _SMALLEST:
            break
    return picture(boxes, arrows, width)


def _placed(model: Any, max_depth: int) -> tuple[list[Box], list[Arrow]]:
    """Return the boxes of the nodes down to a depth, and the lines between them."""
    tree, features = model.tree_, model._features
    ends = (tree.attribute < 0) | (tree.depths >= max_depth)
    place = tree.places(ends)
    labels = {k: condition_of(tree, features, k).short.replace("<=", "≤") for k in place if k}
    words = {k: _words(model, k, cut=bool(ends[k])) for k in place}
    wide = {k: LETTER * max(map(len, lines)) + 0.4 for k, lines in words.items()}
    if sum(bool(ends[k]) for k in place) <= _FEW:
        apart = max(*wide.values(), *(LETTER * len(label) / AT for label in labels.values()), 0.0) + 0.3
        at = {k: (apart * x, -2.0 * float(tree.depths[k])) for k, x in place.items()}
    else:
        step = max(wide.values()) + LETTER * max(map(len, labels.values()), default=0) + 0.8
        at = {k: (step * float(tree.depths[k]), -1.1 * x) for k, x in place.items()}
    number = {k: i for i, k in enumerate(place)}
    boxes = [Box(*at[k], words[k], wide[k], round=bool(tree.attribute[k] < 0)) for k in place]
    return boxes, [Arrow(number[int(tree.parent[k])], number[k], labels[k]) for k in place if k]


def _words(model: Any, k: int, *, cut: bool) -> tuple[str, ...]:
    """Return the text of a node: the attribute that it tests, or the prediction of a leaf and its rows."""
    if not cut:
        return (f"{model._features[model.tree_.attribute[k]].name}?",)
    text, _, rows = model._leaf_text(k).rpartition(" (")
    return (text if model.tree_.attribute[k] < 0 else f"{text} …", *rows.removesuffix(")").split(", "))

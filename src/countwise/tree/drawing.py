"""Trees drawn with letters, for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from countwise.tree.conditions import condition_of
from countwise.tree.features import Feature
from countwise.tree.nodes import Tree

__all__ = ["drawn"]

_ROOM = 10_000_000  # letters that may stand before the lines, as many in all


def drawn(
    tree: Tree,
    features: Sequence[Feature],
    said: Callable[[int], str],
    max_depth: int | None = None,
    marked: frozenset[int] = frozenset(),
) -> str:
    """A tree with branches of letters.

    Parameters
    ----------
    tree : Tree
        The tree.
    features : sequence of Feature
        What it asks.
    said : callable
        What a leaf says.
    max_depth : int, optional
        How deep to draw; by default as deep as there is room, which is all of any tree but a very deep one.
    marked : frozenset of int
        Nodes that are marked: the path of one row.
    """
    sizes = tree.sizes
    max_depth = _room(tree) if max_depth is None else max_depth
    lines: list[str] = []
    # node, what stands before its line, what stands before the lines below it, its depth
    waiting: list[tuple[int, str, str, int]] = [(0, "", "", 0)]
    while waiting:
        k, before, below, depth = waiting.pop()
        words = f"{condition_of(tree, features, k).short}: " if k else ""
        leaf = tree.attribute[k] < 0
        cut = not leaf and max_depth is not None and depth >= max_depth
        asks = said(k) if leaf or cut else f"{features[tree.attribute[k]].name}?"
        more = " …" if cut else ""
        end = "  ◀" if k in marked and (leaf or cut) else ""
        lines.append(f"{before}{_on_one_line(words + asks)}{more}{end}")
        if leaf or cut:
            continue
        first, last = int(tree.children[k]), int(tree.children[k] + sizes[k] - 1)
        for child in range(last, first - 1, -1):  # the last is put first: it is taken last
            path = "━" if child in marked else "─"
            if child == last:
                waiting.append((child, f"{below}└{path} ", f"{below}   ", depth + 1))
            else:
                waiting.append((child, f"{below}├{path} ", f"{below}│  ", depth + 1))
    return "\n".join(lines)


def _room(tree: Tree) -> int | None:
    """How deep a tree can be drawn; None for all of it."""
    nodes = np.bincount(tree.depths)
    letters = np.cumsum(3 * np.arange(len(nodes)) * nodes)
    return None if letters[-1] <= _ROOM else int(np.searchsorted(letters, _ROOM, side="right")) - 1


def _on_one_line(text: str) -> str:
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)

"""The pictures of the documentation, made by the code that they show."""

from __future__ import annotations

from pathlib import Path

__all__ = ["make"]


def make(folder: Path) -> None:
    """Write every picture into a folder."""
    from countwise import BayesNetworkClassifier, TreeClassifier, samples
    from countwise.plots import draw_network, draw_tree

    folder.mkdir(parents=True, exist_ok=True)
    weather = samples.load("weather")
    tree = TreeClassifier().fit(weather.frame, "play")
    (folder / "tree.svg").write_text(draw_tree(tree), encoding="utf-8")
    credit = samples.load("credit")
    network = BayesNetworkClassifier("tan").fit(credit.frame, "Status")
    (folder / "network.svg").write_text(draw_network(network), encoding="utf-8")

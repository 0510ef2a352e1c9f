"""Cuts by Orange's EntropyMDL on two public tables, written as JSON: the reference of test_discretize.py.

To make it anew, with Orange3 and pandas installed and ``penguins.csv`` and ``credit.csv`` in a folder
(``countwise samples penguins -o penguins.csv`` writes one of them)::

    python orange_cuts.py FOLDER > orange_cuts.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

TARGETS = {"penguins": "species", "credit": "Status"}


def cuts_of(folder: Path, name: str, target: str) -> dict[str, list[float]]:
    """The cuts of every numeric column of a table; rows without a class are left out."""
    import pandas as pd
    from Orange.data import ContinuousVariable, DiscreteVariable, Domain, Table
    from Orange.preprocess.discretize import EntropyMDL

    frame = pd.read_csv(folder / f"{name}.csv")
    frame = frame[frame[target].notna()]
    numeric = [c for c in frame.columns if c != target and pd.api.types.is_numeric_dtype(frame[c])]
    classes = sorted(frame[target].astype(str).unique())
    codes = frame[target].astype(str).map({label: code for code, label in enumerate(classes)})
    domain = Domain([ContinuousVariable(c) for c in numeric], DiscreteVariable(target, values=classes))
    table = Table.from_numpy(domain, frame[numeric].to_numpy(float), codes.to_numpy(float))
    rule = EntropyMDL(force=False)
    return {v.name: [float(cut) for cut in rule(table, v).compute_value.points] for v in domain.attributes}


def main() -> None:
    """Print the cuts of both tables, with the version of Orange that made them."""
    import Orange

    cuts = {name: cuts_of(Path(sys.argv[1]), name, target) for name, target in TARGETS.items()}
    print(json.dumps({"orange": Orange.__version__, "cuts": cuts}, indent=1))  # noqa: T201 - it is what it is for


if __name__ == "__main__":
    main()

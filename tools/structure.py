"""Measure how easy the tree is to enter: modules, rooms, layers, ladders of classes, and the way of a row.

python tools/structure.py            print the figures
python tools/structure.py --write    and put them into docs/architecture.md
python tools/structure.py --trace    only the calls of fit, predict_proba and explain
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

TOP = Path(__file__).parents[1]
PACKAGE = TOP / "src" / "countwise"
PAGE = TOP / "docs" / "architecture.md"
START, END = "<!-- figures: tools/structure.py --write -->", "<!-- end of figures -->"


def modules(package: Path = PACKAGE) -> dict[str, Path]:
    """Every module by its dotted name."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(known: dict[str, Path]) -> dict[str, set[str]]:
    """Which of our modules each module imports, anywhere in it."""
    found: dict[str, set[str]] = {}
    for name, path in known.items():
        own = found[name] = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                own |= {alias.name for alias in node.names if alias.name in known}
            elif isinstance(node, ast.ImportFrom) and node.module in known and node.level == 0:
                for alias in node.names:
                    inner = f"{node.module}.{alias.name}"
                    own.add(inner if inner in known else str(node.module))
    return found


def single_importers(known: dict[str, Path]) -> list[str]:
    """Modules that one other module imports; re-exports, `model.py` and `working.py` do not count."""
    packages = {name for name, path in known.items() if path.name == "__init__.py"}
    importers: dict[str, set[str]] = defaultdict(set)
    for name, others in imports(known).items():
        for other in others:
            if name not in packages:
                importers[other].add(name)
    leaf = {name for name in known if name not in packages and name.rsplit(".", 1)[-1] != "working"}
    return sorted(name for name in leaf if len(importers[name]) == 1)


def rooms(known: dict[str, Path]) -> dict[str, int]:
    """How many modules lie in each folder, without `__init__`."""
    found: dict[str, int] = defaultdict(int)
    for path in known.values():
        if path.name not in ("__init__.py", "__main__.py"):
            found[str(path.parent.relative_to(PACKAGE.parent))] += 1
    return dict(found)


def layers() -> tuple[int, int]:
    """How many layers the import contract has, and how many exceptions."""
    (contract,) = tomllib.loads((TOP / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    return len(contract["layers"]), len(contract.get("ignore_imports", ()))


def deepest() -> tuple[int, str]:
    """The most classes of ours in the line of one public class."""
    import countwise

    found = []
    for name in countwise.__all__:
        value = getattr(countwise, name)
        if isinstance(value, type):
            own = [cls for cls in value.__mro__ if cls.__module__.partition(".")[0] == "countwise"]
            found.append((len(own), name))
    return max(found)


def naming(word: str, known: dict[str, Path]) -> list[str]:
    """The modules whose code names a word."""
    return [name for name, path in known.items() if re.search(rf"\b{word}\b", path.read_text())]


def importing(library: str, known: dict[str, Path]) -> list[str]:
    """The modules that import a library."""
    pattern = rf"^\s*(?:import {library}|from {library})\b"
    return [name for name, path in known.items() if re.search(pattern, path.read_text(), re.MULTILINE)]


# -- the way of a row ---------------------------------------------------------------------------


def traced(work: Any) -> tuple[int, int]:
    """Calls of our functions, and changes from one package to another, of a warm run."""
    work()
    calls = switches = 0
    last = ""
    home = f"{Path(sys.modules['countwise'].__file__ or '').parent}/"

    def look(frame: Any, event: str, _: Any) -> None:
        nonlocal calls, switches, last
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(home):
            room = file[len(home) :].partition("/")[0]
            calls += 1
            switches += room != last
            last = room

    sys.setprofile(look)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls, switches


def ways() -> dict[str, tuple[int, int]]:
    """Calls and switches of the usual work on a table of 18 rows."""
    import numpy as np

    from countwise import NaiveBayesClassifier, TreeClassifier

    rng = np.random.default_rng(0)
    X = {
        "wind": np.array([("north", "east", "west")[i % 3] for i in range(18)], dtype=object),
        "rain": np.array([("yes", "no")[i % 2] for i in range(18)], dtype=object),
        "temp": rng.normal(20, 5, 18),
        "sun": rng.normal(5, 2, 18),
    }
    y = np.array([("a", "b")[int(x > 20)] for x in X["temp"]], dtype=object)
    model = NaiveBayesClassifier().fit(X, y)
    found = {
        "naive Bayes, fit": traced(lambda: NaiveBayesClassifier().fit(X, y)),
        "naive Bayes, predict_proba": traced(lambda: model.predict_proba(X)),
        "naive Bayes, explain": traced(lambda: model.explain(X)),
        "tree, fit": traced(lambda: TreeClassifier().fit(X, y)),
    }
    try:
        import duckdb
        import pyarrow as pa
    except ImportError:
        return found
    rows = pa.table({**{name: pa.array(column) for name, column in X.items()}, "class": pa.array(y)})
    relation = duckdb.connect().from_arrow(rows)
    found["naive Bayes, fit in DuckDB"] = traced(lambda: NaiveBayesClassifier().fit(relation, "class"))
    return found


def figures() -> dict[str, Any]:
    """All that is counted, by what it is called on the page."""
    known = modules()
    many, few = rooms(known), single_importers(known)
    depth, name = deepest()
    n_layers, exceptions = layers()
    return {
        "layers of the import contract": n_layers,
        "exceptions from it": exceptions,
        "modules": len(known),
        "largest room": max(f"{n} ({room})" for room, n in many.items() if n == max(many.values())),
        "modules alone in their room": sum(n == 1 for n in many.values()),
        "modules with a single importer": len(few),
        "own classes in the deepest line": f"{depth} ({name})",
        "modules that import narwhals": len(importing("narwhals", known)),
        "modules that name Poisson": len(naming("Poisson", known)),
        "lines of Python": sum(len(path.read_text().splitlines()) for path in known.values()),
    }


def page_section() -> str:
    """The figures as two tables."""
    lines = [START, "", "| what | how many |", "|---|---|"]
    lines += [f"| {name} | {value} |" for name, value in figures().items()]
    lines += ["", "| warm, 18 rows | calls | changes of package |", "|---|---|---|"]
    lines += [f"| {name} | {calls} | {switches} |" for name, (calls, switches) in ways().items()]
    return "\n".join([*lines, "", END])


def main() -> None:
    """Print the figures, or write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--trace", action="store_true")
    parser.add_argument("--single", action="store_true", help="list the modules with a single importer")
    asked = parser.parse_args()
    if asked.trace:
        for name, (calls, switches) in ways().items():
            print(f"{name:28} {calls:5} calls {switches:5} switches")
        return
    if asked.single:
        print("\n".join(single_importers(modules())))
        return
    section = page_section()
    print(section)
    if asked.write:
        text = PAGE.read_text()
        PAGE.write_text(text[: text.index(START)] + section + text[text.index(END) + len(END) :])


if __name__ == "__main__":
    main()

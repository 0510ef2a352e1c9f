"""Report figures on the structure of the code: modules, packages, layers, inheritance depth, and calls per task.

python tools/structure.py            print the figures
python tools/structure.py --write    also write them to docs/architecture.md
python tools/structure.py --trace    print only the calls of fit, predict_proba and explain
python tools/structure.py --single   list the modules with a single importer
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
    """Return the path of every module by its dotted name."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(known: dict[str, Path]) -> dict[str, set[str]]:
    """Return the modules of the package that each module imports, at any level."""
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
    """Return the modules that exactly one other module imports; re-exports and `working.py` do not count."""
    packages = {name for name, path in known.items() if path.name == "__init__.py"}
    importers: dict[str, set[str]] = defaultdict(set)
    for name, others in imports(known).items():
        for other in others:
            if name not in packages:
                importers[other].add(name)
    leaf = {name for name in known if name not in packages and name.rsplit(".", 1)[-1] != "working"}
    return sorted(name for name in leaf if len(importers[name]) == 1)


def folder_sizes(known: dict[str, Path]) -> dict[str, int]:
    """Return the number of modules in each folder, without `__init__` and `__main__`."""
    found: dict[str, int] = defaultdict(int)
    for path in known.values():
        if path.name not in ("__init__.py", "__main__.py"):
            found[str(path.parent.relative_to(PACKAGE.parent))] += 1
    return dict(found)


def layers() -> tuple[int, int]:
    """Return the number of layers of the import contract, and the number of exceptions."""
    (contract,) = tomllib.loads((TOP / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    return len(contract["layers"]), len(contract.get("ignore_imports", ()))


def deepest() -> tuple[int, str]:
    """Return the largest number of countwise classes in the MRO of a public class, and its name."""
    import countwise

    found = []
    for name in countwise.__all__:
        value = getattr(countwise, name)
        if isinstance(value, type):
            own = [cls for cls in value.__mro__ if cls.__module__.partition(".")[0] == "countwise"]
            found.append((len(own), name))
    return max(found)


def mentioning(word: str, known: dict[str, Path]) -> list[str]:
    """Return the modules whose source contains a word."""
    return [name for name, path in known.items() if re.search(rf"\b{word}\b", path.read_text())]


def importing(library: str, known: dict[str, Path]) -> list[str]:
    """Return the modules that import a library."""
    pattern = rf"^\s*(?:import {library}|from {library})\b"
    return [name for name, path in known.items() if re.search(pattern, path.read_text(), re.MULTILINE)]


# -- calls per task -----------------------------------------------------------------------------


def traced(work: Any) -> tuple[int, int]:
    """Return the number of calls of countwise functions and of changes between packages, in a second run."""
    work()
    calls = switches = 0
    last = ""
    home = f"{Path(sys.modules['countwise'].__file__ or '').parent}/"

    def look(frame: Any, event: str, _: Any) -> None:
        nonlocal calls, switches, last
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(home):
            package = file[len(home) :].partition("/")[0]
            calls += 1
            switches += package != last
            last = package

    sys.setprofile(look)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls, switches


def call_counts() -> dict[str, tuple[int, int]]:
    """Return the calls and package changes of common tasks on a table of 18 rows."""
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
    table = duckdb.connect().from_arrow(rows)
    found["naive Bayes, fit in DuckDB"] = traced(lambda: NaiveBayesClassifier().fit(table, "class"))
    return found


def figures() -> dict[str, Any]:
    """Return all figures by their label on the page."""
    known = modules()
    sizes, single = folder_sizes(known), single_importers(known)
    depth, name = deepest()
    n_layers, exceptions = layers()
    return {
        "layers of the import contract": n_layers,
        "exceptions from the import contract": exceptions,
        "modules": len(known),
        "modules in the largest folder": max(
            f"{n} ({folder})" for folder, n in sizes.items() if n == max(sizes.values())
        ),
        "folders with a single module": sum(n == 1 for n in sizes.values()),
        "modules with a single importer": len(single),
        "countwise classes in the longest MRO": f"{depth} ({name})",
        "modules that import narwhals": len(importing("narwhals", known)),
        "modules that mention Poisson": len(mentioning("Poisson", known)),
        "lines of Python": sum(len(path.read_text().splitlines()) for path in known.values()),
    }


def page_section() -> str:
    """Return the figures as two Markdown tables."""
    lines = [START, "", "| figure | value |", "|---|---|"]
    lines += [f"| {name} | {value} |" for name, value in figures().items()]
    lines += ["", "| task (18 rows, second run) | calls | package changes |", "|---|---|---|"]
    lines += [f"| {name} | {calls} | {switches} |" for name, (calls, switches) in call_counts().items()]
    return "\n".join([*lines, "", END])


def main() -> None:
    """Print the figures, and optionally write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the figures to docs/architecture.md")
    parser.add_argument("--trace", action="store_true", help="print only the numbers of calls")
    parser.add_argument("--single", action="store_true", help="list the modules with a single importer")
    args = parser.parse_args()
    if args.trace:
        for name, (calls, switches) in call_counts().items():
            print(f"{name:28} {calls:5} calls {switches:5} package changes")
        return
    if args.single:
        print("\n".join(single_importers(modules())))
        return
    section = page_section()
    print(section)
    if args.write:
        text = PAGE.read_text()
        PAGE.write_text(text[: text.index(START)] + section + text[text.index(END) + len(END) :])


if __name__ == "__main__":
    main()

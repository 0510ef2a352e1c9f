"""The page on the architecture names what there is, and the tree keeps to its limits."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

import countwise

TOP = Path(__file__).parents[2]
PAGE = (TOP / "docs" / "architecture.md").read_text()
_spec = importlib.util.spec_from_file_location("structure", TOP / "tools" / "structure.py")
assert _spec is not None
assert _spec.loader is not None
structure = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(structure)


def test_every_path_on_the_page_exists():
    paths = re.findall(r"`((?:src|tests|tools)/[\w/.]+)`", PAGE)
    assert len(paths) > 40
    assert [path for path in paths if not (TOP / path).exists()] == []


def test_every_package_is_on_the_page():
    packages = {path.parent.relative_to(TOP) for path in (TOP / "src" / "countwise").rglob("__init__.py")}
    packages.discard(Path("src/countwise"))
    assert [str(package) for package in packages if f"`{package}/`" not in PAGE] == []


def test_the_tree_keeps_to_its_limits():
    known = structure.modules()
    rooms = structure.folder_sizes(known)
    assert structure.layers() == (11, 0)
    assert len(known) <= 300
    assert max(rooms.values()) <= 20
    assert min(rooms.values()) >= 2 or [room for room, n in rooms.items() if n == 1] == []
    assert len(structure.single_importers(known)) <= 60
    assert structure.deepest()[0] <= 8
    assert len(structure.mentioning("Poisson", known)) <= 5


def test_narwhals_is_imported_only_where_tables_of_others_are_opened():
    where = structure.importing("narwhals", structure.modules())
    allowed = ("countwise.data.frames", "countwise.data.series", "countwise.engines.", "countwise.scoring.")
    assert [name for name in where if not name.startswith(allowed)] == []


def test_there_are_46_public_names_at_the_root():
    assert len([name for name in countwise.__all__ if name != "__version__"]) == 46
    for space in countwise.registry.NAMESPACES:
        assert getattr(countwise, space).__name__ == f"countwise.{space}"


@pytest.mark.parametrize("kind", countwise.registry.KINDS.values(), ids=lambda kind: kind.name)
def test_a_learner_is_one_public_class_with_one_docstring(kind):
    cls = countwise.registry.class_of(kind)
    assert getattr(countwise, kind.name) is cls
    assert "Parameters\n" in cls.__doc__
    assert "Examples\n" in cls.__doc__
    assert callable(cls.summary)
    assert callable(cls.tables)

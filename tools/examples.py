"""Run the examples of docstrings and pages, and with --write put in what they print.

    python tools/examples.py                          every docstring and page
    python tools/examples.py --write docs/start.md    mend one file

A page is Markdown. Its `pycon` blocks share one namespace, its `console` blocks one folder: every line that starts
with `$ ` is run by bash, and the lines below it are what it prints at 80 columns. `<!-- setup: COMMAND -->` runs a
command that the page does not show. `...` matches any text.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import importlib
import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "countwise"
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
_CHECK = doctest.OutputChecker()
_RAISED = "raised"  # what an example that fails with an error prints; it is never written into a file


@dataclass(frozen=True)
class Failure:
    """An example that printed something else: its lines in the file (from 0), and what it printed."""

    first: int
    last: int  # exclusive
    command: str
    wanted: str
    got: str
    indent: int = 0
    blank: str = ""

    def __str__(self) -> str:
        return f"line {self.first}: {self.command}\n--- shown\n{self.wanted}\n--- printed\n{self.got}"


def pages() -> list[Path]:
    """The README and every page of the documentation that a person wrote."""
    made = {"_build", "api", "_static"}
    found = (ROOT / "docs").rglob("*.md")
    return [ROOT / "README.md", *sorted(page for page in found if not made & set(page.parts))]


def modules() -> list[Path]:
    """The modules of the library."""
    return sorted(SOURCE.rglob("*.py"))


class _Runner(doctest.DocTestRunner):
    """A runner that keeps what failed."""

    def __init__(self) -> None:
        super().__init__(optionflags=FLAGS, verbose=False)
        self.failed: list[tuple[doctest.Example, str]] = []

    def report_start(self, out: Any, test: doctest.DocTest, example: doctest.Example) -> None:
        pass

    def report_failure(self, out: Any, test: doctest.DocTest, example: doctest.Example, got: str) -> None:
        # the frames of a traceback name paths of this machine
        self.failed.append((example, re.sub(r"(?m)^(Traceback .*\n)(?:[ ].*\n)+", r"\1    ...\n", got)))

    def report_unexpected_exception(
        self, out: Any, test: doctest.DocTest, example: doctest.Example, exc_info: Any
    ) -> None:
        self.failed.append((example, f"{_RAISED} {exc_info[0].__name__}: {exc_info[1]}\n"))


def _run_python(text: str, names: dict[str, Any], start: int, label: str) -> list[Failure]:
    """The examples of one text whose first line is line `start` of its file."""
    test = doctest.DocTestParser().get_doctest(text, names, label, None, 0)
    runner = _Runner()
    runner.run(test, out=lambda text: None, clear_globs=False)
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
    names.update(test.globs)
    failures = []
    for example, got in runner.failed:
        first = start + example.lineno + example.source.count("\n")
        last = first + example.want.count("\n")
        failures.append(
            Failure(first, last, example.source.strip(), example.want, got, example.indent, "<BLANKLINE>")
        )
    return failures


def run_module(path: Path) -> list[Failure]:
    """Run the examples in the docstrings of a module."""
    source = path.read_text(encoding="utf-8")
    if ">>>" not in source:
        return []
    name = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")
    module = importlib.import_module(name)
    failures = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        text = ast.get_docstring(node, clean=False)
        if text and ">>>" in text:
            failures += _run_python(text, dict(vars(module)), node.body[0].lineno - 1, name)
    return failures


def _blocks(lines: list[str]) -> Iterator[tuple[str, int, int]]:
    """The language of each fenced block, its first line and the line of its end; `setup` comments likewise."""
    at = 0
    while at < len(lines):
        fence = re.match(r"\s*(```+|~~~+)\s*\{?([\w-]*)", lines[at])
        if re.match(r"<!-- setup: .* -->", lines[at]):
            yield "setup", at, at + 1
        elif fence:
            end = next(k for k in range(at + 1, len(lines)) if lines[k].strip() == fence[1])
            yield fence[2], at + 1, end
            at = end
        at += 1


def _shell(command: str) -> str:
    # as a terminal of 80 columns shows it; errors of commands are shown too
    environment = {
        **os.environ,
        "COLUMNS": "80",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    done = subprocess.run(
        ["bash", "-c", command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        check=False,
    )
    return done.stdout


def _run_console(lines: list[str], first: int, end: int) -> list[Failure]:
    failures, at = [], first
    while at < end:
        if not lines[at].startswith("$ "):
            raise ValueError(f"line {at + 1}: a console block begins with '$ ', not {lines[at]!r}.")
        command = lines[at][2:]
        while command.endswith("\\"):
            at += 1
            command = command[:-1] + lines[at].strip().removeprefix("> ")
        last = next((k for k in range(at + 1, end) if lines[k].startswith("$ ")), end)
        wanted = "".join(f"{line}\n" for line in lines[at + 1 : last])
        got = "".join(f"{line.rstrip()}\n" for line in _shell(command).rstrip().splitlines())
        if not _CHECK.check_output(wanted, got, doctest.ELLIPSIS):
            failures.append(Failure(at + 1, last, command, wanted, got))
        at = last
    return failures


def run_page(path: Path) -> list[Failure]:
    """Run the blocks of a page in an empty folder."""
    lines = path.read_text(encoding="utf-8").splitlines()
    failures: list[Failure] = []
    names: dict[str, Any] = {"__name__": "__main__"}
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for language, first, end in _blocks(lines):
                if language == "setup":
                    command = lines[first][len("<!-- setup: ") : -len(" -->")]
                    subprocess.run(
                        ["bash", "-c", f"PATH={Path(sys.executable).parent}:$PATH; {command}"],
                        check=True,
                        stdout=subprocess.DEVNULL,
                    )
                elif language == "pycon":
                    text = "\n".join(lines[first:end]) + "\n"
                    failures += _run_python(text, names, first, path.name)
                elif language == "console":
                    failures += _run_console(lines, first, end)
        finally:
            os.chdir(before)
    return failures


def mend(path: Path, failures: list[Failure]) -> None:
    """Put what the examples printed in the place of what the file shows."""
    lines = path.read_text(encoding="utf-8").split("\n")
    failures = [failure for failure in failures if not failure.got.startswith(_RAISED)]
    for failure in sorted(failures, key=lambda f: -f.first):
        new = [
            (" " * failure.indent + (line.rstrip() or failure.blank)).rstrip()
            for line in failure.got.rstrip("\n").split("\n")
        ]
        lines[failure.first : failure.last] = new if failure.got.strip() else []
    path.write_text("\n".join(lines), encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Run the examples of some files, or of all."""
    write = "--write" in arguments
    chosen = [Path(a).resolve() for a in arguments if a != "--write"] or [*modules(), *pages()]
    bad = 0
    for path in chosen:
        with contextlib.redirect_stdout(io.StringIO()):
            failures = (run_module if path.suffix == ".py" else run_page)(path)
        bad += len(failures)
        for failure in failures:
            print(f"{path.relative_to(ROOT)} {failure}\n")
        if write and failures:
            mend(path, failures)
    print(f"{bad} examples {'mended' if write else 'failed'}")
    return int(bool(bad) and not write)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

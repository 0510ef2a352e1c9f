"""Command lines: exit status 0, 1 or 2, no traceback, and no note that is not one of Countwise."""

from __future__ import annotations

import contextlib
import io
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import click

import countwise as cw
from countwise.cli import group, main

from ...strategies.bytes import damaged
from ...strategies.commands import command_line
from ...strategies.draw import Draw
from .bytes import written
from .guard import Guard
from .models import ASIA

__all__ = ["case"]

SOUND = "a,b,y\n" + "".join(f"{(7 * i) % 11 / 2},{'uvw'[i % 3]},{'pq'[i * i % 3 % 2]}\n" for i in range(18))


@cache
def _commands() -> dict[str, click.Command]:
    context = click.Context(group)
    found = {name: group.get_command(context, name) for name in group.list_commands(context)}
    return {name: command for name, command in found.items() if command is not None and name != "demo"}


@cache
def _models() -> dict[str, bytes]:
    """The model files of every folder."""
    Path("sound.csv").write_text(SOUND, encoding="utf-8")
    frame = cw.read("sound.csv")
    cw.save(cw.NaiveBayesClassifier().fit(frame, "y"), "m.json")
    cw.save(cw.TreeClassifier().fit(frame, "y"), "tree.json")
    cw.save(cw.BayesNetworkClassifier("tan").fit(frame, "y"), "net.json")
    return {name: Path(name).read_bytes() for name in ("m.json", "tree.json", "net.json")}


def case(draw: Draw, guard: Guard) -> None:
    for name, raw in _models().items():
        Path(name).write_bytes(raw)
    Path("sound.csv").write_text(SOUND, encoding="utf-8")
    Path("damaged.json").write_bytes(damaged(draw, _models()["m.json"]))
    shutil.copy(ASIA, "asia.bif")
    odd = written(draw)
    for _ in range(draw.integer(1, 4)):
        arguments = command_line(draw, _commands(), odd.name)
        shown = f"countwise {arguments!r}; {odd.name} is {odd.read_bytes()[:300]!r}"
        done = guard(shown, lambda a=arguments: run(a))
        if done.ok:
            check(guard, arguments[0], shown, *done.value)


def run(arguments: list[str]) -> tuple[Any, str, str]:
    """Exit status, output and messages of a command, as `countwise` in a terminal would have them."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    status: Any = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(arguments)
        except SystemExit as leave:
            status = leave.code
    texts = []
    for stream in (out, err):
        with contextlib.suppress(ValueError):  # the command closed it
            stream.flush()
        texts.append("" if stream.closed else stream.buffer.getvalue().decode())  # type: ignore[attr-defined]
    return status, texts[0], texts[1]


def check(guard: Guard, name: str, shown: str, status: Any, out: str, err: str) -> None:
    if status in (1, 2):
        guard.refusals += 1
    guard.holds(status in (0, 1, 2), f"{name}: exit status {status}", f"{shown} {err}")
    guard.holds("Traceback" not in err + out, f"{name}: a traceback", f"{err} {shown}")
    known = all(
        line.startswith(("Error:", "Note:", "Usage:", "Try", "Warning:", " ")) or not line
        for line in err.splitlines()
    )
    guard.holds(known or status == 0, f"{name}: an odd message", f"{err!r} {shown}")
    if status:
        guard.holds((err + out).strip(), f"{name}: refuses without a word", shown)
    data = name in ("sql", "predict") or "--sql" in shown  # which is unchanged where no terminal shows it
    guard.holds("\x1b" not in err + out * (not data), f"{name}: control characters", f"{out[:200]!r} {err!r} {shown}")

"""Random command lines for the files of a folder."""

from __future__ import annotations

from typing import Any

import click

from .draw import Draw

__all__ = ["command_line"]

ODD = "t.csv"  # stands for the odd table of a folder
_MODELS = ["m.json", "tree.json", "net.json", "asia.bif", "damaged.json", "no.json", ODD]
_TABLES = ["sound.csv", ODD, "no.csv", "m.json", "."]
_ANY = ["", "x", "-1", "0", "1", "2", "nan", "1e308", "a", "y", "a,b", "=", "a=", "a=b=c", "ü", "\x1b[1m", "--", "-",
        "sound.csv", "99999999999999999999", "a" * 3000, "1:2:3", "0.5", "out.txt", "/dev/null",
        "no/such/folder/x", "."]  # fmt: skip
_BY_NAME: dict[str, list[str]] = {
    "target": ["y", "y", "y", "y", "y", "y", "y", "y", "b", "a", "no"],
    "weights": ["a", "w", "y", "no"],
    "drop": ["a", "b", "a,b", "y", "no"],
    "types": [
        "a=nominal",
        "a=numeric",
        "b=text",
        "a=count",
        "b=ordinal",
        "a=boolean",
        "b=numeric",
        "a=x",
        "no=nominal",
        "a",
    ],
    "option": [
        "max_depth=2",
        "n_neighbors=3",
        "criterion=gini",
        "structure=tan",
        "bandwidth=1",
        "x=1",
        "max_depth=-1",
        "covariance=own",
        "max_depth=nan",
        "metric=manhattan",
        "missing=branch",
        "structure=hill_climb",
        "pruning=pessimistic",
    ],
    "distribution": ["auto", "kernel", "a=poisson", "mdl", "b=gaussian", "multinomial", "x", "no=auto", "a=binned"],
    "smoothing": ["0", "1", "global", "m=2", "m=x", "-1", "nan", "1e308"],
    "set": ["a=1", "b=u", "a=1,b=v", "a=x", "no=1", "a", "a=1e308", "b=", "a=nan,b=zzz", "bill_length_mm=1"],
    "given": ["smoke=yes", "dysp=yes,smoke=no", "smoke=x", "no=yes", "smoke", "a=1"],
    "row": ["0", "1", "-1", "99"],
    "output": ["out.csv", "out.json", "-", "out.svg", "no/out.json", "m.json", "."],
    "svg": ["out.svg", "-", "no/x.svg"],
    "memory": ["500MB", "256MB", "1", "x", "-1GB"],
    "cost": ["fn=5,fp=1", "fn=x", "p:q=2", "no:q=1", "fn=-1", "fn=nan", "fn=1e308"],
    "positive": ["p", "q", "no"],
    "by": ["b", "a", "y", "no", "information_gain", "chi_square", "gain_ratio", "sd_reduction", "x"],
    "score": ["accuracy", "log_loss", "brier", "roc_auc", "x", "calibration_error", "balanced_accuracy"],
    "sizes": ["2,4", "0.5,1.0", "1", "99", "x", "0", "-1"],
    "k": ["1:3", "1,2", "0:2", "x", "3:1", "1:999999999"],
    "widths": ["0.1:2:3", "0.5,1", "0:1", "x", "-1:1", "1:1e308:3"],
    "method": [
        "mdl",
        "equal_width",
        "a=2:3",
        "a=x",
        "x",
        "min_n",
        "kmeans",
        "naive",
        "b=mdl",
        "exact",
        "gibbs",
        "likelihood_weighting",
    ],
    "bins": ["3", "leave_one_out", "0", "x", "-1", "300"],
    "only": ["naive bayes", "lda", "rote", "one rule", "x"],
    "without": ["naive bayes", "parzen", "x"],
    "numeric": ["mdl", "gaussian", "equal_width", "x"],
    "pmi": ["b", "a", "no", "y"],
    "table": ["t", "a.b", '"', "", "t; drop", "ü"],
    "sql": ["t", "", '"'],
    "missing": ["a", "b", "no"],
    "interval": ["0.9", "0", "1", "2", "nan", "-1"],
    "n": ["1", "3", "0", "-1", "100"],
    "cv": ["2", "3", "1", "99"],
    "repeats": ["1", "2", "0"],
}
_ARGUMENTS: dict[str, list[str]] = { "model": _MODELS, "models": _MODELS, "file": _TABLES, "files": _TABLES,
                                    "path": _TABLES, "paths": _TABLES, "nodes": ["smoke", "lung", "dysp", "no", "a",
                                    "y"], "attribute": ["a", "b", "smoke", "no", "y"], "name": ["weather", "no",
                                    "tennis"], }  # fmt: skip


def _option(draw: Draw, option: click.Option) -> list[str]:
    """One option with a value: mostly one that suits it."""
    name = draw.pick([*option.opts, *option.secondary_opts])
    if option.is_flag:
        return [name]
    if isinstance(option.type, click.Choice) and not draw.chance(8):
        return [name, str(draw.pick(list(option.type.choices)))]
    long = max(option.opts, key=len).lstrip("-")
    values = _BY_NAME.get(long, _BY_NAME.get(option.name or "", []))
    if not values or draw.chance(4):
        return [name, draw.pick(_ANY)]
    return [name, draw.often(30, values[: (len(values) + 1) // 2], values)]


def _argument(draw: Draw, argument: Any) -> list[str]:
    values = _ARGUMENTS.get(argument.name, _TABLES)
    usual_count = 2 if argument.name == "models" else 1
    count = draw.often(15, [usual_count], [0, 1, 2, 3]) if argument.nargs != 1 or draw.chance(2) else 1
    if not argument.required and draw.chance(40):
        count = 0
    usual = values[:4] if values is _MODELS else ["sound.csv", "sound.csv", ODD] if values is _TABLES else values[:3]
    return [draw.pick(_ANY) if draw.chance(2) else draw.often(15, usual, values) for _ in range(count)]


def command_line(draw: Draw, commands: dict[str, click.Command], odd: str) -> list[str]:
    """A command with random options and arguments; `odd` is the name of a table of random bytes."""
    name = draw.pick(sorted(commands))
    found: list[str] = []
    for parameter in commands[name].params:
        if isinstance(parameter, click.Option):
            usual = parameter.required or parameter.name == "target"
            wanted = 97 if usual else 100 // len(commands[name].params)
            if draw.chance(wanted) and parameter.name not in ("help", "jobs"):
                found += _option(draw, parameter)
        else:
            found += _argument(draw, parameter)
    return [name, *(odd if part == ODD else part for part in found)]

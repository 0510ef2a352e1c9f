"""Every example that `countwise COMMAND --help` shows runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import click
import pandas as pd
import pytest

from countwise import BayesNetwork, NaiveBayesClassifier, TreeClassifier, samples, save
from countwise.cli import group


def _examples() -> list[str]:
    with click.Context(group) as context:
        texts = [group.get_command(context, name).help or "" for name in group.list_commands(context)]  # type: ignore[union-attr]
    return [line.strip() for text in texts for line in text.splitlines() if re.match(r"\s+countwise ", line)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the examples name."""
    path = tmp_path_factory.mktemp("help")
    tables = {
        name: pd.DataFrame(samples.load(name).frame) for name in ("credit", "penguins", "sms", "tennis", "hours")
    }
    credit = tables["credit"].sample(800, random_state=0)
    for name, table in {**tables, "credit": credit, "new": credit[:100], "withdrawn": credit[:3]}.items():
        table.to_csv(path / f"{name}.csv", index=False)
    tables["sms"][:200].to_csv(path / "sms.tsv", sep="\t", index=False)
    credit[:50].to_parquet(path / "new.parquet")
    weather = pd.DataFrame(samples.load("weather").frame)
    weather.to_csv(path / "days.csv", index=False)
    source = Path(samples.__file__).parent / "weather.numeric.arff"
    (path / "weather.arff").write_bytes(source.read_bytes())
    for name in ("days", "sales", "march", "sites"):
        (path / name).mkdir()
    weather.to_parquet(path / "days" / "first.parquet")
    credit.rename(columns={"Status": "returned"}).to_parquet(path / "sales" / "first.parquet")
    credit[50:90].to_csv(path / "march" / "first.csv", index=False)
    save(NaiveBayesClassifier().fit(weather, "play"), path / "weather.json")
    save(NaiveBayesClassifier().fit(credit, "Status"), path / "credit.json")
    for name, rows in (("north", credit[:200]), ("south", credit[200:])):
        for place in (path, path / "sites"):
            save(NaiveBayesClassifier().fit(rows, "Status"), place / f"{name}.json")
    save(TreeClassifier().fit(weather, "play"), path / "tree.json")
    save(BayesNetwork("chow_liu").fit(tables["tennis"]), path / "net.json")
    asia = BayesNetwork({"lung": ["smoke"], "dysp": ["lung"]})
    yes_no = {name: ["yes", "no", "yes", "no", "no", "yes"] for name in ("smoke", "lung", "dysp")}
    asia.fit(yes_no).write_bif(path / "asia.bif")
    return path


def test_every_command_but_the_simplest_shows_an_example():
    commands = {line.split()[1] for line in _examples()}
    assert commands == set(group.list_commands(None)) - {"demo"}  # type: ignore[arg-type]


@pytest.mark.parametrize("example", _examples())
def test_examples_of_the_help_run(example, folder):
    command = example.replace("countwise ", f"{sys.executable} -m countwise ", 1)
    done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr

"""countwise compare."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from countwise import compare, samples

from .running import ENVIRONMENT, run

SAMPLES = Path(samples.__file__).parent


def test_it_tells_what_the_function_tells() -> None:
    told = json.loads(
        run("compare", str(SAMPLES / "penguins.csv"), "-y", "species", "--only", "naive bayes,lda", "--cv", "4",
            "--seed", "2", "--drop", "year", "--no-curve", "--json").stdout
    )  # fmt: skip
    penguins = samples.load("penguins")
    X = {name: column for name, column in penguins.X.items() if name != "year"}
    found = compare(X, penguins.y, only=["naive Bayes", "LDA"], cv=4, random_state=2, curve=False)
    assert [row["accuracy"] for row in told["learners"]] == found.table["accuracy"]
    assert told["verdict"] == found.verdict
    assert told["curve"] == []


def test_it_is_read_in_a_hundred_columns() -> None:
    told = run("compare", str(SAMPLES / "tennis.csv"), "-y", "play", "--cv", "5").stdout
    assert max(len(line) for line in told.splitlines()[1:]) <= 100
    assert "majority class" in told
    assert "Not evaluated:" in told


def test_what_is_wrong_is_a_line() -> None:
    assert "did you mean 'play'" in run("compare", str(SAMPLES / "tennis.csv"), "-y", "plai", check=1).stderr
    wrong = run("compare", str(SAMPLES / "tennis.csv"), "-y", "play", "--only", "tans", check=1).stderr
    assert "There is no learner 'tans'" in wrong
    assert wrong.count("\n") == 1


@pytest.mark.skipif(os.name == "nt", reason="signals of a terminal")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_shows_what_is_done_and_is_status_130(jobs: str) -> None:
    # a terminal sends the signal to the whole group of processes
    script = (
        "import importlib, signal, sys\nc = importlib.import_module('countwise.evaluation.compare')\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell may have started us deaf to it
        "plain = c._evaluated\n"
        "def told(*args):\n"
        "    for one in plain(*args):\n"
        "        yield one\n"
        "        print('judged', one[0], file=sys.stderr, flush=True)\n"
        "c._evaluated = told\n"
        "from countwise.cli import main; main()"
    )
    started = subprocess.Popen(
        [sys.executable, "-c", script, "compare", str(SAMPLES / "credit.csv"), "-y", "Status", "-j", jobs,
         "--only", "naive bayes,rules"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT, start_new_session=True,
    )  # fmt: skip
    assert started.stderr is not None
    assert started.stderr.readline() == "judged naive Bayes\n"
    time.sleep(0.5)
    os.killpg(started.pid, signal.SIGINT)
    out, err = started.communicate(timeout=60)
    assert started.returncode == 130, err
    assert any(line.split()[:3] == ["naive", "Bayes", "0.773"] for line in out.splitlines())
    assert "rules: interrupted before it finished" in out
    assert err == "Interrupted: 1 learner was not evaluated.\n"

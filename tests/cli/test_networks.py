"""Networks by the command line."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from countwise import BayesNetwork

from .running import ENVIRONMENT, run

ASIA = Path(__file__).parents[1] / "data" / "asia.bif"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("networks")
    for name in ("weather", "tennis"):
        run("samples", name, "-o", f"{name}.csv", cwd=place)
    shutil.copy(ASIA, place / "asia.bif")
    return place


def test_a_class_is_told_by_a_network_from_training_to_the_working(folder):
    told = run(
        "train", "weather.csv", "-y", "play", "-o", "tan.json", "--model", "network", "--option", "structure=tan",
        cwd=folder,
    ).stdout  # fmt: skip
    assert "network with 7 arcs" in told
    assert "windy ← play, outlook" in told
    answers = list(csv.DictReader(io.StringIO(run("predict", "tan.json", "weather.csv", cwd=folder).stdout)))
    assert len(answers) == 14
    working = run("explain", "tan.json", "--set", "outlook=sunny,temperature=66", cwd=folder).stdout
    assert "P(temperature = 66 | play, outlook = sunny)" in working
    assert "[P(outlook | play)]" in run("show", "tan.json", cwd=folder).stdout


def test_a_net_is_learned_shown_asked_and_drawn(folder):
    options = ("--option", "structure=ordering,criterion=k2,order=play;outlook;temperature;humidity;wind")
    told = run("train", "tennis.csv", "--model", "net", "-o", "net.json", *options, cwd=folder).stdout
    assert "temperature ← play, outlook" in told
    assert "K2 -63.743" in told
    queried = run("ask", "net.json", "play", "--given", "outlook=Overcast", cwd=folder).stdout
    assert queried.startswith("P(play | outlook = Overcast)")
    run("show", "net.json", "--svg", "net.svg", cwd=folder)
    assert ET.parse(folder / "net.svg").getroot().tag.endswith("svg")
    tables = json.loads(run("show", "net.json", "--json", cwd=folder).stdout)
    assert ["play", "outlook"] in tables["arcs"]


def test_the_steps_of_a_structure_search_are_shown(folder):
    options = ("--option", "structure=backward_ordering,criterion=chi_square,alpha=0.3")
    run("train", "tennis.csv", "-o", "steps.json", "--model", "net", *options, cwd=folder)
    shown = run("show", "steps.json", "--steps", cwd=folder).stdout
    assert "it has the largest p, and p > 0.3" in shown
    assert json.loads(run("show", "steps.json", "--steps", "--json", cwd=folder).stdout)["sections"]
    run("show", "asia.bif", "--steps", cwd=folder, check=1)
    run("show", "steps.json", "--steps", "--svg", "x.svg", cwd=folder, check=2)


def test_the_first_steps_of_em_are_shown(folder):
    (folder / "rain.csv").write_text("rain,wet,w\nno,no,2\nyes,yes,1\n?,yes,3\nno,yes,1\n", encoding="utf-8")
    train = ("train", "rain.csv", "--weights", "w", "-o", "em.json")
    options = ("--model", "net", "--option", "structure=chow_liu,smoothing=0", "--em-steps", "1")
    shown = run(*train, *options, cwd=folder).stdout
    assert "Iteration 1, E step: completions" in shown
    assert "2  wet = yes  rain = no" in shown
    assert "Iteration 1, M step: P(wet | rain)" in shown
    assert "E step" not in run(*train, *options[:-2], cwd=folder).stdout
    naive = ("--model", "network", "-y", "wet", "--option", "structure=naive", "--em-steps", "1")
    assert "No value is missing that EM could complete" in run(*train, *naive, cwd=folder).stdout
    done = run("train", "tennis.csv", "-y", "play", "--em-steps", "1", cwd=folder, check=2)
    assert "only with --model net" in done.stderr
    assert "No value is missing" in run("train", "tennis.csv", "--model", "net", "--em-steps", "1", cwd=folder).stdout


def test_a_bif_file_is_asked_in_every_way(folder):
    exact = BayesNetwork.read_bif(ASIA).query("lung", {"dysp": "yes"})
    plain = json.loads(run("ask", "asia.bif", "lung", "--given", "dysp=yes", "--json", cwd=folder).stdout)
    assert plain["probabilities"] == dict(exact)
    drawn = run(
        "ask", "asia.bif", "lung", "--given", "dysp=yes", "--method", "gibbs", "-n", "2000", cwd=folder
    ).stdout
    assert "±" in drawn
    assert "effective sample size" in drawn
    explained = run("ask", "asia.bif", "lung", "--given", "dysp=yes", "--explain", cwd=folder).stdout
    assert "Eliminate asia" in explained
    assert "0.102759" in explained
    best = run("ask", "asia.bif", "--given", "dysp=yes", "--most-probable", cwd=folder).stdout
    assert "bronc = yes" in best
    every = run("ask", "asia.bif", "--given", "DYSP=Yes", cwd=folder).stdout
    assert every.count("P(") == 7
    joint = run("ask", "asia.bif", "lung", "bronc", cwd=folder).stdout
    assert "yes, yes" in joint
    done = run("ask", "asia.bif", "lung", "--do", "SMOKE=no", "--given", "dysp=yes", cwd=folder).stdout
    assert done.startswith("P(lung | do(smoke = no), dysp = yes)")
    cut = run("ask", "asia.bif", "lung", "--do", "bronc=yes", "--json", cwd=folder).stdout
    assert json.loads(cut)["cut"] == [["smoke", "bronc"]]
    run("ask", "asia.bif", "--do", "bronc=yes", "--svg", "do.svg", cwd=folder)
    assert "do(bronc = yes)" in (folder / "do.svg").read_text(encoding="utf-8")
    doing = run("ask", "asia.bif", "lung", "--do", "bronc=yes", "--explain", cwd=folder).stdout
    assert "Setting and observing" in doing
    assert run("ask", "asia.bif", "--do", "bronc=yes", cwd=folder).stdout.count("P(") == 7
    paths = run("ask", "asia.bif", "lung", "bronc", "--separated", "--given", "Smoke,dysp=yes", cwd=folder).stdout
    assert "lung and bronc are not d-separated given smoke, dysp" in paths
    assert "arcs meet at dysp, and it is given" in paths
    run("ask", "asia.bif", "lung", "--separated", cwd=folder, check=2)
    run("ask", "asia.bif", "--given", "dysp=yes", "--svg", "asia.svg", cwd=folder)
    assert "given" in (folder / "asia.svg").read_text(encoding="utf-8")
    assert "[P(lung | smoke)]" in run("show", "asia.bif", cwd=folder).stdout


@pytest.mark.parametrize(
    ("args", "code", "told"),
    [
        (("ask", "none.bif", "lung"), 1, "does not exist"),
        (("ask", "asia.bif", "lungs"), 1, "did you mean 'lung'"),
        (("ask", "asia.bif", "lung", "--given", "dysp=yess"), 1, "did you mean 'yes'"),
        (("ask", "asia.bif", "lung", "--given", "smok=yes"), 1, "did you mean 'smoke'"),
        (("ask", "asia.bif", "xray", "--given", "either=no,tub=yes"), 1, "probability 0"),
        (("ask", "asia.bif", "--explain"), 2, "needs at least one node"),
        (("ask", "asia.bif", "lung", "--do", "smok=yes"), 1, "did you mean 'smoke'"),
        (("ask", "asia.bif", "lung", "--do", "smoke="), 1, "missing value"),
        (("ask", "asia.bif", "--do", "smoke=yes", "--separated"), 2, "--separated needs two nodes"),
        (("train", "weather.csv", "--model", "network"), 2, "Missing option '-y'"),
        (("train", "weather.csv", "-y", "play", "--model", "net"), 2, "--model net has no target"),
        (
            ("train", "weather.csv", "-y", "play", "--model", "network", "--option", "structure=tann"),
            1,
            "did you mean",
        ),
        (("show", "asia.bif", "--rules"), 2, "only with trees"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(folder, args, code, told):
    done = run(*args, cwd=folder, check=code)
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_the_package_runs_as_a_module(folder):
    done = subprocess.run(
        [sys.executable, "-m", "countwise", "ask", "asia.bif", "lung"],
        capture_output=True, text=True, cwd=folder, encoding="utf-8", timeout=120, env=ENVIRONMENT,
    )  # fmt: skip
    assert done.stdout.splitlines() == ["P(lung)", "yes  0.055", "no   0.945"], done.stderr

"""Models of instances by the command line."""

from __future__ import annotations

import csv
import io
import json

import pytest

from countwise import samples

from .running import run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("instances")
    for name in ("weather", "cheat", "hours"):
        run("samples", name, "-o", f"{name}.csv", cwd=place)
    return place


def test_neighbors_are_trained_shown_asked_and_explained(folder):
    options = ("--model", "neighbors", "--option", "n_neighbors=3,nominal=mvdm,numeric=sd")
    told = run("train", "weather.csv", "-y", "play", "-o", "n.json", *options, cwd=folder).stdout
    assert "predicted from 3 neighbors" in told
    assert "value difference" in told
    shown = run("show", "n.json", cwd=folder).stdout
    assert shown.startswith("14 rows, 4 attributes; play: predicted from 3 neighbors")
    answers = list(csv.DictReader(io.StringIO(run("predict", "n.json", "weather.csv", cwd=folder).stdout)))
    assert len(answers) == 14
    assert {row["play"] for row in answers} == {"no", "yes"}
    working = run("explain", "n.json", "weather.csv", "--row", "2", cwd=folder).stdout
    assert "The 3 nearest rows" in working
    assert "Distance to the nearest row (row 2): 0" in working


def test_the_number_of_neighbors_is_chosen_and_told(folder):
    options = ("--model", "neighbors-regression", "--option", "n_neighbors=loo,metric=manhattan")
    run("train", "hours.csv", "-y", "hours", "-o", "h.json", *options, cwd=folder)
    shown = json.loads(run("show", "h.json", "--json", cwd=folder).stdout)
    assert shown["choice"]["n_neighbors"] == list(range(1, 14))
    assert shown["metric"]["attribute"] == list(samples.load("hours").X)


def test_exemplars_are_shown_with_their_weights(folder):
    run("train", "cheat.csv", "-y", "cheat", "-o", "p.json", "--model", "pebls", cwd=folder)
    shown = json.loads(run("show", "p.json", "--json", cwd=folder).stdout)
    assert shown["exemplars"]["weight"][7] == pytest.approx(5 / 3)


def test_rows_learned_by_heart_are_counted(folder):
    told = run("train", "weather.csv", "-y", "play", "-o", "r.json", "--model", "rote", cwd=folder).stdout
    assert "14 distinct rows stored" in told
    assert "14 distinct rows" in run("show", "r.json", cwd=folder).stdout
    answers = list(csv.DictReader(io.StringIO(run("predict", "r.json", "weather.csv", cwd=folder).stdout)))
    assert [row["play"] for row in answers] == list(samples.load("weather").y)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--model", "neighbors", "--option", "nominel=mvdm"), "did you mean 'nominal'?"),
        (("--model", "neighbors", "--option", "n_neighbors=0"), "n_neighbors"),
        (("--model", "neighbors", "--option", "nominal=mvdn"), "mvdm"),
        (("--model", "rote", "--option", "otherwise=never"), "otherwise"),
    ],
)
def test_a_setting_that_there_is_not_is_told(folder, options, told):
    done = run("train", "weather.csv", "-y", "play", *options, cwd=folder, check=None)
    assert done.returncode != 0
    assert told in done.stderr
    assert "Traceback" not in done.stderr

"""What can happen to a model file: mutation, a killed save, a full disk, foreign content."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import countwise as cw
from countwise.errors import ModelFileError


@pytest.fixture(scope="module")
def model():
    weather = cw.samples.load("weather")
    return cw.NaiveBayesClassifier().fit(weather.frame, "play")


@pytest.fixture
def saved(model, tmp_path):
    path = tmp_path / "weather.json"
    cw.save(model, path)
    return path


def test_a_saved_model_answers_bit_for_bit_the_same(model, saved):
    X = cw.samples.load("weather").X
    assert np.array_equal(cw.load(saved).predict_proba(X), model.predict_proba(X))


def test_saving_what_was_loaded_gives_the_same_bytes(saved, tmp_path):
    cw.save(cw.load(saved), tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == saved.read_bytes()


def test_a_loaded_model_goes_on_learning(saved):
    weather = cw.samples.load("weather")
    more = cw.load(saved).partial_fit(weather.frame, "play")
    assert more.class_count_.tolist() == [10, 18]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_mutated_file_is_refused_in_one_line_or_answers_the_same(saved, model, data):
    raw = bytearray(saved.read_bytes())
    place = data.draw(st.integers(0, len(raw) - 1))
    kind = data.draw(st.sampled_from(["flip", "cut", "drop", "twice"]))
    if kind == "flip":
        raw[place] ^= data.draw(st.integers(1, 255))
    elif kind == "cut":
        raw = raw[:place]
    elif kind == "drop":
        del raw[place]
    else:
        raw[place:place] = raw[max(0, place - 20) : place] or b" "
    other = saved.with_name("mutated.json")
    other.write_bytes(bytes(raw))
    try:
        again = cw.load(other)
    except ModelFileError as error:
        told = str(error)
    else:
        told = ""
        X = cw.samples.load("weather").X
        assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert "\n" not in told


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"[]", b"null", b"\xff\xfe", b"PK\x03\x04", b'{"countwise": 1}', b'{"countwise": 99, "model": {}}',
     b"[" * 100_000, b'{"countwise":1,"sha256":"x","model":' + b"9" * 10_000 + b"}"],
)  # fmt: skip
def test_foreign_content_is_refused_in_one_line(tmp_path, content):
    path = tmp_path / "foreign.json"
    path.write_bytes(content)
    with pytest.raises(ModelFileError) as caught:
        cw.load(path)
    assert "\n" not in str(caught.value)


def _resealed(path, change) -> None:
    """A file with other content and a checksum that fits it."""
    import hashlib

    document = json.loads(path.read_text())
    change(document["model"])
    body = json.dumps(document["model"], ensure_ascii=False, separators=(",", ":"))
    seal = hashlib.sha256(body.encode()).hexdigest()
    path.write_text(f'{{"countwise":1,"sha256":"{seal}","model":{body}}}\n')


def test_a_file_cannot_name_a_class_to_be_made(saved):
    _resealed(saved, lambda m: m.update(kind="os.system"))
    with pytest.raises(ModelFileError, match=r"Model type 'os\.system' is unknown"):
        cw.load(saved)


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m["tallies"]["outlook"].update(cells=[[1, 2], [3, 4]]),
        lambda m: m["tallies"]["outlook"].update(tally="pickle"),
        lambda m: m["tallies"]["temperature"].update(n=[1.0]),
        lambda m: m["tallies"].pop("outlook"),
        lambda m: m["schema"][0].update(kind="eval"),
        lambda m: m["schema"][0].update(values=["a", "a", "b"]),
        lambda m: m.pop("target"),
        lambda m: m["settings"].update(smoothing="odd"),
        lambda m: m["settings"].update(extra=1),
        lambda m: m.update(labels="nonsense"),
    ],
)
def test_content_that_does_not_hang_together_is_refused(saved, change):
    _resealed(saved, change)
    with pytest.raises(cw.errors.CountwiseError):
        cw.load(saved)


SAVER = """
import sys, countwise as cw
w = cw.samples.load("credit")
m = cw.NaiveBayesClassifier("kernel").fit(w.frame, "Status")
print("ready", flush=True)
while True:
    cw.save(m, sys.argv[1])
"""


def test_a_save_killed_at_any_moment_leaves_a_whole_file_and_the_next_save_clears_up(tmp_path):
    path = tmp_path / "model.json"
    for pause in (0.0, 0.013, 0.029):
        saver = subprocess.Popen([sys.executable, "-c", SAVER, str(path)], stdout=subprocess.PIPE, text=True)
        assert saver.stdout.readline() == "ready\n"
        while not path.exists():
            time.sleep(0.005)
        time.sleep(0.05 + pause)
        saver.send_signal(signal.SIGKILL)
        saver.wait()
        saver.stdout.close()
        assert cw.load(path).n_rows_ == 4454
    cw.save(cw.load(path), path)
    assert os.listdir(tmp_path) == ["model.json"]


def test_a_full_disk_leaves_the_old_file_and_says_so(model, tmp_path, monkeypatch):
    path = tmp_path / "model.json"
    cw.save(model, path)
    before = path.read_bytes()

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ModelFileError, match="No space left"):
        cw.save(model, path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.json"]


def test_a_folder_that_is_not_there_is_one_line(model, tmp_path):
    with pytest.raises(ModelFileError, match="cannot be written"):
        cw.save(model, tmp_path / "none" / "model.json")


LONG = """
import numpy as np, countwise as cw
from countwise import _kernels
n = 3_000 if _kernels.LEVEL == "reference" else 200_000
X = np.random.default_rng(0).normal(size=(n, 40))
y = np.random.default_rng(1).integers(0, 3, n)
m = cw.NaiveBayesClassifier("auto").fit(X[:1000], y[:1000])
print("ready", flush=True)
while True:
    cw.NaiveBayesClassifier("auto").fit(X, y)
"""


def test_ctrl_c_stops_a_fit_within_two_seconds():
    worker = subprocess.Popen([sys.executable, "-c", LONG], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert worker.stdout.readline() == "ready\n"
    time.sleep(0.5)
    worker.send_signal(signal.SIGINT)
    start = time.monotonic()
    try:
        _, errors = worker.communicate(timeout=30)
    finally:
        worker.kill()
        worker.communicate()
    assert time.monotonic() - start < 2
    assert "KeyboardInterrupt" in errors
    assert worker.returncode != 0

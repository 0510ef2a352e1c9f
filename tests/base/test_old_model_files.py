"""Model files of format 1 are still read, and answer as the version that wrote them did."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import countwise
from countwise import samples

FILES = Path(__file__).parents[1] / "data" / "models_v1"
ANSWERS = json.loads((FILES / "answers.json").read_text())
TABLES = {
    "naive_bayes": "rain",
    "parzen": "rain",
    "parzen_density": "rain",
    "regression_tree": "tennis",
    "rules": "tennis",
    "pebls": "tennis",
    "rote": "tennis",
    "network_classifier": "tennis",
    "network_classifier_k": "tennis",
    "network": "tennis",
}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_model_of_format_1_answers_as_it_did(name):
    model = countwise.load(FILES / f"{name}.json")
    table = samples.load(TABLES.get(name, "weather"))
    rows = table.frame if name == "network" else table.X
    if name == "discriminant":
        rows = {column: rows[column] for column in ("temperature", "humidity")}
    ask = "predict_proba" if hasattr(model, "predict_proba") else "predict" if hasattr(model, "predict") else None
    answers = getattr(model, ask or "score_samples")(rows)
    np.testing.assert_allclose(answers, ANSWERS[name], rtol=1e-12)


def test_every_kind_of_model_has_a_file_of_format_1():
    kinds = {json.loads((FILES / f"{name}.json").read_text())["model"]["kind"] for name in ANSWERS}
    assert kinds == set(countwise.registry.KINDS)

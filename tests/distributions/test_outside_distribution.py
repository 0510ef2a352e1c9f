"""A distribution from outside the package: one class and its density serve every use of a model."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import countwise
from countwise import Auto, Gaussian, NaiveBayesClassifier, leave_one_out, samples
from countwise.distributions import DISTRIBUTIONS, Distribution, register
from countwise.distributions.numeric_density import NumericDensity
from countwise.errors import OptionError
from countwise.scoring.plan import NormalTerm
from countwise.tallies import Moments


@dataclass(frozen=True, slots=True)
class EqualSpread(Distribution):
    """A normal distribution in each class, all with the same variance."""

    least: float = 1e-6
    kind: ClassVar[str] = "equal_spread"
    shows_infinity: ClassVar[bool] = True

    def blank(self, given: Any, of: Any) -> Moments:
        return Moments(given, of)

    def estimate(self, tally: Moments) -> EqualSpreadDensity:
        n, mean, m2 = tally.triple
        return EqualSpreadDensity(tally.of.name, mean, math.sqrt(max(m2.sum() / n.sum(), self.least)), n)

    def estimate_from_values(self, values: Any) -> Any:
        return self.estimate(values.moments), values.moments


class EqualSpreadDensity(NumericDensity):
    constant = False
    rule = "normal, equal variances"

    def __init__(self, name: str, mean: Any, sd: float, n: Any) -> None:
        self.name, self.mean, self.sd, self.n, self.n_classes = name, mean, sd, n, len(mean)

    def add_log_prob(self, column: Any, out: Any) -> None:
        logs = -0.5 * ((np.asarray(column, float)[:, None] - self.mean) / self.sd) ** 2 - math.log(self.sd)
        out += np.nan_to_num(logs - 0.5 * math.log(2 * math.pi))

    def written(self, x: float, c: int) -> tuple[str, str]:
        text = f"φ({x:g}; {self.mean[c]:g}, {self.sd:g})"
        return text, text

    def behind(self, c: int) -> float:
        return float(self.n[c])

    def summary(self, classes: Sequence[Any]) -> dict[str, list[Any]]:
        return {self.name: list(classes), "mean": self.mean.tolist(), "deviation": [self.sd] * len(classes)}

    def typical(self, c: int) -> tuple[float, str]:
        return float(self.mean[c]), "on average"

    def scoring_terms(self, derived: Any, schema: Any, tally: Any) -> list[Any]:
        norm = np.full(self.n_classes, -math.log(self.sd) - 0.5 * math.log(2 * math.pi))
        return [NormalTerm(derived.columns[0], self.mean, np.full(self.n_classes, 1 / self.sd), norm)]


@pytest.fixture(autouse=True)
def _known():
    register(EqualSpread)
    yield
    DISTRIBUTIONS.pop("equal_spread")


@pytest.fixture
def weather():
    return samples.load("weather")


def test_it_fits_and_explains(weather):
    model = NaiveBayesClassifier("equal_spread").fit(weather.X, weather.y)
    assert model.distributions_["humidity"] == EqualSpread()
    working = model.explain(weather.X)
    assert "normal, equal variances" in str(working) or "φ(" in str(working)
    joint = sum(step.factors[0].log for step in (working.prior, *working.steps))
    assert joint == pytest.approx(model.predict_joint_log_proba(weather.X)[0, 0])
    assert model.table("humidity")["deviation"] == [model.densities_["humidity"].sd] * 2


def test_pieces_and_merged_models_equal_one_fit(weather):
    rows = {name: np.asarray(column) for name, column in weather.X.items()}
    y = np.asarray(weather.y)
    parts = [slice(0, 6), slice(6, 14)]
    whole = NaiveBayesClassifier("equal_spread").fit(rows, y)
    one, two = (NaiveBayesClassifier("equal_spread").fit({n: c[p] for n, c in rows.items()}, y[p]) for p in parts)
    np.testing.assert_allclose((one + two).predict_proba(rows), whole.predict_proba(rows), rtol=1e-12)
    again = (one + two).forget({n: c[parts[1]] for n, c in rows.items()}, y[parts[1]])
    np.testing.assert_allclose(again.predict_proba(rows), one.predict_proba(rows), rtol=1e-9)


def test_it_is_scored_by_sql(weather):
    model = NaiveBayesClassifier({"temperature": "equal_spread", "humidity": EqualSpread(1e-3)})
    model.fit({n: weather.X[n] for n in ("temperature", "humidity")}, weather.y)
    database = sqlite3.connect(":memory:")
    database.create_function("exp", 1, math.exp)
    database.execute("CREATE TABLE days (temperature REAL, humidity REAL)")
    cells = list(zip(weather.X["temperature"].tolist(), weather.X["humidity"].tolist(), strict=True))
    database.executemany("INSERT INTO days VALUES (?, ?)", cells)
    found = database.execute(model.to_sql("days", "sqlite"))
    names = [d[0] for d in found.description]
    got = np.array([row[names.index("P(yes)")] for row in found], dtype=float)
    expected = model.predict_proba(weather.columns("temperature", "humidity"))[:, 1]
    np.testing.assert_allclose(got, expected, rtol=1e-9)


def test_it_is_saved_and_loaded(weather, tmp_path):
    model = NaiveBayesClassifier({"humidity": EqualSpread(1e-3)}).fit(weather.X, weather.y)
    countwise.save(model, tmp_path / "m.json")
    again = countwise.load(tmp_path / "m.json")
    assert again.distributions["humidity"] == EqualSpread(1e-3)
    assert (again.predict_proba(weather.X) == model.predict_proba(weather.X)).all()


def test_rows_are_left_out_and_auto_judges_it(weather):
    X = {"humidity": weather.X["humidity"]}
    y = np.asarray(weather.y)
    found = leave_one_out(NaiveBayesClassifier("equal_spread"), X, y)
    logs = []
    for i in range(14):
        rest = np.delete(np.arange(14), i)
        model = NaiveBayesClassifier("equal_spread").fit({"humidity": X["humidity"][rest]}, y[rest])
        logs.append(model.predict_log_proba({"humidity": X["humidity"][[i]]})[0, list(model.classes_).index(y[i])])
    assert found.mean("log_loss") == pytest.approx(-np.mean(logs), rel=1e-9)
    auto = NaiveBayesClassifier(Auto((EqualSpread(), Gaussian()))).fit(X, y)
    assert auto.choices_["humidity"]["equal_spread"] == pytest.approx(np.mean(logs), rel=1e-9)


def test_a_kind_that_is_taken_is_refused():
    @dataclass(frozen=True, slots=True)
    class Other(EqualSpread):
        kind: ClassVar[str] = "gaussian"

    with pytest.raises(OptionError, match="already"):
        register(Other)

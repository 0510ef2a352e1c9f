"""Models of whole rows where settings, pieces, files and extremes meet."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV

import countwise
from countwise import DiscriminantClassifier, ParzenClassifier, ParzenDensity, PrototypeClassifier, samples
from countwise.errors import CountwiseError, DataWarning, OptionError, TableError, TooFewRows
from countwise.tallies import Scatter

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = np.arange(60) % 3


@pytest.mark.parametrize("size", [1e80, 1e-100])
def test_fourth_powers_beyond_floats_are_refused_with_a_way_out(size):
    with pytest.raises(TableError, match="fourth powers") as told:
        DiscriminantClassifier(shrinkage="auto").fit(X * size, Y)
    assert "oas" in str(told.value)
    assert np.isfinite(DiscriminantClassifier(shrinkage="oas").fit(X * size, Y).predict_proba(X * size)).all()


def test_a_class_that_never_came_does_not_undo_shrinkage():
    some = Y > 0
    announced = DiscriminantClassifier(shrinkage=0.5).partial_fit(X[some], Y[some], classes=[0, 1, 2])
    plain = DiscriminantClassifier(shrinkage=0.5).fit(X[some], Y[some])
    assert announced.shrinkage_.tolist() == [0.5]
    assert np.array_equal(announced.covariance_, plain.covariance_)


def test_em_without_a_maximum_is_refused_with_the_reason():
    rng = np.random.default_rng(2)
    cells, y = rng.normal(size=(50, 4)), rng.integers(0, 2, 50)
    cells[rng.random(cells.shape) < 0.35] = np.nan
    with pytest.raises(TooFewRows, match="3 complete rows for 4 columns"):
        DiscriminantClassifier("own").fit(cells, y)


@pytest.mark.parametrize("kernel", ["uniform", "epanechnikov"])
def test_a_row_that_no_bump_reaches_is_explained_all_the_same(kernel):
    weather = samples.load("weather").columns("temperature", "humidity", "play")
    model = ParzenClassifier(kernel=kernel).fit(weather, "play")
    working = model.explain([[100, 190]])
    assert "no kernel reaches the row" in str(working)
    assert working.posterior == pytest.approx(model.class_prior_)
    numbers = {name: weather[name] for name in ("temperature", "humidity")}
    assert "f = 0" in str(ParzenDensity(kernel=kernel).fit(numbers).explain([[200, 190]]))


def test_a_saved_density_learns_on_and_keeps_its_kind_of_table(tmp_path):
    frame = pd.DataFrame({"a": X[:, 0], "wet": X[:, 1] > 0})
    path = tmp_path / "density.json"
    density = ParzenDensity().fit(frame[:40])
    countwise.save(density, path)
    again = countwise.load(path).partial_fit(frame[40:])
    whole = ParzenDensity().fit(frame)
    assert np.array_equal(again.score_samples(frame), whole.score_samples(frame))
    drawn = again.sample(5, random_state=0)
    assert isinstance(drawn, pd.DataFrame)
    assert drawn["wet"].dtype == bool


def test_the_winner_of_a_grid_search_can_be_saved(tmp_path):
    search = GridSearchCV(DiscriminantClassifier(), {"shrinkage": np.linspace(0.1, 0.9, 3)}, cv=3).fit(X, Y)
    countwise.save(search.best_estimator_, tmp_path / "best.json")
    assert np.array_equal(countwise.load(tmp_path / "best.json").predict(X), search.predict(X))


def test_a_tally_that_lost_digits_says_so_after_a_file_too(tmp_path):
    far = np.column_stack([X[:, 0] + 1e6 * (np.arange(60) >= 30), X[:, 1]])
    with pytest.warns(DataWarning, match="The remaining values vary far less"):
        model = DiscriminantClassifier().fit(far, Y).forget(far[30:], Y[30:])
    countwise.save(model, tmp_path / "worn.json")
    with pytest.warns(DataWarning, match="The remaining values vary far less"):
        again = countwise.load(tmp_path / "worn.json")
    assert isinstance(again.tallies_["row"], Scatter)
    assert again.tallies_["row"].worn


def test_settings_changed_after_a_fit_do_not_mix_with_what_was_learned():
    own = DiscriminantClassifier("own").fit(X, Y).set_params(covariance="shared")
    with pytest.raises(OptionError, match="quadratic"):
        own.logistic_form()
    with pytest.raises(TableError, match="call fit with all rows"):
        DiscriminantClassifier().fit(X, Y).set_params(shrinkage="auto").partial_fit(X, Y)
    with pytest.raises(TableError, match="call fit with all rows"):
        PrototypeClassifier().fit(X, Y).set_params(metric="manhattan").partial_fit(X, Y)
    nearest = PrototypeClassifier().fit(X, Y)
    before = nearest.distances(X)
    assert np.array_equal(nearest.set_params(metric="manhattan").distances(X), before)
    density = ParzenDensity("leave_one_out").fit(X[:, :1]).set_params(bandwidth=3.0).partial_fit(X[:, :1])
    assert not hasattr(density, "bandwidth_curve_")


@pytest.mark.parametrize(
    "model", [ParzenClassifier(), DiscriminantClassifier(), DiscriminantClassifier("diagonal")], ids=repr
)
def test_a_first_piece_of_one_row_waits_for_more(model):
    waiting = model.partial_fit(X[:1], Y[:1])
    assert not hasattr(waiting, "bandwidths_")
    with pytest.raises(TooFewRows):
        waiting.predict(X)
    grown = waiting.partial_fit(X[1:], Y[1:])
    assert np.allclose(
        grown.predict_proba(X), type(model)(**model.get_params()).fit(X, Y).predict_proba(X), rtol=1e-9
    )


def test_an_all_missing_first_piece_waits_too():
    for model in (ParzenClassifier(), DiscriminantClassifier(), ParzenDensity()):
        waiting = model.partial_fit(np.full((3, 2), np.nan), [0, 1, 2])
        assert np.isfinite(waiting.partial_fit(X, Y).score(X, Y))


def test_widths_too_small_to_divide_by_are_refused_by_name():
    with pytest.raises(OptionError, match="1e-300"):
        ParzenDensity(1e-310).fit(X)
    with pytest.raises(CountwiseError, match="'x0'"):
        ParzenDensity().fit(np.column_stack([X[:, 0] * 1e-310, X[:, 1]])).score_samples(X)


def test_what_is_worked_out_again_is_not_pickled():
    gaps = RNG.normal(size=(2000, 20))
    gaps[RNG.random(gaps.shape) < 0.2] = np.nan
    model = DiscriminantClassifier().fit(RNG.normal(size=(200, 20)), np.arange(200) % 3)
    before = len(pickle.dumps(model))
    answers = model.predict_proba(gaps)
    assert len(pickle.dumps(model)) == before
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict_proba(gaps), answers)
    density = ParzenDensity().fit(X)
    before = len(pickle.dumps(density))
    scores = density.score_samples(X)
    assert len(pickle.dumps(density)) == before
    assert np.array_equal(pickle.loads(pickle.dumps(density)).score_samples(X), scores)


def test_a_density_refuses_the_name_of_a_target():
    with pytest.raises(TableError, match="has no target"):
        ParzenDensity().fit({"a": X[:, 0], "y": Y}, "y")


def test_rounded_numbers_do_not_make_a_comb():
    flippers = samples.load("penguins").columns("flipper_length_mm")  # whole millimeters, most of them several times
    width = ParzenDensity("leave_one_out").fit(flippers).best_bandwidth_
    assert width > 0.5
    density = ParzenDensity(width).fit(flippers)
    between, on = density.score_samples({"flipper_length_mm": [199.5, 200.0]})
    assert abs(between - on) < 0.2

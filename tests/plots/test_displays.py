"""Displays: what is drawn is what was found, and is told apart without color."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.metrics import (
    average_precision_score,
    confusion_matrix,
    precision_recall_curve,
    roc_auc_score,
    roc_curve,
)

from countwise import (
    NaiveBayesClassifier,
    NeighborsClassifier,
    ParzenDensity,
    TreeClassifier,
    cross_validate,
    learning_curve,
    samples,
    validation_curve,
)
from countwise.errors import OptionError, TableError
from countwise.measures import area, average_precision, by_range, precision_recall_points, roc_points
from countwise.plots import (
    CalibrationDisplay,
    ConfusionDisplay,
    DensityDisplay,
    LearningCurveDisplay,
    PrecisionRecallDisplay,
    ROCDisplay,
    ValidationCurveDisplay,
)

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _closed():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture(scope="module")
def birds():
    return samples.load("penguins")


@pytest.fixture(scope="module")
def model(birds):
    return NaiveBayesClassifier().fit(birds.X, birds.y)


def scored(seed: int, ties: bool, weighted: bool):
    rng = np.random.default_rng(seed)
    score = rng.random(200).round(1 if ties else 9)
    return score, rng.random(200) < score, rng.integers(1, 5, 200).astype(float) if weighted else None


# -- the numbers behind them, against scikit-learn ------------------------------------------------------------


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_points_are_those_of_scikit_learn(ties, weighted):
    score, positive, weight = scored(3, ties, weighted)
    known = {"y_true": positive, "sample_weight": weight}
    roc = roc_curve(y_score=score, drop_intermediate=False, **known)
    recalls = precision_recall_curve(y_score=score, **known)
    for ours, theirs in (
        (roc_points(score, positive, weight), roc),
        (precision_recall_points(score, positive, weight), recalls),
    ):
        for mine, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(mine, other, rtol=0, atol=1e-12)
    assert area(score, positive, weight) == pytest.approx(
        roc_auc_score(positive, score, sample_weight=weight), abs=1e-12
    )
    assert average_precision(score, positive, weight) == pytest.approx(
        average_precision_score(positive, score, sample_weight=weight), abs=1e-12
    )


@pytest.mark.parametrize("n_bins", [1, 7, 10])
def test_calibration_is_that_of_scikit_learn(n_bins):
    score, positive, _ = scored(4, False, False)
    shown = CalibrationDisplay.from_predictions(positive, score, n_bins=n_bins)
    true, told = calibration_curve(positive, score, n_bins=n_bins)
    np.testing.assert_allclose(shown.prob_true, true, rtol=0, atol=1e-12)
    np.testing.assert_allclose(shown.prob_pred, told, rtol=0, atol=1e-12)
    assert shown.counts.sum() == len(score)


def test_ranges_hold_their_upper_end_and_rows_without_a_probability_are_left_out():
    rows, _, _ = by_range(np.array([0.0, 0.5, 0.5001, 1.0, np.nan]), np.ones(5, dtype=bool), None, 2)
    assert rows.tolist() == [2, 2]


# -- ROC, precision and recall ---------------------------------------------------------------------------------


def test_a_roc_display_has_a_curve_for_each_class_against_the_others(model, birds):
    shown = ROCDisplay.from_estimator(model, birds.X, birds.y)
    proba = model.predict_proba(birds.X)
    for i, c in enumerate(model.classes_.tolist()):
        assert shown.roc_auc[c] == pytest.approx(roc_auc_score(birds.y == c, proba[:, i]), abs=1e-12)
    curves = [line for line in shown.ax_.lines if line.get_gid() == "curve"]
    assert len({(str(line.get_linestyle()), line.get_marker()) for line in curves}) == 3
    assert shown.figure_ is shown.ax_.figure


def test_of_two_classes_the_positive_one_is_drawn_and_learners_share_axes():
    score, positive, _ = scored(5, False, False)
    y = np.where(positive, "yes", "no")
    shown = ROCDisplay.from_predictions(y, score, name="one")
    assert list(shown.roc_auc) == ["yes"]
    # numbers alone are the probability of the positive class, whichever that is
    other = ROCDisplay.from_predictions(y, 1 - score, pos_label="no", name="other", ax=shown.ax_)
    assert other.roc_auc["no"] == pytest.approx(shown.roc_auc["yes"], abs=1e-12)
    one, two = (line for line in shown.ax_.lines if line.get_gid() == "curve")
    assert one.get_marker() != two.get_marker()
    assert str(one.get_linestyle()) + str(one._dash_pattern) != str(two.get_linestyle()) + str(two._dash_pattern)
    told = [text.get_text().split(" (")[0] for text in shown.ax_.get_legend().get_texts()]
    assert told == ["one: yes", "other: no"]


def test_the_name_of_the_column_will_do_for_the_class(model, birds):
    by_name = ROCDisplay.from_estimator(model, birds.frame, "species")
    assert by_name.roc_auc == ROCDisplay.from_estimator(model, birds.X, birds.y).roc_auc
    with pytest.raises(TableError, match="did you mean 'species'"):
        ROCDisplay.from_estimator(model, birds.frame, "specis")


def test_constant_probabilities_have_an_area_of_one_half():
    shown = ROCDisplay.from_predictions([0, 1, 1, 0], [0.3] * 4)
    assert shown.roc_auc == {1: 0.5}
    assert shown.curves[1][0].tolist() == [0, 1]


def test_a_class_without_rows_is_said_to_be_undefined():
    proba = np.array([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3]])
    for display in (ROCDisplay, PrecisionRecallDisplay):
        shown = display.from_predictions(["a", "b"], proba, classes=["a", "b", "c"])
        assert np.isnan(shown.numbers["c"])
        assert f"c ({display.summary} undefined)" in [t.get_text() for t in shown.ax_.get_legend().get_texts()]


def test_a_class_that_was_never_met_has_probability_0(model, birds):
    y = np.array(birds.y, dtype=object)
    y[:10] = "Emperor"
    assert ROCDisplay.from_estimator(model, birds.X, y).roc_auc["Emperor"] == 0.5


def test_precision_and_recall_are_drawn_as_steps():
    score, positive, _ = scored(6, True, False)
    shown = PrecisionRecallDisplay.from_predictions(positive, score)
    (curve,) = shown.ax_.lines
    precision, recall, _ = precision_recall_curve(positive, score)
    np.testing.assert_allclose(curve.get_ydata(), precision, atol=1e-12)
    np.testing.assert_allclose(curve.get_xdata(), recall, atol=1e-12)
    assert curve.get_drawstyle() == "steps-pre"


def test_many_classes_leave_the_legend_beside_the_axes_and_inside_the_figure():
    rng = np.random.default_rng(0)
    shown = ROCDisplay.from_predictions(rng.integers(0, 12, 300), rng.dirichlet(np.ones(12), 300))
    shown.figure_.draw_without_rendering()
    box = shown.ax_.get_legend().get_window_extent()
    assert box.x0 >= shown.ax_.get_window_extent().x1
    assert box.x1 <= shown.figure_.bbox.x1
    assert shown.ax_.get_legend().get_texts()[-1].get_text() == "and 2 more classes"


# -- calibration -----------------------------------------------------------------------------------------------


def test_of_several_classes_the_calibration_is_that_of_the_answer(birds):
    found = cross_validate(NaiveBayesClassifier(), birds.X, birds.y, cv=5)
    shown = found.plot("calibration")
    table = found.predictions.reliability()
    assert shown.prob_true.tolist() == table["share"]
    assert shown.counts.tolist() == table["rows"]
    assert [text.get_text() for text in shown.ax_.texts] == [str(n) for n in table["rows"]]
    assert shown.ax_.get_xlabel() == "probability of the predicted class"
    of_one = CalibrationDisplay.from_answers(found.predictions, pos_label="Gentoo")
    assert of_one.prob_true.tolist() == found.predictions.reliability("Gentoo")["share"]


# -- confusion ---------------------------------------------------------------------------------------------------


def test_a_confusion_display_has_its_numbers_in_the_cells(model, birds):
    shown = ConfusionDisplay.from_estimator(model, birds.X, birds.y)
    wanted = confusion_matrix(birds.y, model.predict(birds.X))
    assert shown.table.tolist() == wanted.tolist()
    assert [[text.get_text() for text in row] for row in shown.text_] == wanted.astype(str).tolist()


def test_costs_stand_in_the_cells_and_their_mean_above():
    shown = ConfusionDisplay.from_predictions([0, 0, 1, 1], [0, 1, 0, 1], costs=[[0, 1], [5, 0]])
    assert [text.get_text() for text in shown.text_.ravel()] == ["1", "1\n× 1", "1\n× 5", "1"]
    assert shown.ax_.get_title(loc="left") == "mean cost 1.5"
    with pytest.raises(TableError, match="costs has the shape"):
        ConfusionDisplay.from_predictions([0, 1], [0, 1], costs=[1, 2])


def test_numbers_can_be_read_on_dark_cells():
    shown = ConfusionDisplay.from_predictions(["a"] * 9 + ["b"], ["a"] * 9 + ["a"])
    dark, light = shown.text_[0, 0], shown.text_[0, 1]
    assert dark.get_color() == "white"
    assert light.get_color() != "white"


# -- curves ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def curve(birds):
    learners = {"bayes": NaiveBayesClassifier(), "tree": TreeClassifier()}
    return learning_curve(learners, birds.X, birds.y, train_sizes=[20, 60, 200], repeats=3)


def test_a_learning_curve_is_drawn_with_true_errors_solid_and_apparent_ones_dashed(curve):
    shown = curve.plot()
    assert [line.get_linestyle() for line in shown.lines_] == ["-", "--", "-", "--"]
    np.testing.assert_allclose(shown.lines_[0].get_ydata(), 1 - curve.test["bayes"].mean(axis=1), atol=1e-12)
    np.testing.assert_allclose(shown.lines_[3].get_ydata(), 1 - curve.train["tree"].mean(axis=1), atol=1e-12)
    assert shown.lines_[0].get_marker() != shown.lines_[2].get_marker()
    assert len(shown.fill_between_) == 2
    texts = [text.get_text() for text in shown.ax_.get_legend().get_texts()]
    assert texts == ["bayes", "tree", "test error", "training error"]


def test_a_learning_curve_of_plain_arrays_has_bands_of_one_deviation():
    train, test = np.array([[0.0, 0.0], [0.1, 0.3]]), np.array([[2.0, 4.0], [1.0, np.nan]])
    scores = {"train_scores": train, "test_scores": test, "score_name": "log_loss"}
    shown = LearningCurveDisplay(train_sizes=[5, 9], **scores).plot()
    assert shown.lines_[0].get_ydata().tolist() == [3.0, 1.0]
    band = shown.fill_between_[0].get_paths()[0].vertices
    assert {round(float(y), 6) for x, y in band if x == 5} == {round(3 - 2**0.5, 6), round(3 + 2**0.5, 6)}
    with pytest.raises(TableError, match="each of the 3 sizes"):
        LearningCurveDisplay(train_sizes=[1, 2, 3], **scores)


def test_a_curve_over_k_marks_the_best(birds):
    found = validation_curve(NeighborsClassifier(), birds.X, birds.y, param_range=[1, 3, 5, 9])
    shown = found.plot()
    train, held = shown.ax_.lines
    assert held.get_ydata().tolist() == found.held_out
    assert (train.get_linestyle(), held.get_linestyle()) == ("--", "-")
    assert shown.ax_.collections[0].get_offsets().tolist() == [[found.best, max(found.held_out)]]


@pytest.mark.parametrize("setting", [None, "n_neighbors"])
def test_a_validation_curve_makes_its_display(birds, setting):
    found = validation_curve(NeighborsClassifier(), birds.X, birds.y, param_range=[1, 9], param_name=setting)
    shown = found.plot()
    assert (shown.param_name, shown.best, shown.held_out.tolist()) == ("n_neighbors", found.best, found.held_out)
    rain = {"temp": samples.load("rain").X["temp"]}
    widths = validation_curve(ParzenDensity(), rain, param_range=[1, 5, 10]).plot()
    assert (widths.param_name, widths.best, widths.score_name) == ("bandwidth", 5, "log_likelihood")


def test_values_of_a_setting_that_are_no_numbers_stand_below_the_axis():
    shown = ValidationCurveDisplay(param_name="criterion", param_range=["gini", None], train=[1, 0.9],
                                   held_out=[0.7, 0.8], best="gini").plot()  # fmt: skip
    assert [label.get_text() for label in shown.ax_.get_xticklabels()] == ["gini", "None"]
    assert shown.ax_.collections[0].get_offsets().tolist() == [[0, 0.7]]


def test_a_learning_curve_makes_its_display(birds):
    how = {"train_sizes": [20, 90], "repeats": 2, "scoring": "log_loss"}
    learners = {"bayes": NaiveBayesClassifier(), "near": NeighborsClassifier()}
    found = learning_curve(learners, birds.X, birds.y, **how)
    shown = found.plot()
    assert isinstance(shown, LearningCurveDisplay)
    assert list(shown.test_scores) == ["bayes", "near"]
    assert shown.score_name == "log_loss"
    np.testing.assert_array_equal(shown.test_scores["near"], found.test["near"])


def test_a_curve_over_widths_has_a_logarithmic_axis_and_survives_infinity():
    rain = samples.load("rain")
    found = validation_curve(ParzenDensity(), {"temp": rain.X["temp"]}, param_range=[1, 5, 10])
    shown = found.plot()
    assert (shown.ax_.get_xscale(), shown.ax_.get_ylabel()) == ("log", "log-likelihood")
    odd = ValidationCurveDisplay(param_name="bandwidth", param_range=[0.1, 1], train=[0, -1],
                                 held_out=[-np.inf, -np.inf], score_name="log_likelihood").plot()  # fmt: skip
    odd.figure_.draw_without_rendering()
    with pytest.raises(TableError, match="differ in length"):
        ValidationCurveDisplay(param_name="k", param_range=[1], train=[1, 2], held_out=[1])


# -- densities ---------------------------------------------------------------------------------------------------


def test_the_density_of_a_number_is_that_of_the_model(model):
    shown = DensityDisplay.from_estimator(model, "bill_length_mm")
    density = model.densities_["bill_length_mm"]
    for i, line in enumerate(shown.ax_.lines):
        x, y = line.get_data()
        normal = np.exp(-((x - density.mean[i]) ** 2) / 2 / density.sd[i] ** 2) / density.sd[i] / np.sqrt(2 * np.pi)
        np.testing.assert_allclose(y, normal, rtol=1e-9, atol=1e-15)
    weighted = DensityDisplay.from_estimator(model, "bill_length_mm", prior=True)
    share = model.class_count_ / model.class_count_.sum()
    np.testing.assert_allclose(weighted.curves["Gentoo"], shown.curves["Gentoo"] * share[2], rtol=1e-12)


def test_names_and_ranges_are_bars_with_hatches(model, birds):
    shown = DensityDisplay.from_estimator(model, "island")
    assert [bars.get_label() for bars in shown.ax_.containers] == ["Adelie", "Chinstrap", "Gentoo"]
    assert len({bars[0].get_hatch() for bars in shown.ax_.containers}) == 3
    np.testing.assert_allclose([bar.get_height() for bar in shown.ax_.containers[0]],
                               model.densities_["island"].prob[0], rtol=1e-12)  # fmt: skip
    cut = NaiveBayesClassifier(distributions={"bill_length_mm": "mdl"}).fit(birds.X, birds.y)
    ranges = DensityDisplay.from_estimator(cut, "bill_length_mm")
    assert ranges.kind == "bars"
    assert ranges.values[0].startswith("<= ")
    assert sum(ranges.curves["Adelie"]) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("law", ["kernel", "poisson"])
def test_other_laws_are_drawn_too(law):
    rng = np.random.default_rng(0)
    X, y = {"n": rng.poisson(4, 80)}, rng.integers(0, 2, 80)
    fitted = NaiveBayesClassifier(types={"n": "count"}, distributions=law).fit(X, y)
    shown = DensityDisplay.from_estimator(fitted, "n")
    assert shown.kind == {"kernel": "density", "poisson": "counts"}[law]


def test_what_has_no_density_is_refused(model, birds):
    with pytest.raises(OptionError, match="did you mean 'bill_length_mm'"):
        DensityDisplay.from_estimator(model, "bill_length")
    with pytest.raises(OptionError, match="no distributions of single attributes"):
        DensityDisplay.from_estimator(TreeClassifier().fit(birds.X, birds.y), "island")


# -- what does not fit --------------------------------------------------------------------------------------------


def test_probabilities_that_do_not_fit_are_refused(model):
    with pytest.raises(TableError, match=r"shape \(2, 2\)"):
        ROCDisplay.from_predictions(["a", "b"], [[0.5, 0.5], [0.5, 0.5]], classes="abc")
    with pytest.raises(TableError, match="between 0 and 1"):
        ROCDisplay.from_predictions([0, 1], [0.5, 7.0])
    with pytest.raises(TableError, match="class of every row is missing"):
        ROCDisplay.from_predictions([None, None], [0.5, 0.5], classes=[0, 1])
    with pytest.raises(OptionError, match="n_bins"):
        CalibrationDisplay.from_predictions([0, 1], [0.5, 0.5], n_bins=0)
    with pytest.raises(OptionError, match="no class 2"):
        ROCDisplay.from_predictions([0, 1], [0.5, 0.5], pos_label=2)
    with pytest.raises(OptionError, match="not fitted"):
        ROCDisplay.from_estimator(NaiveBayesClassifier(), [[1]], [0])


def test_a_validation_names_the_pictures_that_there_are(birds):
    found = cross_validate(NaiveBayesClassifier(), birds.X, birds.y, cv=3, scoring="accuracy")
    assert found.plot().roc_auc.keys() == {"Adelie", "Chinstrap", "Gentoo"}
    assert found.plot("confusion").table.sum() == len(birds.y)
    assert isinstance(found.plot("precision_recall"), PrecisionRecallDisplay)
    with pytest.raises(OptionError, match="did you mean 'calibration'"):
        found.plot("calibraton")


def test_a_loss_beyond_all_others_does_not_flatten_the_picture():
    scores = np.array([[1e9, 2e9], [0.9, 1.1], [0.5, 0.6]])
    how = {"train_sizes": [20, 200, 2000], "train_scores": scores / 2}
    assert LearningCurveDisplay(**how, test_scores=scores, score_name="log_loss").plot().ax_.get_yscale() == "log"
    plain = LearningCurveDisplay(train_sizes=[20, 200], train_scores=scores[1:], test_scores=scores[1:],
                                 score_name="log_loss").plot()  # fmt: skip
    assert plain.ax_.get_yscale() == "linear"


def test_of_very_many_names_the_most_frequent_are_drawn():
    shares = np.full(500, 0.001)
    shares[[3, 400]] = 0.2
    names = [f"v{i}" for i in range(500)]
    shown = DensityDisplay("key", values=names, curves={"a": shares, "b": shares[::-1]}, kind="bars").plot()
    labels = [label.get_text() for label in shown.ax_.get_xticklabels()]
    assert len(labels) == 30
    assert {"v3", "v99", "v400", "v496"} & set(labels) >= {"v3", "v400", "v496"}
    assert "and 470 more values" in [text.get_text() for text in shown.ax_.get_legend().get_texts()]

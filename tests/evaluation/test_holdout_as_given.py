"""Judging takes what a user of scikit-learn has at hand, by row, by name and by scorer."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression
from sklearn.metrics import accuracy_score, f1_score, make_scorer, recall_score
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold
from sklearn.neighbors import KernelDensity
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from countwise import (
    NaiveBayesClassifier,
    NeighborsClassifier,
    PEBLSClassifier,
    compare,
    cross_validate,
    learning_curve,
    leave_one_out,
    samples,
    validation_curve,
)
from countwise.errors import DataWarning, OptionError, TableError, TooFewRows
from countwise.evaluation import PairedTest, decide, paired_test
from countwise.plots import CalibrationDisplay, ConfusionDisplay, DensityDisplay, ROCDisplay


class Probe(DummyClassifier):
    """Remembers which rows it learned from."""

    def fit(self, X, y, sample_weight=None):
        self.learned_ = np.asarray(X["id"]).tolist()
        return super().fit(X, y)


@pytest.fixture(scope="module")
def credit():
    return pd.DataFrame(samples.load("credit").frame).head(900)


@pytest.fixture(scope="module")
def birds():
    return pd.DataFrame(samples.load("penguins").frame)


# -- rows ------------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::countwise.errors.DataWarning")
def test_splits_number_the_rows_of_the_users_table():
    X, y = pd.DataFrame({"id": np.arange(10)}), np.array(["a", "b"] * 5, dtype=object)
    y[0] = None
    found = cross_validate(Probe(), X, y, cv=[([0, 1, 2, 3, 4], [5, 6, 7, 8])])
    assert found.folds[0].fitted.model.learned_ == [1, 2, 3, 4]
    assert found.rows.tolist() == [5, 6, 7, 8]
    weights = np.ones(10)
    weights[7] = 0
    found = cross_validate(Probe(), X, np.array(["a", "b"] * 5), cv=list(KFold(2).split(X)), sample_weight=weights)
    assert found.rows.tolist() == [0, 1, 2, 3, 4, 5, 6, 8, 9]
    assert leave_one_out(Probe(), X, y).rows.tolist() == list(range(1, 10))
    assert leave_one_out(NaiveBayesClassifier(), X, y).rows.tolist() == list(range(1, 10))
    with pytest.raises(OptionError, match="row numbers outside"):
        cross_validate(Probe(), X, y, cv=[([0, 1], [10])])


def test_groups_are_a_column_or_labels_with_gaps(credit):
    model = NaiveBayesClassifier()
    by_name = cross_validate(model, credit, "Status", cv=3, groups="Job")
    home = credit["Job"].to_numpy()
    for groups in (credit["Job"], credit["Job"].astype("category"), home):
        found = cross_validate(model, credit, "Status", cv=3, groups=groups)
        assert [f.test.tolist() for f in found.folds] == [f.test.tolist() for f in by_name.folds]
    for fold in by_name.folds:
        assert not set(map(str, home[fold.test])) & set(map(str, home[fold.train]))
    split = cross_validate(model, credit, "Status", cv=GroupKFold(3), groups="Job")
    assert all(not set(map(str, home[f.test])) & set(map(str, home[f.train])) for f in split.folds)
    assert learning_curve(model, credit, "Status", cv=3, groups="Job", train_sizes=[0.5]).test_scores.shape == (1, 3)
    for groups, told in (
        ("Jobb", "did you mean 'Job'"), ([1, 2, 3], "groups has 3 entries, but the table has 900 rows"),
        (credit[["Job", "Home"]], "2 dimensions"),
    ):  # fmt: skip
        with pytest.raises(TableError, match=told):
            cross_validate(model, credit, "Status", cv=3, groups=groups)
    with pytest.raises(OptionError, match="GroupKFold needs groups"):
        cross_validate(model, credit, "Status", cv=GroupKFold(3))
    with pytest.raises(TooFewRows, match="2 groups cannot be split into 3 folds"):
        cross_validate(model, credit, "Status", cv=3, groups=np.arange(900) % 2)


# -- scorers ---------------------------------------------------------------------------------------------------------


def test_scorers_have_names_of_their_own_and_are_given_the_weights(credit):
    f1, recall = make_scorer(f1_score, pos_label="bad"), make_scorer(recall_score, pos_label="good")
    both = cross_validate(NaiveBayesClassifier(), credit, "Status", scoring=[f1, recall], cv=3)
    alone = cross_validate(NaiveBayesClassifier(), credit, "Status", scoring=f1, cv=3)
    assert both.scoring == ("f1_score", "recall_score")
    assert both.mean("f1_score") == alone.mean("f1_score") != both.mean("recall_score")
    named = cross_validate(NaiveBayesClassifier(), credit, "Status", scoring={"a": f1, "b": "accuracy"}, cv=3)
    assert named.mean("a") == alone.mean("f1_score")
    assert cross_validate(
        NaiveBayesClassifier(), credit, "Status", scoring=[f1, make_scorer(f1_score, pos_label="good")], cv=3
    ).scoring == ("f1_score", "f1_score_")
    weights = np.where(credit["Status"] == "bad", 10.0, 1.0)
    how = {"cv": 3, "sample_weight": weights, "scoring": ["accuracy", make_scorer(accuracy_score)]}
    found = cross_validate(NaiveBayesClassifier(), credit, "Status", **how)
    assert found.mean("accuracy_score") == pytest.approx(found.mean("accuracy"))
    for wrong in (3, [], ["acuracy"]):
        with pytest.raises(OptionError):
            cross_validate(NaiveBayesClassifier(), credit, "Status", scoring=wrong)
    for one in (lambda s: learning_curve(NaiveBayesClassifier(), credit, "Status", scoring=s),
                lambda s: compare(credit, "Status", score=s)):  # fmt: skip
        with pytest.raises(OptionError, match="takes one score"):
            one(["accuracy", "brier"])


def test_a_search_over_our_estimators_is_judged_as_it_is(birds):
    search = GridSearchCV(NaiveBayesClassifier(), {"smoothing": [0.1, 1]}, cv=3)
    found = compare(birds, "species", learners={"g": search}, only=["naive Bayes"], curve=False, cv=4)
    by_hand = cross_validate(search, birds, "species", cv=4)
    assert set(found.learners) == {"g", "naive Bayes"}  # those given are judged too
    assert found.validations["g"].mean("accuracy") == by_hand.mean("accuracy") > 0.95
    assert not found.notes
    weights = np.where(birds["sex"] == "male", 50.0, 1.0)
    heavy = cross_validate(search, birds, "species", cv=3, sample_weight=weights)
    assert heavy.done
    scaled = make_pipeline(StandardScaler(), GridSearchCV(LinearSVC(), {"C": [1.0]}, cv=2))
    numbers = birds[["bill_length_mm", "body_mass_g"]].fillna(0)
    assert cross_validate(scaled, numbers, birds["species"], cv=3, sample_weight=weights, scoring="accuracy").done


# -- comparing -------------------------------------------------------------------------------------------------------


def test_an_infinite_loss_is_worse_beyond_measure(birds):
    found = compare(birds, "species", score="log_loss", only=["LDA", "PEBLS"], curve=False)
    pair = found.against("PEBLS")
    assert pair.significant
    assert pair.difference == -np.inf
    assert str(pair) == "PEBLS is worse than LDA in log_loss: its score is infinite in some folds."
    assert "PEBLS, does not differ" not in found.verdict
    with pytest.raises(OptionError, match="did you mean 'PEBLS'"):
        found.against("PEBL")


def test_one_fold_is_no_test(birds):
    one = leave_one_out(NaiveBayesClassifier(), birds, "species")
    assert "one fold in common" in str(paired_test(one, one))
    assert not PairedTest("a", "b", "accuracy", 0.1, np.nan, np.nan, np.nan, 1).significant
    assert one.scores["majority_class"][list(one.scoring).index("roc_auc")] == pytest.approx(0.5)
    with pytest.raises(OptionError, match="not NaiveBayesClassifier"):
        paired_test(NaiveBayesClassifier(), one)


def test_an_infinite_mean_is_not_drawn_as_a_finite_one(birds):
    curve = learning_curve(
        NeighborsClassifier(3), birds, "species", scoring="log_loss", train_sizes=[60, 200], repeats=3
    )
    means = curve.summary["test_log_loss"]
    drawn = curve.plot().lines_[0].get_ydata()
    assert np.isinf(means).any()
    np.testing.assert_array_equal(np.isfinite(drawn), np.isfinite(means))


# -- costs -----------------------------------------------------------------------------------------------------------


def test_a_frame_of_costs_is_read_by_its_labels(birds):
    tennis = samples.load("tennis")
    found = cross_validate(NaiveBayesClassifier(), tennis.X, tennis.y, cv=3)
    frame = pd.DataFrame([[0, 1], [5, 0]], index=["Yes", "No"], columns=["Yes", "No"])
    assert found.cost(frame) == found.cost({("No", "Yes"): 5, ("Yes", "No"): 1})
    with pytest.raises(OptionError, match="must be the classes"):
        found.cost(frame.rename(index={"No": "Never"}))


@pytest.mark.filterwarnings("ignore::countwise.errors.DataWarning")
def test_classes_that_became_floats_keep_their_names(birds):
    y = (birds["sex"] == "male").astype(float)
    y[3] = np.nan
    X = birds.drop(columns="sex")
    model = NaiveBayesClassifier().fit(X, y)
    costly = decide(model, X, cost={(1, 0): 9, (0, 1): 1})
    assert np.array_equal(costly, decide(model, X, cost={"fn": 9, "fp": 1}, pos_label=1))
    assert (costly == 1).sum() > (model.predict(X) == 1).sum()


# -- curves ----------------------------------------------------------------------------------------------------------


def test_likelihoods_of_others_densities_are_of_equally_many_rows(birds):
    mass = birds[["body_mass_g"]].dropna()
    curve = validation_curve(KernelDensity(), mass, param_range=[20, 200, 1500], cv=5)
    assert curve.held_out[1] == pytest.approx(-2748, abs=10)
    assert curve.train[1] == pytest.approx(curve.held_out[1], rel=0.01)
    assert curve.train[0] > curve.held_out[0]
    assert curve.best == 200
    assert "of the range" not in str(curve)
    assert str(validation_curve(KernelDensity(), mass, param_range=[5, 20, 80])).endswith(
        ", the largest value of the range."
    )


def test_k_of_any_neighbors(birds):
    few = birds.groupby("species").head(12)
    curve = validation_curve(PEBLSClassifier(), few, "species", param_range=[1, 5], cv=3)
    assert curve.param_range == [1, 5]
    with pytest.warns(DataWarning, match="too few rows for 500"):
        assert validation_curve(NeighborsClassifier(), few, "species", param_range=[1, 5, 500]).param_range == [1, 5]
    for k in ([1.7], [None], []):
        with pytest.raises(OptionError, match="n_neighbors must be"):
            validation_curve(NeighborsClassifier(), few, "species", param_range=k)
    with pytest.raises(OptionError, match="LinearRegression predicts no classes"):
        cross_validate(LinearRegression(), few[["year"]], few["year"], cv=2)


# -- pictures --------------------------------------------------------------------------------------------------------


def test_what_was_not_told_is_not_drawn(birds):
    X, y = birds[["bill_length_mm", "body_mass_g"]].fillna(0), birds["sex"].fillna("male")
    found = cross_validate(LinearSVC(), X, y, cv=3, scoring="accuracy")
    for kind in ("roc", "precision_recall", "calibration"):
        with pytest.raises(OptionError, match="LinearSVC has no probabilities"):
            found.plot(kind)
    empty = birds[["year"]].assign(c=1.0)
    model = NaiveBayesClassifier().fit(empty, birds["species"])
    with pytest.raises(OptionError, match="'c' is constant"):
        DensityDisplay.from_estimator(model, "c")
    with pytest.raises(OptionError, match="costs must be a matrix"):
        ConfusionDisplay([[1, 2], [3, 4]], classes=["a", "b"], costs={"fn": 5})


def test_pictures_name_the_class_and_take_the_class_out_of_the_table(credit):
    found = cross_validate(NaiveBayesClassifier(), credit, "Status", cv=3)
    for label in ("good", "bad"):
        shown = found.plot("precision_recall", pos_label=label)
        assert f"NaiveBayesClassifier: {label} (AP" in shown.ax_.get_legend().get_texts()[0].get_text()
    numbers = credit[["Age", "Amount", "Status"]]
    other = DummyClassifier().fit(numbers[["Age", "Amount"]], numbers["Status"])
    other.feature_names_in_ = np.array(["Age", "Amount"], dtype=object)
    assert ROCDisplay.from_estimator(other, numbers, "Status").roc_auc["good"] == 0.5
    with pytest.raises(TableError, match="Negative"):
        ROCDisplay.from_estimator(other, numbers, "Status", sample_weight=-np.ones(900))
    model = NaiveBayesClassifier().fit(credit, "Status")
    p = model.predict_proba(credit)[:, 0]
    assert ROCDisplay.from_predictions(credit["Status"], p, pos_label="bad").roc_auc["bad"] > 0.7
    assert CalibrationDisplay.from_predictions(credit["Status"], p, pos_label="bad").of == "bad"


def test_long_names_are_told_apart_in_a_confusion():
    classes = [f"a rather long name of a class {c}" for c in "abc"]
    shown = ConfusionDisplay(np.eye(3), classes=classes).plot()
    labels = [label.get_text() for label in shown.ax_.get_xticklabels()]
    assert len(set(labels)) == 3

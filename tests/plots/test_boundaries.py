"""Decision regions: what is drawn is what the models say."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from countwise import NaiveBayesClassifier, samples
from countwise.errors import OptionError, TableError
from countwise.plots import compare_boundaries
from countwise.plots.plot_data import plot_data, spread_out
from countwise.plots.regions import boundary, by_title, scene
from countwise.plots.regions_svg import nice_ticks, runs

mpl.use("Agg")

SVG = "{http://www.w3.org/2000/svg}"
BILL = ("bill_length_mm", "bill_depth_mm")


def logistic():
    return make_pipeline(StandardScaler(), LogisticRegression())


@pytest.fixture(autouse=True)
def _closed():
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


@pytest.fixture
def weather():
    return samples.load("weather")


@pytest.fixture
def penguins():
    return samples.load("penguins")


def seen(models, X, y, attributes=None, at=None, resolution=40, probabilities=True):
    return scene(plot_data(X, y, attributes), by_title(models), at, resolution, probabilities)


def centers(made):
    n = len(made.panels[0].codes)
    xs, ys = (low + (np.arange(n) + 0.5) * (high - low) / n for low, high in made.data.limits)
    return np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2)


def circles(path):
    """Centers of the circles of a path."""
    found = re.findall(r"M(-?[\d.]+) (-?[\d.]+)a([\d.]+)", path.get("d"))
    return [(float(x) + float(r), float(y)) for x, y, r in found]


def painted(group, side):
    """The class of each pixel, from the paths of an SVG."""
    out = np.full((side, side), -1)
    for path in group:
        for numbers in re.findall(r"M(\d+) (\d+)h(\d+)v(\d+)H\d+z", path.get("d")):
            x, y, w, h = map(int, numbers)
            assert (out[y : y + h, x : x + w] == -1).all()
            out[y : y + h, x : x + w] = int(path.get("class")[1:])
    return out[::-1]


# -- what is drawn -------------------------------------------------------------------


def test_regions_are_what_a_model_predicts_at_the_centers_of_pixels(penguins):
    model = logistic()
    made = seen(model, penguins.frame, "species", BILL)
    assert made.classes == ("Adelie", "Chinstrap", "Gentoo")
    there = ~np.isnan(penguins.X[BILL[0]])
    X = np.stack([penguins.X[name][there] for name in BILL], axis=1)
    model.fit(X, penguins.y[there].astype(str))
    assert np.array(made.classes)[made.panels[0].codes.ravel()].tolist() == model.predict(centers(made)).tolist()


def test_a_picture_by_matplotlib_has_those_regions(weather):
    models = {"naive Bayes": NaiveBayesClassifier(), "logistic": logistic()}
    axes = compare_boundaries(models, weather.frame, "play", resolution=40)
    made = seen(models, weather.frame, "play")
    assert [ax.get_title(loc="left") for ax in axes] == list(models)
    assert axes[0].get_xlim() == axes[1].get_xlim() == pytest.approx(made.data.limits[0])
    for ax, panel in zip(axes, made.panels, strict=True):
        assert ax.images[0].origin == "lower"
        assert ax.images[0].get_extent() == pytest.approx(made.data.limits.ravel())
        pixels = ax.images[0].get_array()
        bluish = pixels[..., 2].astype(int) > pixels[..., 0]
        assert (bluish == (panel.codes == 0)).all()


def test_regions_of_an_svg_cover_the_panel_and_agree_with_predict(penguins):
    models = {"naive Bayes": NaiveBayesClassifier(), "logistic": logistic(), "perceptron": Perceptron()}
    root = ET.fromstring(compare_boundaries(models, penguins.frame, "species", BILL, resolution=30, kind="svg"))
    made = seen(models, penguins.frame, "species", BILL, resolution=30)
    groups = [g for g in root.iter(SVG + "g") if g.get("class") == "regions"]
    assert len(groups) == 3
    for group, panel in zip(groups, made.panels, strict=True):
        assert (painted(group, 30) == panel.codes).all()


def test_points_with_a_ring_are_those_that_the_model_gets_wrong(weather):
    model = NaiveBayesClassifier().fit(weather.X, weather.y)
    (wrong,) = np.flatnonzero(model.predict(weather.X) != weather.y)
    (ax,) = compare_boundaries(model, weather.X, weather.y)
    rings = next(c for c in ax.collections if c.get_label() == "misclassified")
    spot = [weather.X["temperature"][wrong], weather.X["humidity"][wrong]]
    assert rings.get_offsets().tolist() == [spot]
    assert "1 of 14 rows misclassified" in [text.get_text() for text in ax.texts]

    root = ET.fromstring(compare_boundaries(model, weather.X, weather.y, kind="svg"))
    legend, ring = (p for p in root.iter(SVG + "path") if p.get("class") == "wrong")
    assert len(circles(legend)) == 1
    (left, right), (low, high) = seen(model, weather.X, weather.y).data.limits
    frame = next(r for r in root.iter(SVG + "rect") if r.get("fill") == "none")
    wide, tall = float(frame.get("width")), float(frame.get("height"))
    x, y = wide * (spot[0] - left) / (right - left), tall * (high - spot[1]) / (high - low)
    assert circles(ring) == [(pytest.approx(x, abs=0.1), pytest.approx(y, abs=0.1))]


def test_a_model_that_is_not_fitted_is_left_so_and_its_clone_has_two_attributes(weather):
    model = NaiveBayesClassifier()
    made = seen(model, weather.frame, "play")
    assert not hasattr(model, "tallies_")
    assert made.panels[0].subtitle.endswith("; fitted on these two")
    two = {name: weather.X[name] for name in ("temperature", "humidity")}
    fitted = NaiveBayesClassifier().fit(two, weather.y)
    assert made.panels[0].wrong.sum() == (fitted.predict(two) != weather.y).sum()
    assert "Regions are for" not in made.caption


def test_other_columns_of_a_fitted_model_stand_still_where_they_are_told(weather):
    model = NaiveBayesClassifier().fit(weather.X, weather.y)
    made = seen(model, weather.X, weather.y, at={"outlook": "overcast", "windy": True})
    spots = centers(made)
    rows = [{"outlook": "overcast", "temperature": t, "humidity": h, "windy": True} for t, h in spots]
    assert np.array(made.classes)[made.panels[0].codes.ravel()].tolist() == model.predict(rows).tolist()
    assert made.panels[0].confidence.ravel() == pytest.approx(np.ptp(model.predict_proba(rows), axis=1))
    assert "outlook = overcast, windy = True" in made.caption


def test_they_stand_at_the_median_and_the_commonest_value_if_nothing_is_told(penguins):
    made = seen(NaiveBayesClassifier().fit(penguins.X, penguins.y), penguins.X, penguins.y, BILL)
    assert "island = Biscoe, flipper_length_mm = 197, body_mass_g = 4050, sex = male, year = 2008" in made.caption


def test_a_count_stands_at_a_whole_number():
    X = {"a": [1.0, 2.0, 3.0, 4.0], "b": [1.0, 5.0, 2.0, 3.0], "n": np.array([0, 1, 2, 3])}
    model = NaiveBayesClassifier(types={"n": "count"}).fit(X, ["p", "q", "p", "q"])
    assert "n = 1 fixed;" in seen(model, X, ["p", "q", "p", "q"], ("a", "b")).caption


def test_a_date_is_no_axis_and_stands_at_a_day_that_is_there():
    days = np.array(["2020-01-01", "2020-01-09", "2020-01-03", "NaT"], dtype="datetime64[D]")
    X = {"a": [1.0, 2.0, 3.0, 4.0], "b": [1.0, 5.0, 2.0, 3.0], "day": days}
    y = ["p", "q", "p", "q"]
    made = seen(NaiveBayesClassifier().fit(X, y), X, y)
    assert made.data.pair == ("a", "b")
    assert "day = 2020-01-03 fixed;" in made.caption
    with pytest.raises(OptionError, match="a date attribute is not numeric"):
        seen(NaiveBayesClassifier(), X, y, ("a", "day"))
    with pytest.raises(OptionError, match="a date attribute is not numeric"):
        seen(NaiveBayesClassifier(), {**X, "day": days.astype(object)}, y, ("a", "day"))


def test_columns_of_an_array_stand_still_by_position_or_name():
    X = np.c_[np.arange(6.0), [3, 1, 4, 1, 5, 9], [2, 6, 5, 3, 5, 8]]
    y = [0, 1, 0, 1, 1, 0]
    model = LogisticRegression().fit(X, y)
    by_place, by_name = (seen(model, X, y, (0, 1), {at: 7.5}) for at in (2, "x2"))
    assert (by_place.panels[0].codes.ravel() == model.predict(np.c_[centers(by_name), np.full(1600, 7.5)])).all()
    assert by_place.caption == by_name.caption
    assert "x2 = 7.5 fixed;" in by_name.caption


def test_a_fitted_model_is_given_the_columns_that_it_knows(penguins):
    frame = pd.DataFrame(penguins.X).dropna()
    y = penguins.y[frame.index].astype(str)
    model = logistic().fit(frame[[*BILL[::-1], "body_mass_g"]], y)
    made = seen(model, frame, y, BILL)
    spots = pd.DataFrame(centers(made), columns=BILL).assign(body_mass_g=frame["body_mass_g"].median())
    expected = model.predict(spots[[*BILL[::-1], "body_mass_g"]])
    assert np.array(made.classes)[made.panels[0].codes.ravel()].tolist() == expected.tolist()


def test_a_pipeline_over_a_whole_frame_is_asked_about_whole_rows(weather):
    frame = pd.DataFrame(weather.X).astype({"windy": bool})
    columns = make_column_transformer((OneHotEncoder(), ["outlook", "windy"]), remainder=StandardScaler())
    model = make_pipeline(columns, LogisticRegression()).fit(frame, weather.y.astype(str))
    made = seen({"pipeline": model}, frame, weather.y, at={"outlook": "rainy"})
    spots = pd.DataFrame(centers(made), columns=["temperature", "humidity"]).assign(outlook="rainy", windy=False)
    expected = model.predict(spots[list(frame)])
    assert np.array(made.classes)[made.panels[0].codes.ravel()].tolist() == expected.tolist()


def test_without_probabilities_nothing_is_shaded(weather):
    both = {"bayes": NaiveBayesClassifier(), "perceptron": Perceptron()}
    bayes, perceptron = seen(both, weather.frame, "play").panels
    assert bayes.confidence is not None
    assert perceptron.confidence is None
    assert all(p.confidence is None for p in seen(both, weather.frame, "play", probabilities=False).panels)
    root = ET.fromstring(compare_boundaries(both, weather.frame, "play", kind="svg", probabilities=False))
    assert all(len(g) <= 2 for g in root.iter(SVG + "g") if g.get("class") == "regions")


def test_the_boundary_runs_where_two_classes_are_alike(weather):
    model = logistic()
    (panel,) = seen(model, weather.frame, "play").panels
    X = np.stack([weather.X["temperature"], weather.X["humidity"]], axis=1)
    chances = model.fit(X, weather.y.astype(str)).predict_proba(panel.lines.reshape(-1, 2))
    assert len(panel.lines) >= 40
    assert chances[:, 0] == pytest.approx(0.5, abs=2e-3)


def test_three_regions_meet_and_each_line_is_drawn():
    codes = np.array([[0, 0, 1], [0, 2, 1], [2, 2, 1]])
    lines = boundary(codes, None, np.arange(3.0), np.arange(3.0))
    assert lines.min() == 0
    assert lines.max() == 2
    ends = {tuple(p) for p in lines.reshape(-1, 2).tolist()}
    assert {(1.5, 0.0), (0.0, 1.5), (1.5, 2.0), (0.5, 1.0), (1.0, 0.5), (1.5, 1.0)} <= ends
    saddle = boundary(np.array([[0, 1], [1, 0]]), None, np.arange(2.0), np.arange(2.0))
    assert len(saddle) == 2


# -- tables --------------------------------------------------------------------------

KINDS = {
    "mapping": lambda X: X,
    "lists": lambda X: {name: column.tolist() for name, column in X.items()},
    "dicts": lambda X: [dict(zip(X, row, strict=True)) for row in zip(*X.values(), strict=True)],
    "pandas": lambda X: pd.DataFrame(X, index=range(100, 114)),
    "categories": lambda X: pd.DataFrame(X).astype({"outlook": "category", "temperature": "Int64"}),
    "polars": lambda X: pl.DataFrame({name: column.tolist() for name, column in X.items()}),
    "pyarrow": lambda X: pa.table({name: column.tolist() for name, column in X.items()}),
    "array": lambda X: np.stack([column.astype(object) for column in X.values()], axis=1),
    "rows": lambda X: [list(row) for row in zip(*X.values(), strict=True)],
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_gives_the_same_picture(weather, kind):
    X = KINDS[kind](weather.X)
    y = weather.y.tolist()
    named = kind not in ("array", "rows")
    pair = ("temperature", "humidity") if named else (1, "x2")
    at = {"outlook" if named else "x0": "rainy"}
    models = {"fitted": NaiveBayesClassifier().fit(X, y), "bayes": NaiveBayesClassifier(), "logistic": logistic()}
    made = seen(models, X, y, pair, at)
    plain = {**models, "fitted": NaiveBayesClassifier().fit(weather.X, y)}
    expected = seen(plain, weather.X, y, ("temperature", "humidity"), {"outlook": "rainy"})
    for one, other in zip(made.panels, expected.panels, strict=True):
        assert (one.codes == other.codes).all()
        assert (one.wrong == other.wrong).all()
        assert one.confidence == pytest.approx(other.confidence)


def test_an_array_of_two_columns_needs_no_names():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))
    y = X[:, 0] > X[:, 1]
    (ax,) = compare_boundaries(LogisticRegression().fit(X, y), X, y, resolution=20)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x0", "x1")
    from scipy.sparse import csr_array

    assert compare_boundaries(LogisticRegression(), csr_array(X), y, resolution=20, kind="svg").startswith("<svg")


def test_the_class_may_be_a_column_of_any_frame(weather):
    for frame in (weather.frame, pd.DataFrame(weather.frame), pl.DataFrame(weather.frame, strict=False)):
        made = seen(NaiveBayesClassifier(), frame, "play")
        assert made.data.pair == ("temperature", "humidity")
        assert made.data.target == "play"


def test_classes_keep_the_order_of_their_categories(weather):
    y = pd.Series(pd.Categorical(weather.y, categories=["yes", "no", "never"]), name="play")
    assert seen(NaiveBayesClassifier(), pd.DataFrame(weather.X), y).classes == ("yes", "no")


def test_rows_without_an_attribute_or_a_class_are_not_drawn_and_the_caption_says_so(penguins):
    made = seen(NaiveBayesClassifier(), penguins.frame, "species", BILL)
    assert len(made.data.rows) == 342
    assert made.caption.startswith("2 rows without bill_length_mm or bill_depth_mm are not drawn.")
    y = penguins.y.copy()
    y[0] = None
    assert "1 row without a class is not drawn." in seen(NaiveBayesClassifier(), penguins.X, y, BILL).caption


def test_of_many_rows_a_sample_from_everywhere_is_drawn_and_the_caption_says_so():
    rng = np.random.default_rng(1)
    X = np.r_[rng.normal(size=(7000, 2)), [[9.0, 9.0]] * 4]
    y = (X[:, 0] > 0).astype(int)
    made = seen(NaiveBayesClassifier(), X, y)
    assert len(made.shown) == len(set(made.shown.tolist())) == 2000
    assert (made.shown >= 7000).sum() in (1, 2)
    assert (spread_out(made.data.xy) == made.shown).all()
    assert "2000 of 7004 rows are drawn" in made.caption
    assert f"{made.panels[0].wrong.sum()} of 7004 rows misclassified" == made.panels[0].subtitle.split(";")[0]
    (ax,) = compare_boundaries(NaiveBayesClassifier(), X, y, resolution=20)
    assert sum(len(c.get_offsets()) for c in ax.collections if c.get_label() in ("0", "1")) == 2000


def test_a_class_that_only_the_model_knows_has_a_color_too(weather):
    model = NaiveBayesClassifier().fit(weather.X, ["maybe", *weather.y[1:]])
    made = seen(model, weather.X, weather.y)
    assert made.classes == ("no", "yes", "maybe")
    assert made.panels[0].codes.max() <= 2


def test_one_constant_attribute_and_one_class_are_drawn():
    X = {"a": np.full(5, 3.0), "b": np.arange(5.0)}
    picture = compare_boundaries(NaiveBayesClassifier(), X, ["p"] * 5, kind="svg", resolution=12)
    assert "0 of 5 rows misclassified" in picture


# -- the SVG -------------------------------------------------------------------------


def test_an_svg_is_whole_and_modest(penguins):
    models = {"a < b & c": NaiveBayesClassifier(), 'say "so"': logistic(), "kernel": NaiveBayesClassifier("kernel")}
    picture = compare_boundaries(models, penguins.frame, "species", BILL, resolution=120, kind="svg")
    assert len(picture.encode()) < 300_000
    root = ET.fromstring(picture)
    assert root.get("role") == "img"
    assert [root[i].tag for i in (0, 1)] == [SVG + "title", SVG + "desc"]
    assert root[2].get("fill") == "#fff"
    panels = [g for g in root.iter(SVG + "g") if g.get("class") == "panel"]
    texts = [[t.text for t in panel.iter(SVG + "text")] for panel in panels]
    assert [title for words, title in zip(texts, models, strict=True) if title in words] == list(models)
    assert ["bill_depth_mm" in words for words in texts] == [True, False, False]
    legend = next(g for g in root.iter(SVG + "g") if g.get("class") == "legend")
    words = [t.text for t in legend.iter(SVG + "text")]
    assert words == ["species:", "Adelie", "Chinstrap", "Gentoo", "misclassified"]
    names = [e.get("id") for e in root.iter() if e.get("id")]
    assert [u.get("href")[1:] for u in root.iter(SVG + "use")] == 2 * names


def test_an_svg_needs_no_matplotlib():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from countwise import NaiveBayesClassifier, samples\n"
        "from countwise.plots import compare_boundaries\n"
        "w = samples.load('weather')\n"
        "print(compare_boundaries(NaiveBayesClassifier(), w.frame, 'play', kind='svg')[:4])\n"
        "try:\n"
        "    compare_boundaries(NaiveBayesClassifier(), w.frame, 'play')\n"
        "except ValueError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    refusal = "This plot needs matplotlib, which is not installed. Hint: install it: pip install countwise[plot]."
    assert done.stdout.splitlines() == ["<svg", refusal]


def test_many_classes_come_again_in_color_with_another_mark():
    rng = np.random.default_rng(2)
    y = np.repeat(np.arange(13), 6)
    X = np.c_[np.cos(y), np.sin(y)] * 9 + rng.normal(size=(78, 2))
    root = ET.fromstring(compare_boundaries(NaiveBayesClassifier(), X, y, kind="svg", resolution=50))
    points = next(g for g in root.iter(SVG + "g") if g.get("class") == "points")
    assert len(points) == 13
    assert points[0].get("fill") == points[10].get("fill")
    assert points[0].get("d").count("a") != points[10].get("d").count("a")


@pytest.mark.parametrize(
    ("low", "high", "texts"),
    [
        (0, 1, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (62.7, 86.3, ["65", "70", "75", "80", "85"]),
        (-3e6, 1e6, ["−3e6", "−2e6", "−1e6", "0", "1e6"]),
        (1e-9, 3e-9, ["1e−9", "1.5e−9", "2e−9", "2.5e−9", "3e−9"]),
    ],
)
def test_ticks_are_round_numbers(low, high, texts):
    assert [text for _, text in nice_ticks(low, high)] == texts


def test_runs_cover_a_grid_once():
    grid = np.random.default_rng(3).integers(0, 3, (17, 17))
    found = np.full(grid.shape, -1)
    for value, x, y, w, h in runs(grid):
        assert (found[y : y + h, x : x + w] == -1).all()
        found[y : y + h, x : x + w] = value
    assert (found == grid).all()


# -- axes ----------------------------------------------------------------------------


def test_axes_that_are_given_are_drawn_on(weather):
    import matplotlib.pyplot as plt

    figure, given = plt.subplots(1, 2)
    axes = compare_boundaries([logistic(), NaiveBayesClassifier()], weather.frame, "play", ax=given, resolution=20)
    assert axes.tolist() == given.tolist()
    assert plt.get_fignums() == [figure.number]
    assert [ax.get_legend() is None for ax in axes] == [True, False]
    assert [ax.get_title(loc="left") for ax in axes] == ["LogisticRegression", "NaiveBayesClassifier"]
    with pytest.raises(OptionError, match="3 models and 2 axes"):
        compare_boundaries([NaiveBayesClassifier()] * 3, weather.frame, "play", ax=given, resolution=20)


def test_five_models_stand_in_two_rows(weather):
    axes = compare_boundaries([NaiveBayesClassifier()] * 5, weather.frame, "play", resolution=20)
    assert len(axes) == 5
    assert len(axes[0].figure.axes) == 5
    assert [bool(ax.get_xlabel()) for ax in axes] == [False, False, True, True, True]
    assert [bool(ax.get_ylabel()) for ax in axes] == [True, False, False, True, False]
    assert axes[4].get_title(loc="left") == "NaiveBayesClassifier 5"
    assert len(axes[0].figure.legends) == 1


# -- what is refused -----------------------------------------------------------------

REFUSED = {
    "one attribute": ({"attributes": ["humidity"]}, "must be a sequence of two attributes"),
    "a string for two": ({"attributes": "humidity"}, "must be a sequence of two attributes"),
    "the same twice": ({"attributes": ("humidity", "humidity")}, "twice"),
    "unknown": ({"attributes": ("humidity", "temprature")}, "'temprature', but X.*did you mean 'temperature'"),
    "nominal": ({"attributes": ("humidity", "outlook")}, "'outlook' cannot be an axis: a nominal attribute"),
    "kind": ({"kind": "matplotlob"}, "not 'matplotlob'.*did you mean 'matplotlib'"),
    "resolution": ({"resolution": 9}, "resolution must be an integer >= 10, not 9"),
    "half a pixel": ({"resolution": 20.0}, "resolution must be an integer >= 10, not 20.0"),
    "no models": ({"models": {}}, "models is empty"),
    "no list of models": ({"models": []}, "models is empty"),
    "a class": ({"models": NaiveBayesClassifier}, r"not a classifier.*NaiveBayesClassifier\(\)"),
    "a string": ({"models": "bayes"}, "not a classifier"),
    "too few classes": ({"y": ["yes"] * 13}, "14 rows, but y has 13 entries"),
    "no classes": ({"y": None}, "classes y are missing"),
    "no such target": ({"y": "ply"}, "no column 'ply'.*did you mean 'play'"),
    "axes for an SVG": ({"kind": "svg", "ax": object()}, "ax cannot be combined"),
    "at nowhere": ({"at": {"windi": True}}, "column 'windi', but X has no such column.*did you mean 'windy'"),
    "at a moving one": ({"at": {"humidity": 3}}, "one of the two attributes"),
    "at no such value": ({"at": {"outlook": "suny"}}, "does not occur in the column.*did you mean 'sunny'"),
    "at is no mapping": ({"at": "sunny"}, "at must be a mapping"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_drawn_is_refused_in_one_clear_sentence(weather, what):
    changes, words = REFUSED[what]
    asked = {"models": NaiveBayesClassifier(), "X": weather.frame, "y": "play", "resolution": 20, **changes}
    with pytest.raises((OptionError, TableError), match=words):
        compare_boundaries(**asked)


def test_which_two_of_many_is_asked(penguins):
    with pytest.raises(OptionError, match=r"5 numeric attributes; the plot shows two.*attributes=\('bill_length_mm'"):
        compare_boundaries(NaiveBayesClassifier(), penguins.frame, "species")
    with pytest.raises(OptionError, match="needs two numeric attributes; X has only 'a'"):
        compare_boundaries(NaiveBayesClassifier(), {"a": [1.0, 2.0], "b": ["u", "v"]}, [0, 1])
    with pytest.raises(OptionError, match="positions go from 0 to 1"):
        compare_boundaries(NaiveBayesClassifier(), np.ones((3, 2)), [0, 1, 0], (0, 2))


def test_rows_of_which_none_can_be_drawn_are_refused():
    X = {"a": [1.0, None], "b": [None, 1.0]}
    with pytest.raises(TableError, match="nothing to draw"):
        compare_boundaries(NaiveBayesClassifier(), X, [0, 1], ("a", "b"))
    with pytest.raises(TableError, match=r"contains infinity: 'a' is -?inf in row 1"):
        compare_boundaries(NaiveBayesClassifier(), {"a": [1.0, np.inf], "b": [2.0, 1.0]}, [0, 1])


def test_a_model_fitted_on_something_else_is_refused(penguins):
    frame = pd.DataFrame(penguins.X)[[*BILL, "body_mass_g"]].dropna()
    y = penguins.y[frame.index].astype(str)
    model = logistic().fit(frame[[BILL[0], "body_mass_g"]], y)
    with pytest.raises(OptionError, match="was not fitted on 'bill_depth_mm'"):
        compare_boundaries(model, frame, y, BILL)
    with pytest.raises(TableError, match="was fitted on 'body_mass_g', but X has no such column"):
        compare_boundaries(logistic().fit(frame, y), frame[list(BILL)], y)


def test_a_model_that_predicts_no_classes_is_refused(weather):
    from sklearn.linear_model import LinearRegression

    with pytest.raises(OptionError, match="which is not a class of y"):
        compare_boundaries(
            LinearRegression(), {n: weather.X[n] for n in ("temperature", "humidity")}, weather.y == "yes"
        )

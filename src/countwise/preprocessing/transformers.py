"""The transformers with scikit-learn's face: parameters, tags, `set_output`, pipelines."""

from __future__ import annotations

from typing import Any

from sklearn import get_config
from sklearn.base import BaseEstimator, TransformerMixin

from countwise.preprocessing.discretizer import Discretization
from countwise.preprocessing.encoder import Encoding

__all__ = ["Discretizer", "NumericEncoder"]


class _Transformer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """What scikit-learn asks of a transformer that takes tables as they are."""

    _needs_target: Any  # of what is learned by counting

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "tallies_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []
        tags.target_tags.required = self._needs_target()
        return tags

    def _asked(self) -> str | None:
        own = getattr(self, "_sklearn_output_config", {})
        asked: str | None = own.get("transform", get_config()["transform_output"])
        return asked


class Discretizer(_Transformer, Discretization):
    """Cut numbers into ranges, column by column, and say why and at what cost.

    Parameters
    ----------
    method : str, sequence of float, Ranges, or mapping of column to any of these, default="mdl"
        "naive" (each value a range), "equal_width", "equal_frequency", "kmeans" (the optimum),
        "class_contiguous" (wherever the class changes), "min_n" (not before a range holds n of
        one class), "mdl" (Fayyad and Irani: as long as a cut pays for its own description), or
        the inner edges by hand. A mapping names the columns to cut; the others stay as they are.
    n_bins : int or "leave_one_out", default=10
        How many ranges, for equal width, equal frequency and k-means; or the number whose
        leave-one-out likelihood is best.
    n : float, default=6
        For "min_n": how many rows of one class a range must hold.
    merge : {None, "majority", "last"}, optional
        For "min_n": join neighbors with one commonest class, or a last range that never
        reached n.
    encode : {None, "labels", "codes", "onehot"}, optional
        What `transform` gives: ordered labels such as ``(70.5, 77.5]``, the number of the range,
        or a column for each range. By default labels in a frame, codes in an array.
    missing : {"keep", "zeros"}, default="keep"
        One-hot: a missing cell is missing in each of its columns, or 0 in each.
    columns : sequence of str, optional
        Which columns to cut; by default all that are numbers.
    types : mapping of column to kind, str or Schema, optional
        What the columns are, where dtypes do not tell.

    Attributes
    ----------
    edges_ : dict
        The inner edges of each column; ranges are (lo, hi].
    n_bins_ : dict
        The number of ranges of each column.
    cuts_ : dict
        Edges with the reason for each.
    attributes_ : dict
        The ordinal attribute that each column becomes.
    tallies_ : dict
        All that was learned: the values of each class.

    Examples
    --------
    >>> from countwise import Discretizer, samples
    >>> rain = samples.load("rain")
    >>> cutter = Discretizer("class_contiguous").fit(rain.X, rain.y)
    >>> cutter.edges_["temp"].round(2).tolist()
    [18.95, 19.6, 21.9]
    >>> cutter.transform(rain.X)["temp"].tolist()[:3]
    ['> 21.9', '<= 18.95', '(18.95, 19.6]']
    """


class NumericEncoder(_Transformer, Encoding):
    """Turn names into numbers: nominal columns one-hot or as codes, ordinal ones by choice.

    Parameters
    ----------
    nominal : {"onehot", "codes"}, default="onehot"
        A column of 0 and 1 for each value; or the number of the value, which gives the values an
        order and distances that they do not have: a warning says so.
    ordinal : {"thresholds", "number", "nominal"}, default="thresholds"
        A column of 0 and 1 for each step, ``temperature>cool``; the number of the value, as if
        the steps were equally long; or as if there were no order.
    drop : {None, "if_binary", "first"}, optional
        One-hot: leave out the column of the first value, of two-valued columns or of all.
    missing : {"keep", "zeros"}, default="keep"
        One-hot: a missing cell is missing in each of its columns, or 0 in each.
    types : mapping of column to kind, str or Schema, optional
        What the columns are, where dtypes do not tell; an `Ordinal` also says in which order.
    unseen : {"ignore", "error"}, default="ignore"
        A value never met in training is none of those known (one-hot) and missing otherwise;
        or an error.

    Attributes
    ----------
    schema_ : Schema
        What each column is.
    expanded_ : dict
        The names of the columns that come of each attribute.

    Examples
    --------
    >>> from countwise import NumericEncoder, Ordinal, samples
    >>> tennis = samples.load("tennis")
    >>> X = {name: tennis.X[name] for name in ("temperature", "wind")}
    >>> coder = NumericEncoder(types={"temperature": Ordinal("temperature", ("Cool", "Mild", "Hot"))}).fit(X)
    >>> coder.get_feature_names_out().tolist()
    ['temperature>Cool', 'temperature>Mild', 'wind=Strong', 'wind=Weak']
    >>> coder.transform(X)["temperature>Cool"].tolist()[:5]
    [1.0, 1.0, 1.0, 1.0, 0.0]
    """

"""Sample data sets: small textbook tables, and a few public data sets.

Licenses and attributions are in ``LICENSES.md`` beside the files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from countwise.errors import OptionError, ReadError, did_you_mean, listed
from countwise.io.pieces import objects
from countwise.io.readers import Columns, read

__all__ = ["Sample", "load", "names"]


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Data set with the name of its target and its source.

    Parameters
    ----------
    name : str
        The name of the data set, for `load`.
    frame : dict of str to ndarray
        All columns, including the target.
    target : str
        The name of the target column.
    description : str
        A description in one sentence.
    source : str
        The publication or other source.
    license : str
        The terms of use; see also ``LICENSES.md``.

    Attributes
    ----------
    X : dict of str to ndarray
        The columns without the target.
    y : ndarray
        The target.

    Examples
    --------
    >>> from countwise.samples import load
    >>> rain = load("rain")
    >>> list(rain.X), rain.y.tolist()
    (['wind', 'temp'], ['no', 'yes', 'no', 'no', 'yes', 'yes'])
    """

    name: str
    frame: Columns = field(repr=False)
    target: str
    description: str
    source: str
    license: str

    @property
    def X(self) -> Columns:  # noqa: N802 - scikit-learn's name for the table
        """Columns without the target."""
        return {name: column for name, column in self.frame.items() if name != self.target}

    @property
    def y(self) -> NDArray[Any]:
        """Target column."""
        return self.frame[self.target]

    def columns(self, *names: str) -> Columns:
        """Return some of the columns.

        Parameters
        ----------
        *names : str
            The names of the columns; the target may be one of them.

        Returns
        -------
        dict of str to ndarray
            The columns in the given order.

        Examples
        --------
        >>> from countwise.samples import load
        >>> list(load("rain").columns("temp", "rain"))
        ['temp', 'rain']
        """
        odd = [name for name in names if name not in self.frame]
        if odd:
            raise OptionError(
                f"The sample {self.name!r} has no column {odd[0]!r}.",
                hint=did_you_mean(odd[0], self.frame) or f"use one of {listed(self.frame)}.",
            )
        return {name: self.frame[name] for name in names}


@dataclass(frozen=True, slots=True)
class _Entry:
    """File, description and source of a data set."""

    file: str
    target: str
    description: str
    source: str
    license: str = "a table of facts from public lecture notes"
    options: dict[str, Any] = field(default_factory=dict)
    convert: Callable[[Columns], Columns] | None = None


def _windy_as_bool(frame: Columns) -> Columns:
    """Convert the column windy to booleans; ARFF has only the strings TRUE and FALSE."""
    return frame | {"windy": objects([value == "TRUE" for value in frame["windy"]])}


_ENTRIES = {
    "rain": _Entry("rain.csv", "rain", "Six days with wind and temperature: did it rain?", "public lecture notes"),
    "tennis": _Entry(
        "tennis.csv",
        "play",
        "Fourteen days with four nominal attributes: was tennis played?",
        "Mitchell (1997), Machine Learning: the PlayTennis table",
    ),
    "weather": _Entry(
        "weather.numeric.arff",
        "play",
        "The fourteen days of tennis with temperature and humidity as numbers.",
        "Witten and Frank, Data Mining",
        "a textbook table",
        convert=_windy_as_bool,
    ),
    "mail": _Entry("mail.csv", "label", "Six short e-mails: spam or valid?", "public lecture notes"),
    "loan": _Entry(
        "loan.csv",
        "default",
        "Ten borrowers with home ownership, marital status and years in the job: who defaulted?",
        "public lecture notes",
    ),
    "cheat": _Entry(
        "cheat.csv",
        "cheat",
        "Ten taxpayers with refund, marital status and income in thousands: who cheated?",
        "Tan, Steinbach and Kumar (2006), Introduction to Data Mining",
    ),
    "hours": _Entry(
        "hours.csv",
        "hours",
        "Fourteen days with four nominal attributes: for how many hours was tennis played?",
        "public lecture notes",
    ),
    "penguins": _Entry(
        "penguins.csv",
        "species",
        "344 penguins of three species, measured on three islands, with some missing values.",
        "Gorman, Williams and Fraser (2014); Horst, Hill and Gorman (2020), palmerpenguins",
        "CC0 1.0",
    ),
    "credit": _Entry(
        "credit.csv",
        "Status",
        "4454 loans with the finances of the borrower: is the credit status good or bad?",
        "credit_data of the R package modeldata",
        "MIT",
    ),
    "sms": _Entry(
        "sms_spam.tsv",
        "label",
        "5574 text messages in English: spam or ham (not spam)?",
        "Almeida and Hidalgo (2011), SMS Spam Collection, UCI Machine Learning Repository",
        "CC BY 4.0",
        # Messages contain unpaired quotation marks, and words such as "NA" that are not missing values.
        options={"header": False, "names": ("label", "message"), "quote": None, "missing": ()},
    ),
}


def names() -> list[str]:
    """Return the names of all data sets.

    Returns
    -------
    list of str
        The names: textbook tables first, then public data sets.

    Examples
    --------
    >>> from countwise.samples import names
    >>> names()[:3]
    ['rain', 'tennis', 'weather']
    """
    return list(_ENTRIES)


def load(name: str) -> Sample:
    """Load a sample data set.

    Parameters
    ----------
    name : str
        One of `names`.

    Returns
    -------
    Sample
        The data set. Each call reads it again, so its columns may be changed.

    Examples
    --------
    >>> from countwise.samples import load
    >>> load("weather").frame["temperature"][:3]
    array([85., 80., 83.])
    """
    entry = _ENTRIES.get(name) if isinstance(name, str) else None
    if entry is None:
        hint = did_you_mean(name, _ENTRIES) or f"use one of {listed(_ENTRIES, most=len(_ENTRIES))}."
        raise ReadError(f"There is no sample {name!r}.", hint=hint)
    frame = read(Path(__file__).with_name(entry.file), **entry.options)
    if entry.convert is not None:
        frame = entry.convert(frame)
    return Sample(name, frame, entry.target, entry.description, entry.source, entry.license)

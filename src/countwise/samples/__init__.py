"""Small tables to try things on: those of the lectures, and a few public ones.

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
    """A table with the name of its class column and where it comes from.

    Parameters
    ----------
    name : str
        Name for `load`.
    frame : dict of str to ndarray
        All columns, the target among them.
    target : str
        Name of the column to predict.
    description : str
        What the table is, in one sentence.
    source : str
        Lecture or publication.
    license : str
        The terms of use; see also ``LICENSES.md``.

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
        """The columns without the target."""
        return {name: column for name, column in self.frame.items() if name != self.target}

    @property
    def y(self) -> NDArray[Any]:
        """The target."""
        return self.frame[self.target]

    def columns(self, *names: str) -> Columns:
        """Some of the columns, the target among them if it is named."""
        odd = [name for name in names if name not in self.frame]
        if odd:
            raise OptionError(
                f"The sample {self.name!r} has no column {odd[0]!r}.",
                hint=did_you_mean(odd[0], self.frame) or f"it has {listed(self.frame)}.",
            )
        return {name: self.frame[name] for name in names}


@dataclass(frozen=True, slots=True)
class _Entry:
    """Where a sample is and what is said about it."""

    file: str
    target: str
    description: str
    source: str
    license: str = "a table of facts from public lecture notes"
    options: dict[str, Any] = field(default_factory=dict)
    mend: Callable[[Columns], Columns] | None = None


def _windy_as_truth(frame: Columns) -> Columns:
    """ARFF has no booleans, only the words TRUE and FALSE."""
    return frame | {"windy": objects([word == "TRUE" for word in frame["windy"]])}


_ENTRIES = {
    "rain": _Entry("rain.csv", "rain", "Six days with the wind and the temperature: did it rain?", "lecture 000"),
    "tennis": _Entry(
        "tennis.csv", "play", "Fourteen days in four nominal attributes: was tennis played?", "lectures 002 and 004"
    ),
    "weather": _Entry(
        "weather.numeric.arff",
        "play",
        "The days of tennis with temperature and humidity as numbers.",
        "lecture 004; the table of Witten and Frank, Data Mining",
        "a textbook table",
        mend=_windy_as_truth,
    ),
    "mail": _Entry("mail.csv", "label", "Six short mails: spam or valid?", "lecture 003"),
    "loan": _Entry(
        "loan.csv", "default", "Ten borrowers by home, marriage and years in the job: who defaulted?", "lecture 003"
    ),
    "cheat": _Entry(
        "cheat.csv", "cheat", "Ten people by refund, marriage and income in thousands: who cheated?", "lecture 004"
    ),
    "hours": _Entry(
        "hours.csv", "hours", "Fourteen days in four attributes: for how many hours was played?", "lecture 002"
    ),
    "penguins": _Entry(
        "penguins.csv",
        "species",
        "344 penguins of three species, measured on three islands, with some cells missing.",
        "Gorman, Williams and Fraser (2014); Horst, Hill and Gorman (2020), palmerpenguins",
        "CC0 1.0",
    ),
    "credit": _Entry(
        "credit.csv",
        "Status",
        "4454 loans with the finances of the borrower: good or bad?",
        "credit_data of the R package modeldata",
        "MIT",
    ),
    "sms": _Entry(
        "sms_spam.tsv",
        "label",
        "5574 text messages in English: spam or ham?",
        "Almeida and Hidalgo (2011), SMS Spam Collection, UCI Machine Learning Repository",
        "CC BY 4.0",
        # Messages contain quotation marks that quote nothing, and words such as "NA" that are not gaps.
        options={"header": False, "names": ("label", "message"), "quote": None, "missing": ()},
    ),
}


def names() -> list[str]:
    """The names of all samples.

    Returns
    -------
    list of str
        In the order of the lectures, then the public tables.

    Examples
    --------
    >>> from countwise.samples import names
    >>> names()[:3]
    ['rain', 'tennis', 'weather']
    """
    return list(_ENTRIES)


def load(name: str) -> Sample:
    """Load a sample; each call reads it anew, so that it may be changed freely.

    Parameters
    ----------
    name : str
        One of `names`.

    Returns
    -------
    Sample
        The table and what is known about it.

    Examples
    --------
    >>> from countwise.samples import load
    >>> load("weather").frame["temperature"][:3]
    array([85., 80., 83.])
    """
    entry = _ENTRIES.get(name)
    if entry is None:
        hint = did_you_mean(name, _ENTRIES) or f"the samples are {listed(_ENTRIES, most=len(_ENTRIES))}."
        raise ReadError(f"There is no sample {name!r}.", hint=hint)
    frame = read(Path(__file__).with_name(entry.file), **entry.options)
    if entry.mend is not None:
        frame = entry.mend(frame)
    return Sample(name, frame, entry.target, entry.description, entry.source, entry.license)

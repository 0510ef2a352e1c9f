"""JSON files of models and case bases, with a format version and a checksum.

Their size, nesting depth and number of digits are limited. `plain` converts parameters and values to plain data, and
`revived` converts them back. Values that JSON does not have, such as dates, are marked with their type, which is
looked up in a fixed table. Nothing in a file is used as the name of a class.
"""

from __future__ import annotations

import datetime
import decimal
import hashlib
import json
import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.errors import ModelFileError

__all__ = [
    "FORMAT",
    "MAX_BYTES",
    "checked",
    "enveloped",
    "limit_depth",
    "numbers",
    "plain",
    "plain_value",
    "read_checked",
    "revived",
    "sealed",
]

FORMAT = 2  # format 1 has other names of parameters; see `registry.KINDS` and `modelfile`
_READS = (1, 2)
MAX_BYTES = 1 << 31
_MAX_DEPTH = 24
_MAX_DIGITS = 400
_LARGEST = sys.float_info.max
_SURROGATES = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_PAIRED = "a string has two surrogates in a row, which would be read back as one character"
_WRITTEN = "pass a file that was written by countwise.save or countwise train."


def enveloped(body: str) -> bytes:
    """Return the content of a file: format version, checksum and body."""
    return f'{{"countwise":{FORMAT},"sha256":"{_digest(body)}","model":{body}}}\n'.encode()


def sealed(content: Any, place: Path) -> bytes:
    """Return the content of a file that `read_checked` reads back as it is; raise an error if there is none."""
    settings: dict[str, Any] = {"separators": (",", ":"), "allow_nan": False, "default": plain_value}
    try:
        if _depth(content) >= _MAX_DEPTH:  # the file is one level deeper
            raise ValueError(f"it is nested more than {_MAX_DEPTH} levels deep")
        body = json.dumps(content, ensure_ascii=False, **settings)
        try:
            data = enveloped(body)
        except UnicodeEncodeError:  # a lone surrogate, which JSON can represent in ASCII only
            if _SURROGATES.search(body):
                raise ValueError(_PAIRED) from None
            data = enveloped(json.dumps(content, **settings))
        if len(data) > MAX_BYTES:
            raise ValueError(f"it would have {len(data):,} bytes, and the limit is {MAX_BYTES:,}")
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(f"{place} cannot be written: {error}.") from None
    return data


def _depth(part: Any) -> int:
    """Return how deeply the lists and objects of a content are nested."""
    inner = part.values() if isinstance(part, dict) else part
    return 1 + max((_depth(one) for one in inner if isinstance(one, dict | list | tuple)), default=0)


def read_checked(place: Path, hint: str) -> dict[str, Any]:
    """Read and validate a file; `hint` says how to create one if it does not exist."""
    try:
        with place.open("rb") as file:
            raw = file.read(1)
            raw += file.read(MAX_BYTES) if raw == b"{" else file.read(1 << 16)  # a device may have no end
    except FileNotFoundError:
        raise ModelFileError(f"The file {str(place)!r} does not exist.", hint=hint) from None
    except OSError as error:
        raise ModelFileError(f"{place} cannot be read: {error.strerror}.") from None
    except ValueError as error:
        raise ModelFileError(f"{str(place)!r} is not the path of a file: {error}.") from None
    if len(raw) > MAX_BYTES:
        raise ModelFileError(f"{place} is too large for a model file: the limit is {MAX_BYTES:,} bytes.")
    return checked(raw, place)


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()


def checked(raw: bytes, place: Path) -> dict[str, Any]:
    """Return the content of a file after checking its depth, digits, format version and checksum."""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise ModelFileError(f"{place} is not a model file: it is not UTF-8 text.", hint=_WRITTEN) from None
    limit_depth(text, place)
    try:
        document = json.loads(
            text, parse_int=_integer, parse_float=_number, parse_constant=_refuse, object_pairs_hook=_mapping
        )
    except (ValueError, RecursionError) as error:
        raise ModelFileError(
            f"{place} is not a model file, or it is damaged: it cannot be parsed as JSON ({error}).", hint=_WRITTEN
        ) from None
    if not isinstance(document, dict) or "countwise" not in document:
        raise ModelFileError(f"{place} is not a Countwise model file.", hint=_WRITTEN)
    if type(document["countwise"]) is not int or document["countwise"] not in _READS:
        raise ModelFileError(
            f"{place} has format {document['countwise']!r}; this version reads formats 1 and 2.",
            hint="use the version of Countwise that wrote it, or train again.",
        )
    head = f'{{"countwise":{document["countwise"]},"sha256":"{document.get("sha256")}","model":'
    if not text.startswith(head) or _digest(text[len(head) :].rstrip("\n")[:-1]) != document.get("sha256"):
        raise ModelFileError(
            f"{place} was changed or damaged: its checksum does not match.",
            hint="restore the file from a backup, or train the model again.",
        )
    content = document["model"]
    if not isinstance(content, dict):
        raise ModelFileError(f"{place} is not a Countwise model file.", hint=_WRITTEN)
    return content


def limit_depth(text: str, place: Path) -> None:
    """Raise an error if a file is nested more deeply than model files are."""
    depth, deepest, inside, escaped = 0, 0, False, False
    for letter in text if len(text) < 1 << 16 else _brackets(text):
        if inside:
            inside = escaped or letter != '"'
            escaped = letter == "\\" and not escaped
        elif letter == '"':
            inside = True
        elif letter in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif letter in "]}":
            depth -= 1
    if deepest > _MAX_DEPTH:
        raise ModelFileError(
            f"{place} is not a model file: it is nested {deepest} levels deep, and the limit is {_MAX_DEPTH}."
        )


def _brackets(text: str) -> str:
    """Return only the characters that determine the depth, to speed up long files."""
    return "".join(re.findall(r'\\.|["\[\]{}]', text))


def _integer(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise ValueError("a number has too many digits")
    return int(digits)


def _number(digits: str) -> float:
    if len(digits) > _MAX_DIGITS:
        raise ValueError("a number has too many digits")
    value = float(digits)
    if math.isinf(value):
        raise ValueError(f"the number {digits} is too large")
    return value


def _refuse(word: str) -> float:
    raise ValueError(f"{word} is not allowed")


def _mapping(pairs: list[tuple[str, Any]]) -> Any:
    """Return an object of a file, or the value that it describes."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object has a key twice")
    return _value_from(found) if found.get("@") == "value" else found


# -- values ---------------------------------------------------------------------------------

_TO_TEXT: dict[type, Callable[[Any], Any]] = {
    bytes: bytes.hex,
    datetime.date: datetime.date.isoformat,
    datetime.datetime: datetime.datetime.isoformat,
    datetime.time: datetime.time.isoformat,
    decimal.Decimal: str,
    float: str,  # an infinite number
    datetime.timedelta: lambda value: [value.days, value.seconds, value.microseconds],
    tuple: lambda value: [plain_value(one) for one in value],
}
_OF_PANDAS: dict[str, Callable[[Any], Any]] = {
    "Interval": lambda value: [plain_value(value.left), plain_value(value.right), value.closed],
    "Period": lambda value: [value.ordinal, value.freqstr],
    "Timedelta": lambda value: value.isoformat(),
    "Timestamp": lambda value: value.isoformat(),
}
_FROM_TEXT: dict[str, Callable[[Any], Any]] = {
    "bytes": bytes.fromhex,
    "date": datetime.date.fromisoformat,
    "datetime": datetime.datetime.fromisoformat,
    "decimal": decimal.Decimal,
    "float": float,
    "interval": lambda of: _pandas().Interval(of[0], of[1], closed=of[2]),
    "pandas timedelta": lambda of: _pandas().Timedelta(of),
    "period": lambda of: _pandas().Period(ordinal=of[0], freq=of[1]),
    "time": datetime.time.fromisoformat,
    "timedelta": lambda of: datetime.timedelta(*of),
    "timestamp": lambda of: _pandas().Timestamp(of),
    "tuple": tuple,
}


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise ValueError("a value is of a type of pandas, which is not installed") from None
    return pandas


def plain_value(value: Any) -> Any:
    """Convert a value of a domain to plain data; dates, decimals, tuples and the like are marked with their type.

    Raises
    ------
    TypeError
        If a file cannot hold values of this type.

    Examples
    --------
    >>> import datetime
    >>> from countwise.jsonfile import plain_value
    >>> plain_value(3), plain_value(datetime.date(2024, 1, 31))
    (3, {'@': 'value', 'type': 'date', 'of': '2024-01-31'})
    """
    kind = type(value)
    if value is None or kind is bool or (kind is float and math.isfinite(value)):
        return value
    if kind is str:
        if not value.isascii() and _SURROGATES.search(value):
            raise TypeError(_PAIRED)
        return value
    if kind is int:
        if abs(value) >= 10 ** (_MAX_DIGITS - 1):
            raise TypeError(f"an integer has more than {_MAX_DIGITS - 1} digits")
        return value
    if kind in _TO_TEXT:
        return {"@": "value", "type": kind.__name__.lower(), "of": _TO_TEXT[kind](value)}
    if kind.__module__.partition(".")[0] == "pandas" and kind.__name__ in _OF_PANDAS:
        name = "pandas timedelta" if kind.__name__ == "Timedelta" else kind.__name__.lower()
        return {"@": "value", "type": name, "of": _OF_PANDAS[kind.__name__](value)}
    if kind.__module__ == "numpy" and hasattr(value, "tolist"):
        inner = value.tolist()
        return inner if isinstance(inner, list) else plain_value(inner)
    raise TypeError(f"a value is of type {kind.__name__}, which a file cannot hold")


def _value_from(found: Mapping[str, Any]) -> Any:
    kind = found.get("type")
    if set(found) != {"@", "type", "of"} or not isinstance(kind, str) or kind not in _FROM_TEXT:
        raise ValueError(f"a value has the unknown type {kind!r}")
    of = found["of"]
    if isinstance(of, Sequence) and len(of) > 1 << 20:
        raise ValueError("a value is too long")
    try:
        return _FROM_TEXT[kind](of)
    except Exception as error:  # of foreign parsers
        raise ValueError(f"{of!r} is no {kind}: {error}") from None


def numbers(
    data: Any,
    what: str,
    shape: tuple[int | None, ...],
    *,
    least: float = -_LARGEST,
    most: float = _LARGEST,
    missing: bool = False,
    whole: bool = False,
) -> NDArray[Any]:
    """Return nested lists of numbers from a file as an array of integers or floats, after checking them.

    Parameters
    ----------
    data : object
        Part of a file.
    what : str
        What the numbers are, for the message.
    shape : tuple of int or None
        Expected shape; None accepts any length.
    least, most : float
        Limits of the numbers. The sum of numbers that must not be negative has to be finite, too.
    missing : bool, default=False
        Whether null is accepted; it becomes NaN.
    whole : bool, default=False
        Whether the numbers must be integers.

    Raises
    ------
    ValueError
        If the data is anything else.

    Examples
    --------
    >>> from countwise.jsonfile import numbers
    >>> numbers([[1, 2], [3, 4]], "the counts", (None, 2), least=0).sum()
    np.int64(10)
    """
    found = np.array(data) if isinstance(data, list) else np.array(None)  # ragged lists are a ValueError
    if missing and found.dtype == object and all(x is None or type(x) in (int, float) for x in found.flat):
        found = found.astype(np.float64)
    if found.dtype.kind not in "iuf" or (whole and found.size and found.dtype.kind != "i"):
        raise ValueError(f"{what} are not {'integers' if whole else 'numbers'}")
    expected = tuple(n if size is None else size for n, size in zip((*found.shape, *shape), shape, strict=False))
    if found.size == 0 and 0 in expected:
        found = found.reshape(expected)
    if len(found.shape) != len(shape) or found.shape != expected:
        raise ValueError(f"{what} have the shape {found.shape}, and not {shape}")
    found = found.astype(np.float64 if found.dtype.kind != "i" else np.int64, copy=False)
    if found.size:
        with np.errstate(over="ignore", invalid="ignore"):
            low, high = np.fmin.reduce(found, axis=None), np.fmax.reduce(found, axis=None)  # NaN if all are missing
            total = found.sum(dtype=np.float64)
        if not (missing or np.isfinite(found).all()) or low < least or high > most or np.isinf(found).any():
            raise ValueError(f"{what} are not all between {least:g} and {most:g}")
        if least >= 0 and not (missing or np.isfinite(total)):
            raise ValueError(f"the sum of {what} is too large")
    return found


def plain(value: Any) -> Any:
    """Convert a parameter, or a value of a case, to plain data.

    An object is converted by its method `as_setting`, which returns a mapping with the type of the object under "@".

    Examples
    --------
    >>> from countwise.jsonfile import plain
    >>> plain({"p": float("inf"), "names": ("a", "b")})
    {'p': {'@': 'infinity'}, 'names': ['a', 'b']}
    """
    if hasattr(value, "as_setting") and not isinstance(value, type):
        return value.as_setting()
    if isinstance(value, float) and not math.isfinite(value):
        return {"@": "infinity"} if value == math.inf else plain_value(float(value))
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            return {"@": "mapping", "of": [[plain_value(key), plain(v)] for key, v in value.items()]}
        return {"@" * key.startswith("@") + key: plain(v) for key, v in value.items()}  # "@" alone marks a type
    if isinstance(value, AbstractSet):
        return {"@": "set", "of": sorted(value, key=lambda element: (type(element).__name__, element))}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if type(value) is int:
        return plain_value(value)
    return value.tolist() if hasattr(value, "tolist") else value  # a NumPy scalar or array


def revived(value: Any, kinds: Mapping[str, Callable[..., Any]]) -> Any:
    """Convert the result of `plain` back; objects are created only by the functions in `kinds`, by their key "@"."""
    if isinstance(value, list):
        return [revived(v, kinds) for v in value]
    if not isinstance(value, Mapping):
        return value
    fields = {key[key.startswith("@@") :]: v for key, v in value.items() if key != "@"}
    kind: Any = value.get("@")
    if kind == "infinity":
        return math.inf
    if kind == "mapping":
        return {revived(key, kinds): revived(v, kinds) for key, v in fields["of"]}
    if kind == "record":  # in earlier files: a mapping that itself has a key "@"
        return {key: revived(v, kinds) for key, v in fields["of"].items()}
    found = {key: revived(v, kinds) for key, v in fields.items()}
    if "@" not in value:
        return found
    if kind not in kinds:
        raise ValueError(f"unknown type of parameter {kind!r}")
    return kinds[kind](**found)

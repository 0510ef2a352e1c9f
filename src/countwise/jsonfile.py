"""Plain files: checked JSON, with a version and a checksum, written whole or not at all.

Models and case bases are kept in them. Sizes, depths and digits are limited before anything is built. `plain` writes
settings and values as plain data, and `revived` reads them; nothing in a file is looked up as a name.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import tempfile
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

from countwise.errors import ModelFileError

__all__ = [
    "FORMAT",
    "MAX_BYTES",
    "checked",
    "enveloped",
    "limit_depth",
    "plain",
    "read_checked",
    "revived",
    "write_whole",
]

FORMAT = 2  # 1: other names of settings, which the registry of models and `modelfile` know
_READS = (1, 2)
MAX_BYTES = 1 << 31
_MAX_DEPTH = 24
_MAX_DIGITS = 400
_LEFTOVER = ".countwise-partial"


def enveloped(body: str) -> bytes:
    """The content of a file with its version and checksum."""
    return f'{{"countwise":{FORMAT},"sha256":"{_digest(body)}","model":{body}}}\n'.encode()


def read_checked(place: Path, hint: str) -> dict[str, Any]:
    """The content of a file that is in order; `hint` says how to make one if there is none."""
    try:
        size = place.stat().st_size
        if size > MAX_BYTES:
            raise ModelFileError(f"{place} is too large for a model file ({size} bytes).")
        raw = place.read_bytes()
    except FileNotFoundError:
        raise ModelFileError(f"There is no file {place}.", hint=hint) from None
    except OSError as error:
        raise ModelFileError(f"{place} cannot be read: {error.strerror}.") from None
    return checked(raw, place)


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()


def checked(raw: bytes, place: Path) -> dict[str, Any]:
    """The content of a file whose size, depth, digits, version and checksum are in order."""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise ModelFileError(f"{place} is not a model file: it is not text.") from None
    limit_depth(text, place)
    try:
        document = json.loads(text, parse_int=_integer, parse_float=_number, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{place} is not a model file, or damaged: {error}.") from None
    if not isinstance(document, dict) or "countwise" not in document:
        raise ModelFileError(f"{place} is not a Countwise model file.")
    if document["countwise"] not in _READS:
        raise ModelFileError(
            f"{place} has format {document['countwise']!r}; this version reads formats 1 and 2.",
            hint="use the version of Countwise that wrote it, or train again.",
        )
    head = f'{{"countwise":{document["countwise"]},"sha256":"{document.get("sha256")}","model":'
    if not text.startswith(head) or _digest(text[len(head) :].rstrip("\n")[:-1]) != document.get("sha256"):
        raise ModelFileError(f"{place} has been changed or damaged: its checksum does not fit.")
    content: dict[str, Any] = document["model"]
    return content


def limit_depth(text: str, place: Path) -> None:
    """Refuse a file that is nested deeper than any that is written here."""
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
        raise ModelFileError(f"{place} is nested {deepest} deep; a model file is not.")


def _brackets(text: str) -> str:
    """Only the letters that tell depth, for long files."""
    return "".join(re.findall(r'\\.|["\[\]{}]', text))


def _integer(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise ValueError("a number has too many digits")
    return int(digits)


def _number(digits: str) -> float:
    if len(digits) > _MAX_DIGITS:
        raise ValueError("a number has too many digits")
    return float(digits)


def _refuse(word: str) -> float:
    raise ValueError(f"{word} is not a number here")


def write_whole(place: Path, data: bytes) -> None:
    """Write a file beside its place, sync it, and rename it: it appears whole or not at all."""
    folder = place.parent
    try:
        for leftover in folder.glob(f".{place.name}.*{_LEFTOVER}"):
            leftover.unlink(missing_ok=True)
        handle, partial = tempfile.mkstemp(prefix=f".{place.name}.", suffix=_LEFTOVER, dir=folder)
    except OSError as error:
        raise ModelFileError(f"{place} cannot be written: {error.strerror}.") from None
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        os.chmod(partial, 0o666 & ~_umask())
        os.replace(partial, place)
    except OSError as error:
        raise ModelFileError(f"{place} cannot be written: {error.strerror}.") from None
    finally:
        with contextlib.suppress(OSError):
            os.unlink(partial)
    _sync_folder(folder)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _sync_folder(folder: Path) -> None:
    """Make the rename itself last, where folders can be synced."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def plain(value: Any) -> Any:
    """A setting, or a value of a case, as plain data.

    An object says by `as_setting` what it is: a mapping whose "@" is the word for its kind.

    Examples
    --------
    >>> from countwise.jsonfile import plain
    >>> plain({"p": float("inf"), "names": ("a", "b")})
    {'p': {'@': 'infinity'}, 'names': ['a', 'b']}
    """
    if hasattr(value, "as_setting") and not isinstance(value, type):
        return value.as_setting()
    if isinstance(value, float) and value == math.inf:
        return {"@": "infinity"}
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            return {"@": "mapping", "of": [[plain(key), plain(v)] for key, v in value.items()]}
        found = {key: plain(v) for key, v in value.items()}
        return {"@": "record", "of": found} if "@" in found else found
    if isinstance(value, AbstractSet):
        return {"@": "set", "of": sorted(value, key=lambda element: (type(element).__name__, element))}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return value.tolist() if hasattr(value, "tolist") else value  # of NumPy


def revived(value: Any, kinds: Mapping[str, Callable[..., Any]]) -> Any:
    """What `plain` wrote. Objects are made by the functions in `kinds`, by the word "@"; no other word is known."""
    if isinstance(value, list):
        return [revived(v, kinds) for v in value]
    if not isinstance(value, Mapping):
        return value
    fields = {key: v for key, v in value.items() if key != "@"}
    kind: Any = value.get("@")
    if kind == "infinity":
        return math.inf
    if kind == "mapping":
        return {revived(key, kinds): revived(v, kinds) for key, v in fields["of"]}
    if kind == "record":  # a mapping with a key "@" of its own
        return {key: revived(v, kinds) for key, v in fields["of"].items()}
    found = {key: revived(v, kinds) for key, v in fields.items()}
    if "@" not in value:
        return found
    if kind not in kinds:
        raise ValueError(f"a setting of unknown kind {kind!r}")
    return kinds[kind](**found)

"""JSON files of models and case bases, with a format version and a checksum.

Files are replaced atomically. Their size, nesting depth and number of digits are limited. `plain` converts parameters
and values to plain data, and `revived` converts them back. Nothing in a file is used as the name of a class.
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

FORMAT = 2  # format 1 has other names of parameters; see `registry.KINDS` and `modelfile`
_READS = (1, 2)
MAX_BYTES = 1 << 31
_MAX_DEPTH = 24
_MAX_DIGITS = 400
_LEFTOVER = ".countwise-partial"
_WRITTEN = "pass a file that was written by countwise.save or countwise train."


def enveloped(body: str) -> bytes:
    """Return the content of a file: format version, checksum and body."""
    return f'{{"countwise":{FORMAT},"sha256":"{_digest(body)}","model":{body}}}\n'.encode()


def read_checked(place: Path, hint: str) -> dict[str, Any]:
    """Read and validate a file; `hint` says how to create one if it does not exist."""
    try:
        size = place.stat().st_size
        if size > MAX_BYTES:
            raise ModelFileError(
                f"{place} is too large for a model file: it has {size} bytes, and the limit is {MAX_BYTES}."
            )
        raw = place.read_bytes()
    except FileNotFoundError:
        raise ModelFileError(f"The file {str(place)!r} does not exist.", hint=hint) from None
    except OSError as error:
        raise ModelFileError(f"{place} cannot be read: {error.strerror}.") from None
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
        document = json.loads(text, parse_int=_integer, parse_float=_number, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(
            f"{place} is not a model file, or it is damaged: it cannot be parsed as JSON ({error}).", hint=_WRITTEN
        ) from None
    if not isinstance(document, dict) or "countwise" not in document:
        raise ModelFileError(f"{place} is not a Countwise model file.", hint=_WRITTEN)
    if document["countwise"] not in _READS:
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
    content: dict[str, Any] = document["model"]
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
    return float(digits)


def _refuse(word: str) -> float:
    raise ValueError(f"{word} is not allowed")


def write_whole(place: Path, data: bytes) -> None:
    """Replace a file atomically: write a temporary file in the same folder, sync it and rename it."""
    folder = place.parent
    try:
        for leftover in folder.glob(f".{place.name}.*{_LEFTOVER}"):
            leftover.unlink(missing_ok=True)
        handle, partial = tempfile.mkstemp(prefix=f".{place.name}.", suffix=_LEFTOVER, dir=folder)
    except OSError as error:
        reason = error.strerror if folder.is_dir() else f"the folder {str(folder)!r} does not exist"
        raise ModelFileError(f"{place} cannot be written: {reason}.") from None
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
    """Sync the folder, so that the rename survives a crash, where the system supports it."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


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
    return value.tolist() if hasattr(value, "tolist") else value  # a NumPy scalar or array


def revived(value: Any, kinds: Mapping[str, Callable[..., Any]]) -> Any:
    """Convert the result of `plain` back; objects are created only by the functions in `kinds`, by their key "@"."""
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
    if kind == "record":  # a mapping that itself has a key "@"
        return {key: revived(v, kinds) for key, v in fields["of"].items()}
    found = {key: revived(v, kinds) for key, v in fields.items()}
    if "@" not in value:
        return found
    if kind not in kinds:
        raise ValueError(f"unknown type of parameter {kind!r}")
    return kinds[kind](**found)

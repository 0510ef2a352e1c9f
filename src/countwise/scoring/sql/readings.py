"""Expressions that read a cell, whatever the type of its column: as a number, as text, or as a point in time.

A query is written without knowledge of the table. Numbers and dates may be stored as text, and text as numbers. The
expressions test the type of the column, which costs nothing for each row in DuckDB and Spark.
"""

from __future__ import annotations

from collections.abc import Mapping

from countwise.scoring.sql.dialects import Dialect

__all__ = ["FAR", "as_boolean", "as_double", "as_exact", "as_micros", "as_seconds", "as_text"]

FAR = "9223372036854775807"  # no date has so many microseconds
_NUMBER = r"^\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*$"
_OFFSET = r":.*(Z|[-+][0-9:]+)\s*$"  # a time with a UTC offset
_DAY = r"^\s*[0-9]{4}-[0-9]{2}-[0-9]{2}"
_WHOLE = {"duckdb": "BIGINT", "postgres": "INT8", "spark": "BIGINT", "sqlite": "INTEGER"}


def as_double(d: Dialect, x: str, other: str = "NULL") -> str:
    """Return a cell as a double, which may be NaN or infinite; `other` for text that is not a number."""
    if d.name == "sqlite":  # a comparison converts only text that is a number as a whole
        rest = "" if other == "NULL" else f" WHEN {x} IS NOT NULL THEN {other}"
        number = f"WHEN {x} = CAST({x} AS NUMERIC) THEN CAST({x} AS REAL)"
        # a time of day, for which SQLite has no type, as seconds
        seconds = f"substr({x}, 1, 2) * 3600e0 + substr({x}, 4, 2) * 60e0 + substr({x}, 7)"
        time = f"WHEN {x} GLOB '[0-2][0-9]:[0-5][0-9]:[0-5][0-9]*'"
        return f"CASE {number}\n    {time}\n    THEN {seconds}{rest}\n    END"
    matched = f"CASE WHEN {_matches(d, x, _NUMBER)} THEN {_from_text(d, x)} WHEN {x} IS NOT NULL THEN {other} END"
    if d.name == "duckdb" and other == "NULL":
        matched = f"TRY_CAST({x} AS DOUBLE)"
    times = ""
    if d.name == "duckdb":  # seconds, as in memory; a cast through text is valid for columns of every type
        reads = {kind: f"EPOCH(TRY_CAST(CAST({x} AS VARCHAR) AS {kind}))" for kind in ("TIME", "INTERVAL")}
        times = "".join(f" WHEN TYPEOF({x}) = '{kind}' THEN {read}" for kind, read in reads.items())
    return f"CASE WHEN {_is_text(d, x)} THEN {matched}{times} ELSE {d.cast(x, 'double')} END"


def as_boolean(d: Dialect, x: str, other: str) -> str:
    """Return a cell as 1 (true) or 0 (false), also from text; `other` for text that is neither."""
    text = f"LOWER(TRIM({d.cast(x, 'text')}))"
    named = f"CASE {text} WHEN 'true' THEN 1e0 WHEN 'false' THEN 0e0"
    if d.name == "sqlite":
        return f"{named} ELSE {as_double(d, x, other)} END"
    if d.name == "postgres":  # which has no numbers of booleans
        number = f"CASE WHEN {text} ~ {d.literal(_NUMBER)} THEN {text}::FLOAT8 WHEN {x} IS NOT NULL THEN {other} END"
        return f"{named} WHEN 'nan' THEN NULL ELSE {number} END"
    return f"CASE WHEN {_is_text(d, x)} THEN {named} ELSE {as_double(d, x, other)} END ELSE {d.cast(x, 'double')} END"


def as_exact(d: Dialect, x: str) -> str:
    """Return a cell as a number of its own type, in which large integers are exact; NULL if it is not finite."""
    double = as_double(d, x)
    return f"CASE WHEN {d.finite(double)} THEN {f'CAST({x} AS NUMERIC)' if d.name == 'sqlite' else x} END"


def as_text(d: Dialect, x: str, texts: tuple[Mapping[float, str], Mapping[bool, str]] | None) -> str:
    """Return a cell as text with a binary collation; `texts` are those that numbers and booleans denote.

    Other numbers have their decimal form, without a point if they are integers.
    """
    text = d.exact_text(x)
    if texts is None:
        return text
    double = x if d.name == "sqlite" else _from_text(d, x)
    whole = d.cast(f"CAST({double} AS {_WHOLE[d.name]})", "text")
    numbers, booleans = texts
    whens = [f"WHEN {double} = {d.real(v)} THEN {d.literal(t)}" for v, t in numbers.items()]
    whens.append(f"WHEN ABS({double}) < 9e15 AND {double} = ROUND({double}) THEN {whole}")
    found = f"CASE WHEN {_is_number(d, x)} THEN CASE {' '.join(whens)} ELSE {d.cast(x, 'text')} END"
    flags = [f"WHEN '{str(v).lower()}' THEN {d.literal(t)}" for v, t in booleans.items()]
    if flags and d.name != "sqlite":
        found += f" WHEN {_is_boolean(d, x)} THEN CASE {d.cast(x, 'text')} {' '.join(flags)} END"
    return f"{found} ELSE {text} END"


def as_micros(d: Dialect, x: str) -> str:
    """Return a date or time as microseconds since 1970-01-01 UTC; NULL for anything else.

    Times without a time zone are UTC, whatever the time zone of the session.
    """
    if d.name == "sqlite":
        return _sqlite_micros(x)
    zoned, day = _matches(d, x, _OFFSET), f"{_is_text(d, x)} AND NOT {_matches(d, x, _DAY)}"
    if d.name == "duckdb":
        zoned = f"TYPEOF({x}) = 'TIMESTAMP WITH TIME ZONE' OR {_is_text(d, x)} AND {zoned}"
        found = f"EPOCH_US(TRY_CAST({x} AS TIMESTAMPTZ)) ELSE EPOCH_US(TRY_CAST({x} AS TIMESTAMP))"
        return f"CASE WHEN {day} THEN NULL WHEN {zoned} THEN {found} END"
    text = d.cast(x, "text")
    if d.name == "spark":
        utc = f"CASE WHEN {zoned} THEN {text} ELSE CONCAT(CAST(TRY_CAST({text} AS TIMESTAMP_NTZ) AS STRING), 'Z') END"
        found = f"CASE WHEN {_matches(d, x, _DAY)} THEN UNIX_MICROS(TRY_CAST({utc} AS TIMESTAMP)) END"
        time = f"UNIX_MICROS(CAST({x} AS TIMESTAMP))"
        return f"CASE WHEN TYPEOF({x}) = 'timestamp' THEN {time} ELSE {found} END"
    return (
        f"CASE WHEN {_is_number(d, x)} OR {day} OR {text} IN ('infinity', '-infinity') THEN NULL "
        f"WHEN pg_typeof({x}) = 'timestamptz'::regtype OR {_is_text(d, x)} AND {zoned} "
        f"THEN (EXTRACT(EPOCH FROM {text}::TIMESTAMPTZ) * 1e6)::INT8 "
        f"ELSE (EXTRACT(EPOCH FROM {text}::TIMESTAMP) * 1e6)::INT8 END"
    )


def as_seconds(d: Dialect, x: str) -> str:
    """Return a date or time as seconds since 1970-01-01 UTC; a number is taken as seconds."""
    seconds = f"{d.cast(f'({as_micros(d, x)})', 'double')} / 1e6"
    if d.name == "sqlite":
        return f"COALESCE({seconds}, {as_double(d, x)})"
    return f"COALESCE({seconds}, CASE WHEN {_is_number(d, x)} THEN {_from_text(d, x)} END)"


# -- types of columns ------------------------------------------------------------------


def _is_text(d: Dialect, x: str) -> str:
    if d.name == "postgres":
        return f"pg_typeof({x}) IN ('text'::regtype, 'varchar', 'bpchar')"
    return f"TYPEOF({x}) = '{'VARCHAR' if d.name == 'duckdb' else 'string'}'"


def _is_boolean(d: Dialect, x: str) -> str:
    return f"pg_typeof({x}) = 'bool'::regtype" if d.name == "postgres" else f"LOWER(TYPEOF({x})) = 'boolean'"


def _is_number(d: Dialect, x: str) -> str:
    if d.name == "postgres":
        return f"pg_typeof({x}) IN ('int2'::regtype, 'int4', 'int8', 'float4', 'float8', 'numeric')"
    if d.name == "sqlite":
        return f"TYPEOF({x}) IN ('integer', 'real')"
    if d.name == "spark":
        return f"TYPEOF({x}) RLIKE '^(tinyint|smallint|int|bigint|float|double|decimal.*)$'"
    return f"REGEXP_MATCHES(TYPEOF({x}), '^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*)$')"


def _matches(d: Dialect, x: str, pattern: str) -> str:
    """Return the condition that the text of a cell matches a regular expression."""
    text = d.cast(x, "text")
    if d.name == "duckdb":
        return f"REGEXP_MATCHES({text}, {d.literal(pattern)})"
    return f"{text} {'~' if d.name == 'postgres' else 'RLIKE'} {d.literal(pattern)}"


def _from_text(d: Dialect, x: str) -> str:
    """Return the number that the text of a cell denotes; unlike a cast of the cell, it is valid for each type."""
    if d.name == "postgres":
        return f"{x}::TEXT::FLOAT8"
    return f"TRY_CAST({x} AS DOUBLE)" if d.name == "duckdb" else f"TRY_CAST(CAST({x} AS STRING) AS DOUBLE)"


def _sqlite_micros(x: str) -> str:
    """Return ISO text as microseconds; SQLite's functions know milliseconds, and accept other text than dates too."""
    is_day = f"strftime('%Y-%m-%d', substr({x}, 1, 10)) = substr({x}, 1, 10)"
    whole = f"strftime('%s', substr({x}, 1, 19) || ltrim(substr({x}, 20), '.0123456789'))"
    fraction = f"CAST(ROUND(1e6 * CAST('0' || substr({x}, 20) AS REAL)) AS INTEGER)"
    fraction = f"CASE WHEN substr({x}, 20, 1) = '.' THEN {fraction} ELSE 0 END"
    return f"CASE WHEN typeof({x}) = 'text' AND {is_day} THEN {whole} * 1000000 + {fraction} END"

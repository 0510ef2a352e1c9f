"""The command line. The module of a command is imported only when the command is called."""

from __future__ import annotations

import codecs
import contextlib
import importlib
import io
import os
import sys
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from countwise.cli._common import echo
from countwise.errors import CountwiseError, CountwiseWarning

__all__ = ["main"]

_COMMANDS = {
    "ask": "Compute probabilities in a Bayesian network.",
    "bin": "Discretize the numeric columns of a table.",
    "compare": "Cross-validate all suitable learners on the same folds.",
    "curve": "Compute a learning curve or a validation curve.",
    "demo": "Train a model on a sample table and explain one prediction.",
    "explain": "Show each step of one prediction.",
    "forget": "Remove rows from a model without retraining.",
    "look": "Describe the columns, missing values and classes of a table.",
    "merge": "Merge models that were trained on different rows.",
    "predict": "Predict the target for each row of a file.",
    "rank": "Rank the attributes of a table by a score such as information gain.",
    "samples": "List the sample tables, or write one as CSV.",
    "show": "Show the tables, tree, rules or network of a model.",
    "sql": "Write a model as an SQL query.",
    "test": "Evaluate a model on rows whose class is known.",
    "train": "Train a model on a table and save it.",
    "update": "Add rows to a model without retraining.",
}


_HOMES = {"forget": "update", "update": "update"}  # commands that share a module


class _Lazy(click.Group):
    """A group whose commands are imported only when they are used, so that --help is fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        home = importlib.import_module(f"countwise.cli.{_HOMES.get(name, name)}")
        command: click.Command = getattr(home, name if name in _HOMES else "command")
        if command.callback is not None and not hasattr(command.callback, "__wrapped__"):
            command.callback = _with_options_in_hints(command.callback)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            from countwise.errors import did_you_mean

            near = did_you_mean(args[0], _COMMANDS)
            raise click.UsageError(f"No such command {args[0]!r}." + (f" Hint: {near}" if near else ""))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(_COMMANDS.items()))


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="countwise", message="countwise %(version)s")
def group() -> None:
    """Train, explain and evaluate models on tables with mixed columns and missing values.

    Tables are CSV, Parquet or ARFF files. Run "countwise COMMAND --help" for the options of a command.
    """


def _with_options_in_hints(run: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a command so that the messages and hints of its errors name options instead of Python arguments."""

    @wraps(run)
    def wrapped(*args: Any, **settings: Any) -> Any:
        try:
            return run(*args, **settings)
        except ValueError as error:
            if not isinstance(error, CountwiseError):
                raise
            from countwise.cli._hints import message_with_options, with_options

            context = click.get_current_context()
            hint = None if error.hint is None else with_options(error.hint, context)
            raise type(error)(message_with_options(error.message, context), hint, error.row) from error

    return wrapped


def main(args: list[str] | None = None) -> None:
    """Run the command line and exit with 0 (success), 1 (error in data), 2 (wrong usage) or 130 (interrupted)."""
    warnings.showwarning = _note
    _accept_any_character()
    try:
        status = group.main(args=args, prog_name="countwise", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except click.exceptions.Exit as leave:
        status = leave.exit_code
    except click.ClickException as error:
        shown = io.StringIO()
        error.show(shown)
        echo(shown.getvalue().rstrip("\n"), err=True)
        status = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        echo("Interrupted.", err=True)
        status = 130
    except BrokenPipeError:
        _discard_output()  # the program that reads the output has ended
        status = 0
    except Exception as error:
        status = _failed(error)
    sys.exit(status if isinstance(status, int) else 0)


def _failed(error: Exception) -> int:
    """Print an error of the data or the files in one line; re-raise any other error with its traceback."""
    if isinstance(error, CountwiseError):
        echo(f"Error: {error}".replace("\n", " "), err=True)
        return 1
    if isinstance(error, MemoryError):
        echo("Error: Not enough memory for this table.", err=True)
        return 1
    if isinstance(error, OSError):
        echo(f"Error: {error.filename or 'standard output'}: {error.strerror or error}.".replace("\n", " "), err=True)
        _discard_output()
        return 1
    raise error


def _discard_output() -> None:
    """Drop what cannot be written to standard output, so that Python does not try again when it ends."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()
        return
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# How characters are written on a terminal that does not have them; all others become escapes such as \u2192.
_INSTEAD = {
    "→": "->", "←": "<-", "−": "-", "–": "-", "·": "*", "×": "x", "≤": "<=", "≥": ">=", "≠": "!=", "≈": "~",
    "…": "...", "√": "sqrt", "∞": "inf", "Σ": "sum", "∏": "prod", "Π": "prod", "φ": "phi", "μ": "mu", "σ": "sigma",
    "λ": "lambda", "θ": "theta", "α": "alpha", "β": "beta", "χ": "chi", "δ": "delta", "Δ": "delta", "²": "^2",
    "∧": "and", "∨": "or", "├": "|", "│": "|", "└": "`", "─": "-", "█": "#", "•": "*", "’": "'", "“": '"', "”": '"',
}  # fmt: skip


def _replaced(error: UnicodeError) -> tuple[str, int]:
    """Return a replacement for characters that the encoding of a terminal does not have."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(_INSTEAD.get(c) or c.encode("ascii", "backslashreplace").decode() for c in text), error.end


def _accept_any_character() -> None:
    """Make sure that no character raises an error when it is printed, whatever the encoding of the terminal."""
    codecs.register_error("countwise", _replaced)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="countwise")


def _note(message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None) -> None:
    if issubclass(category, CountwiseWarning):
        from countwise.cli._hints import with_options

        context = click.get_current_context(silent=True)
        text = str(message) if context is None else with_options(str(message), context)
        echo(f"Note: {text}", err=True)

"""The command line. The file of a command is imported when it is called."""

from __future__ import annotations

import importlib
import sys
import warnings
from typing import Any

import click

__all__ = ["main"]

_COMMANDS = {
    "ask": "Ask a network for the probabilities of its nodes.",
    "bin": "Cut the numbers of a table into ranges, with reasons.",
    "compare": "Judge all learners that suit a table, and say which to take.",
    "curve": "Draw how good learners are as rows grow, or over k or widths.",
    "demo": "Train on a small table, show a worked answer, write a model file.",
    "explain": "Show the working behind one answer.",
    "forget": "Take rows back from a model.",
    "look": "Say what a table holds: kinds, gaps, classes.",
    "merge": "Join models that were trained apart.",
    "predict": "Classify the rows of a file.",
    "rank": "Score the attributes of a table by what they tell of the class.",
    "samples": "List the tables that come with Countwise, or write one out.",
    "show": "Show what a model has learned.",
    "sql": "Write a model as a scoring query.",
    "test": "Score a model on rows whose class is known.",
    "train": "Learn a model from a file.",
    "update": "Add rows to a model.",
}


_HOMES = {"forget": "update", "update": "update"}  # commands that share a file


class _Lazy(click.Group):
    """A group whose commands are imported only when they are used, so that help is instant."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        home = importlib.import_module(f"countwise.cli.{_HOMES.get(name, name)}")
        command: click.Command = getattr(home, name if name in _HOMES else "command")
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            from countwise.errors import did_you_mean

            raise click.UsageError(f"No such command {args[0]!r}. {did_you_mean(args[0], _COMMANDS) or ''}".strip())
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(_COMMANDS.items()))


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="countwise", message="countwise %(version)s")
def group() -> None:
    """Machine learning by counting, for tables as they are.

    Mixed columns, missing cells, and answers that can be checked by hand.
    """


def main(args: list[str] | None = None) -> None:
    """Run the command line: 0 done, 1 bad data, 2 wrong usage, 130 interrupted."""
    warnings.showwarning = _note
    try:
        status = group.main(args=args, prog_name="countwise", standalone_mode=False)
    except click.exceptions.Exit as leave:
        status = leave.exit_code
    except click.ClickException as error:
        error.show()
        status = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("Stopped.", err=True)
        status = 130
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has gone: nobody is left to tell
        status = 0
    except Exception as error:
        status = _failed(error)
    sys.exit(status if isinstance(status, int) else 0)


def _failed(error: Exception) -> int:
    """One line for what can go wrong with data; anything else is a defect and shows itself."""
    from countwise.errors import CountwiseError

    if isinstance(error, CountwiseError):
        click.echo(f"Error: {error}".replace("\n", " "), err=True)
        return 1
    if isinstance(error, MemoryError):
        click.echo("Error: there is not enough memory for this table.", err=True)
        return 1
    if isinstance(error, OSError):
        click.echo(f"Error: {error.filename or 'file'}: {error.strerror or error}", err=True)
        return 1
    raise error


def _note(message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None) -> None:
    from countwise.errors import CountwiseWarning

    if issubclass(category, CountwiseWarning):
        click.echo(f"Note: {message}", err=True)

"""Hints of the library name options on the command line."""

from __future__ import annotations

import click
import pytest

from countwise.cli import group
from countwise.cli._hints import message_with_options, with_options


def context(name: str, **params: str) -> click.Context:
    command = group.get_command(click.Context(group), name)
    assert command is not None
    made = click.Context(command, info_name=name)
    made.params = dict(params)
    return made


@pytest.mark.parametrize(
    ("name", "kind", "hint", "shown"),
    [
        ("train", "tree", "pass types={'age': 'nominal'}.", "pass --types age=nominal."),
        ("look", None, "pass types={'last name': 'text'}.", "pass --types 'last name'=text."),
        ("train", "naive-bayes", "use distributions={'age': 'binned'}.", "use --distribution age=binned."),
        ("train", "naive-bayes", "use distributions={...: 'binned'}.", "use --distribution COLUMN=binned."),
        ("train", "network", "use distributions={'age': 'binned'}.", "use --option distributions=binned."),
        ("train", "discriminant", "use missing='em'.", "use --option missing=em."),
        ("train", "tree", "missing='branch' or 'majority'", "--option missing=branch or --option missing=majority"),
        ("train", "naive-bayes", "use smoothing=1.", "use --smoothing 1."),
        ("train", "tree", "use smoothing=1.", "use --option smoothing=1."),
        ("ask", None, "use method='gibbs'.", "use --method gibbs."),
        ("sql", None, "use proba=False.", "use --no-proba."),
        ("bin", None, "increase n_bins=3.", "increase --bins 3."),
        ("look", None, "use None or NaN for missing values.", "use an empty field for missing values."),
        ("look", None, "pass encoding='latin-1'.", "pass encoding='latin-1'."),
        ("train", "tree", "see TreeClassifier(criterion='gini').", "see TreeClassifier(criterion='gini')."),
    ],
)
def test_python_arguments_become_options(name, kind, hint, shown):
    assert with_options(hint, context(name, **({} if kind is None else {"kind": kind}))) == shown


@pytest.mark.parametrize(
    ("kind", "message", "shown"),
    [
        ("naive-bayes", "smoothing must be a number.", "--smoothing must be a number."),
        ("naive-bayes", "distributions refers to column 'a'.", "--distribution refers to column 'a'."),
        ("naive-bayes", "missing refers to column 'a'.", "--missing refers to column 'a'."),
        ("tree", "max_depth must be 0, or None, not 'a'.", "--option max_depth must be 0, or none, not 'a'."),
        ("neighbors", "weights must be 'uniform'.", "--option weights must be 'uniform'."),
        ("tree", "types refers to column 'a'.", "--types refers to column 'a'."),
        ("tree", "'smoothing' is numeric.", "'smoothing' is numeric."),
        ("tree", "foo must be a number.", "foo must be a number."),
    ],
)
def test_a_message_begins_with_the_option(kind, message, shown):
    assert message_with_options(message, context("train", kind=kind)) == shown


def test_parameters_of_a_trained_model_are_options_of_train():
    assert with_options("use structure='naive'.", context("sql", model="m.json")) == (
        "use countwise train --option structure=naive."
    )

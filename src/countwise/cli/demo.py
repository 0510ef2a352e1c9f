"""countwise demo: from a table to a model file and an explained prediction."""

from __future__ import annotations

import time

import click

from countwise.cli._common import echo, terminal_width

__all__ = ["command"]


@click.command("demo")
@click.option(
    "-o",
    "--output",
    default="demo.model.json",
    show_default=True,
    metavar="MODEL",
    help="Model file to write.",
)
def command(output: str) -> None:
    """Train naive Bayes on the penguins sample, explain one prediction, and save the model."""
    started = time.perf_counter()
    from countwise import _kernels, samples
    from countwise.modelfile import save
    from countwise.naive_bayes.model import NaiveBayesClassifier

    penguins = samples.load("penguins")
    missing = sum(sum(v is None or v != v for v in column) for column in penguins.frame.values())
    echo(f"{penguins.description}")
    echo(f"{len(penguins.y)} rows, {len(penguins.X)} attributes, {missing} missing values.\n")
    model = NaiveBayesClassifier().fit(penguins.frame, penguins.target)
    save(model, output)
    echo("Prediction for a penguin whose sex and flipper length are missing:\n")
    bird = [{"island": "Dream", "bill_length_mm": 45.2, "bill_depth_mm": 17.8, "flipper_length_mm": None,
             "body_mass_g": 3950, "sex": None, "year": 2009}]  # fmt: skip
    echo(model.explain(bird).text(terminal_width()))
    right = (model.predict(penguins.X) == penguins.y).mean()
    echo(f"\nAccuracy on the training rows: {right:.1%}. The model is saved in {output}. Next:")
    echo(f"  countwise show {output}")
    echo(f"  countwise explain {output} --set island=Dream,bill_length_mm=45.2,body_mass_g=3950")
    echo(f"\nDone in {time.perf_counter() - started:.1f} s (kernels: {_kernels.LEVEL}).")

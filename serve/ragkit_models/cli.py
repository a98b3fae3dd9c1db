"""`ragkit model`: a table of its commands, each in a file of its own."""

import typer

from ragkit.cli.lazy import Entry, lazy_group

COMMANDS = {
    "serve": Entry("ragkit_models.cli_serve:serve", "Serve a model and keep it running."),
    "plan": Entry("ragkit_models.cli_plan:plan", "Say what fits before anything loads."),
    "quantize": Entry("ragkit_models.cli_quantize:quantize", "Make a smaller checkpoint."),
}

app = typer.Typer(
    cls=lazy_group(COMMANDS),
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _model() -> None:
    """Serve, plan and quantize language models on your own machines."""

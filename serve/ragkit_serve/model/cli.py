"""`ragkit model`: its commands, each in a file of its own."""

import typer

from ragkit_serve.model.cli_bench import bench
from ragkit_serve.model.cli_gateway import gateway
from ragkit_serve.model.cli_plan import plan
from ragkit_serve.model.cli_quantize import quantize
from ragkit_serve.model.cli_serve import serve

app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None)
for command in (serve, plan, quantize, bench, gateway):
    app.command()(command)

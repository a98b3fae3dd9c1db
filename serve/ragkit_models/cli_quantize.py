"""`ragkit model quantize`: make a quantized checkpoint."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from ragkit.cli.render import print_json
from ragkit.cli.stages import Stages
from ragkit.errors import UsageError
from ragkit_models.quantize.recipe import ABOUT, CALIBRATED, SCHEMES, Scheme

_SCHEMES = "; ".join(f"{name}: {about}" for name, about in ABOUT.items())


ModelArgument = Annotated[
    str,
    typer.Argument(metavar="MODEL", help="A model's folder with safetensors, or its hub name."),
]
SchemeOption = Annotated[str, typer.Option(metavar="|".join(SCHEMES), help=f"{_SCHEMES}.")]
CalibrationOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Texts like those the model will work with: .txt, .md or .jsonl; fp8 needs none.",
    ),
]
OutputOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="Output folder (default: MODEL-SCHEME in the current folder)."
    ),
]
SamplesOption = Annotated[
    int, typer.Option(min=1, max=100_000, help="Maximum number of calibration samples.")
]
MaxTokensOption = Annotated[
    int, typer.Option(min=16, max=1_000_000, help="Maximum number of tokens of a sample.")
]
SeedOption = Annotated[
    int, typer.Option(min=0, max=2**32 - 1, help="Random seed for drawing the samples.")
]
IgnoreOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATTERN",
        help="Layer to leave unquantized, or a pattern such as re:.*gate$ (repeatable).",
    ),
]
PythonOption = Annotated[
    Path | None,
    typer.Option(help="Python of an environment with llm-compressor (default: this one)."),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace an existing output folder.")]
TrustRemoteCodeOption = Annotated[
    bool,
    typer.Option("--trust-remote-code", help="Run code that comes with the model; read it first."),
]
AsJsonOption = Annotated[bool, typer.Option("--json", help="Print ragkit_quantization.json.")]


def quantize(
    model: ModelArgument,
    scheme: SchemeOption,
    calibration: CalibrationOption = None,
    output: OutputOption = None,
    samples: SamplesOption = 512,
    max_tokens: MaxTokensOption = 2048,
    seed: SeedOption = 0,
    ignore: IgnoreOption = None,
    python: PythonOption = None,
    force: ForceOption = False,
    trust_remote_code: TrustRemoteCodeOption = False,
    as_json: AsJsonOption = False,
) -> None:
    """Make a quantized checkpoint with llm-compressor, and a model card that says how.

    w8a8 serves on CPUs and on GPUs from Turing, fp8 on GPUs (fastest from Ada), w4a16 where memory
    is short. `ragkit model serve` takes the output as it is.
    """
    from ragkit_models.quantize.card import facts_json
    from ragkit_models.quantize.quantize import QuantizeOptions, quantize_model

    options = QuantizeOptions(
        model=model,
        scheme=_scheme(scheme),
        calibration=calibration,
        output=output,
        samples=samples,
        max_tokens=max_tokens,
        seed=seed,
        ignore=tuple(ignore or ()),
        force=force,
        trust_remote_code=trust_remote_code,
    )
    if options.scheme not in CALIBRATED and calibration is not None:
        typer.echo(f"{scheme} needs no calibration: {calibration} is not read.", err=True)
    with Stages() as stages:
        folder, facts = quantize_model(options, python=python, progress=stages.show)
    if as_json:
        print_json({"output": str(folder), **facts_json(facts)})
        return
    size, share = facts.bytes_after, facts.bytes_after / facts.bytes_before
    typer.echo(f"{folder}: {size / 1e6:,.1f} MB of weights, {share:.0%} of the original.")
    typer.echo(f"Serve it with: ragkit model serve {shlex.quote(str(folder))}")


def _scheme(name: str) -> Scheme:
    for scheme in SCHEMES:
        if scheme == name:
            return scheme
    raise UsageError(f"--scheme {name!r} is unknown: choose one of {', '.join(SCHEMES)}")

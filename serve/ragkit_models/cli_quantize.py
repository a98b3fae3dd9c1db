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
        help="Texts like those of the work to come, for w8a8, w4a16, awq: .txt, .md or .jsonl.",
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
    typer.Option(
        help="Python of an environment with llm-compressor, or with torch, transformers and"
        " sentencepiece for GGUF (default: this one)."
    ),
]
LlamacppOption = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Folder of llama.cpp's source, which GGUF is made with."),
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
    llamacpp: LlamacppOption = None,
    force: ForceOption = False,
    trust_remote_code: TrustRemoteCodeOption = False,
    as_json: AsJsonOption = False,
) -> None:
    """Make a quantized checkpoint with llm-compressor or llama.cpp, with a model card.

    w8a8 serves on CPUs and on GPUs from Turing, fp8 on GPUs (fastest from Ada), awq and w4a16 where
    memory is short, all with vLLM; the GGUF files serve with llama.cpp. `ragkit model serve` takes
    the output as it is.
    """
    from ragkit.settings.settings import load_settings
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
        llamacpp=llamacpp,
        force=force,
        trust_remote_code=trust_remote_code,
    )
    if options.scheme not in CALIBRATED and calibration is not None:
        typer.echo(f"{scheme} needs no calibration: {calibration} is not read.", err=True)
    library = load_settings().llamacpp_python
    with Stages() as stages:
        folder, facts = quantize_model(
            options, python=python, llamacpp_python=library, progress=stages.show
        )
    if as_json:
        print_json({"output": str(folder), **facts_json(facts)})
        return
    size, share = facts.bytes_after, facts.bytes_after / facts.bytes_before
    made = folder / facts.file
    typer.echo(f"{made}: {size / 1e6:,.1f} MB of weights, {share:.0%} of the original.")
    typer.echo(_serving(made))


def _serving(made: Path) -> str:
    """Say how the result is served; a GGUF file without a chat template is not."""
    from ragkit_models.gguf_header import read_gguf

    if made.suffix == ".gguf" and not read_gguf(made).chat_template:
        return (
            "It has no chat template, so `ragkit model serve` does not take it: quantize a model"
            " made for chat."
        )
    return f"Serve it with: ragkit model serve {shlex.quote(str(made))}"


def _scheme(name: str) -> Scheme:
    for scheme in SCHEMES:
        if scheme == name:
            return scheme
    raise UsageError(f"--scheme {name!r} is unknown: choose one of {', '.join(SCHEMES)}")

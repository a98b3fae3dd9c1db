"""Quantize a model: check the options, run the tools, write the card, publish the folder.

The checkpoint appears complete or not at all: it is made in a hidden folder next to the output and
renamed last.
"""

import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import Any

from ragkit.errors import ModelError, UsageError
from ragkit_models.quantize.calibration import Calibration, read_calibration
from ragkit_models.quantize.card import (
    CARD,
    FACTS,
    CalibrationFacts,
    QuantizationFacts,
    card_text,
    facts_json,
)
from ragkit_models.quantize.gguf import GgufTools, find_tools, make_gguf
from ragkit_models.quantize.process import Progress, find_interpreter, run_worker
from ragkit_models.quantize.recipe import (
    CALIBRATED,
    GGUF,
    Scheme,
    gguf_recipe,
    needs_quantizer,
    recipe,
)
from ragkit_models.quantize.source import (
    Source,
    copy_legal_files,
    copy_other_files,
    find_source,
    weight_bytes,
)


@dataclass(frozen=True, slots=True)
class QuantizeOptions:
    """The options of a quantization; `output` None is MODEL-SCHEME in the working folder.

    `llamacpp` is the folder of llama.cpp's source, for GGUF schemes, which have no `ignore`.
    """

    model: str
    scheme: Scheme
    calibration: Path | None = None
    output: Path | None = None
    samples: int = 512  # llm-compressor's default
    max_tokens: int = 2048  # of a sample; the length in llm-compressor's examples
    seed: int = 0
    ignore: tuple[str, ...] = ()
    llamacpp: Path | None = None
    force: bool = False
    trust_remote_code: bool = False


def quantize_model(
    options: QuantizeOptions,
    *,
    python: Path | None,
    llamacpp_python: Path | None = None,
    progress: Progress,
) -> tuple[Path, QuantizationFacts]:
    """Make a quantized checkpoint; return its folder and the facts on its card.

    `python` is the interpreter that has llm-compressor, or what llama.cpp's converter needs; None
    is this one. `llamacpp_python` is one that has llama-cpp-python. Raises UsageError for
    impossible options, ModelError when the model or a tool cannot be used; then, and when it is
    interrupted, the output's place is unchanged.
    """
    drawn = _calibration(options)
    tools = _tools(options, python, llamacpp_python)
    output = _output(options, Path(options.model).expanduser().resolve().name)
    progress("reading the model")
    source = find_source(options.model, remote_code=options.trust_remote_code)
    _check_disk(output.parent, source, options.scheme)
    with _hidden_folder(output) as folder:
        if isinstance(tools, GgufTools):
            facts = _make_gguf_file(options, source, folder, tools, progress)
        else:
            facts = _make_checkpoint(options, source, drawn, folder, tools, progress)
        _write_card(folder, facts, name=output.name)
        _publish(folder, output)
    return output, facts


def _tools(options: QuantizeOptions, python: Path | None, library: Path | None) -> GgufTools | Path:
    """Find llama.cpp's tools for a GGUF scheme, the interpreter of llm-compressor for another."""
    if options.scheme not in GGUF:
        return find_interpreter(python)
    if options.ignore:
        raise UsageError(
            f"--ignore is for llm-compressor's schemes: leave it out with --scheme {options.scheme}"
        )
    return find_tools(options.scheme, llamacpp=options.llamacpp, python=python, library=library)


def _make_gguf_file(
    options: QuantizeOptions, source: Source, folder: Path, tools: GgufTools, progress: Progress
) -> QuantizationFacts:
    file, versions = make_gguf(
        options.scheme,
        source,
        folder,
        tools,
        trust_remote_code=options.trust_remote_code,
        progress=progress,
    )
    copy_legal_files(source, folder)
    commands = gguf_recipe(options.scheme, PurePath(source.name).name)
    facts = _facts(options, source, versions, file.stat().st_size)
    return replace(facts, recipe=commands, file=file.name)


def _make_checkpoint(
    options: QuantizeOptions,
    source: Source,
    drawn: Calibration | None,
    folder: Path,
    python: Path,
    progress: Progress,
) -> QuantizationFacts:
    answer = _run_job(options, source, drawn, folder, python=python, progress=progress)
    copy_other_files(source, folder, code=options.trust_remote_code)
    facts = _facts(options, source, answer["versions"], weight_bytes(folder))
    calibration = None
    if drawn is not None:
        calibration = CalibrationFacts(
            drawn.name, drawn.sha256, answer["samples"], answer["tokens"], options.max_tokens
        )
    steps = recipe(options.scheme, ignore=options.ignore)
    return replace(facts, recipe=steps, calibration=calibration)


def _calibration(options: QuantizeOptions) -> Calibration | None:
    if options.scheme not in CALIBRATED:
        return None
    if options.calibration is None:
        raise UsageError(
            f"--scheme {options.scheme} needs --calibration FILE: some hundred texts of the kind"
            " that the model will see, as .txt, .md or .jsonl; fp8 needs none"
        )
    return read_calibration(options.calibration, samples=options.samples, seed=options.seed)


def _output(options: QuantizeOptions, name: str) -> Path:
    output = options.output or Path(f"{name}-{options.scheme}")
    output = Path(os.path.abspath(output.expanduser()))
    if output.exists() and not options.force:
        raise UsageError(
            f"{output} exists already: name another --output, or replace it with --force"
        )
    if output.exists() and not (output / FACTS).is_file():
        raise UsageError(
            f"{output} was not made by `ragkit model quantize`, so it is not replaced: name"
            " another --output"
        )
    if not output.parent.is_dir():
        raise UsageError(f"folder {output.parent} does not exist: make it, or name another")
    return output


def _check_disk(folder: Path, source: Source, scheme: Scheme) -> None:
    """Raise ModelError unless the disk has room for the original's bytes, the largest result.

    Where a GGUF file of 16 bits is made first, for half as many more besides.
    """
    free = shutil.disk_usage(folder).free
    twice = scheme in GGUF and needs_quantizer(scheme)
    needed = round(source.weight_bytes * (1.5 if twice else 1))
    if free < needed:
        raise ModelError(
            f"{folder} has {free / 1e9:.1f} GB free and up to {needed / 1e9:.1f} GB"
            " are needed: make room, or name an --output on another disk"
        )


@contextmanager
def _hidden_folder(output: Path) -> Iterator[Path]:
    """Make a hidden folder next to the output, and remove it at the end."""
    try:
        # A model is no secret: unlike tempfile's, this folder follows the umask.
        folder = output.with_name(f".{output.name}.{secrets.token_hex(4)}")
        folder.mkdir()
    except OSError as error:
        raise ModelError(
            f"{output.parent} cannot be written to ({error.strerror}): name another --output"
        ) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run_job(
    options: QuantizeOptions,
    source: Source,
    drawn: Calibration | None,
    folder: Path,
    *,
    python: Path,
    progress: Progress,
) -> dict[str, Any]:
    """Run the worker on a job file and return its answer."""
    with tempfile.TemporaryDirectory(prefix="ragkit-quantize-") as name:
        job_folder = Path(name)
        samples = job_folder / "samples.jsonl"
        if drawn is not None:
            lines = [json.dumps(sample) for sample in drawn.samples]  # ASCII: one line each
            samples.write_text("\n".join(lines), encoding="utf-8")
        job = {
            "model": str(source.folder),
            "output": str(folder),
            "recipe": recipe(options.scheme, ignore=options.ignore),
            "samples": None if drawn is None else str(samples),
            "max_tokens": options.max_tokens,
            "seed": options.seed,
            "trust_remote_code": options.trust_remote_code,
        }
        (job_folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
        run_worker(python, job_folder / "job.json", progress)
        answer: dict[str, Any] = json.loads(
            (job_folder / "result.json").read_text(encoding="utf-8")
        )
        return answer


def _facts(
    options: QuantizeOptions, source: Source, versions: Mapping[str, str], size: int
) -> QuantizationFacts:
    """Return the facts that every scheme has."""
    return QuantizationFacts(
        base_model=source.name,
        revision=source.revision,
        scheme=options.scheme,
        recipe="",
        seed=options.seed,
        calibration=None,
        versions=versions,
        bytes_before=source.weight_bytes,
        bytes_after=size,
        date=datetime.now(UTC).date().isoformat(),
    )


def _write_card(folder: Path, facts: QuantizationFacts, *, name: str) -> None:
    (folder / CARD).write_text(card_text(facts, name=name), encoding="utf-8")
    text = json.dumps(facts_json(facts), ensure_ascii=False, indent=2)
    (folder / FACTS).write_text(text + "\n", encoding="utf-8")


def _publish(folder: Path, output: Path) -> None:
    """Move the finished folder to the output's place."""
    if output.exists():
        replaced = folder.with_name(folder.name + ".old")
        output.rename(replaced)
        folder.rename(output)
        shutil.rmtree(replaced)
    else:
        folder.rename(output)

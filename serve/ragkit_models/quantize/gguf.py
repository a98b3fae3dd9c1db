"""Make a GGUF file with llama.cpp's own tools: its converter, and then its quantizer.

The converter is a script in llama.cpp's source; it runs under a Python that has torch and
transformers. The quantizer is the program llama-quantize, or the same function in
llama-cpp-python's library.
"""

import json
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path, PurePath
from typing import Any, Final

from ragkit.errors import ModelError, UsageError
from ragkit.system import worker_process
from ragkit_models.gguf_header import FILE_TYPES, read_gguf
from ragkit_models.quantize.process import Progress
from ragkit_models.quantize.recipe import Scheme, converted_type, file_type, needs_quantizer
from ragkit_models.quantize.source import Source

CONVERTER: Final = "convert_hf_to_gguf.py"
_PROGRAM: Final = "llama-quantize"
_WORKER: Final = Path(__file__).with_name("gguf_worker.py")
_CLONE: Final = "git clone --depth 1 https://github.com/ggml-org/llama.cpp"
_PICKLES: Final = frozenset({".bin", ".pt", ".pth"})  # weights are read from safetensors alone
_NUMBERS: Final = {name: number for number, name in FILE_TYPES.items()}


@dataclass(frozen=True, slots=True)
class GgufTools:
    """llama.cpp's converter with the Python that runs it, and its quantizer.

    `quantizer` is a llama-quantize or a Python that has llama-cpp-python, None where the converter
    makes the file alone.
    """

    converter: Path
    python: Path
    quantizer: Path | None


def find_tools(
    scheme: Scheme, *, llamacpp: Path | None, python: Path | None, library: Path | None
) -> GgufTools:
    """Find the tools that a GGUF scheme needs.

    `llamacpp` is the folder of llama.cpp's source, `python` the Python for its converter (None is
    this one), `library` a Python that has llama-cpp-python. The quantizer is llama-quantize as
    built in that folder, else that library, llama-quantize on the PATH, or this Python's library.
    Raises UsageError without a folder, ModelError for a tool that is not there.
    """
    if llamacpp is None:
        raise UsageError(
            f"--scheme {scheme} needs --llamacpp DIR, llama.cpp's source with its converter: get it"
            f" with {_CLONE}"
        )
    folder = llamacpp.expanduser().absolute()
    if not (folder / CONVERTER).is_file():
        raise ModelError(
            f"{llamacpp} has no {CONVERTER}: name the folder of llama.cpp's source, which comes"
            f" with {_CLONE}"
        )
    interpreter = worker_process.find_interpreter(
        python,
        ["torch", "transformers", "sentencepiece"],
        option="--python",
        install="pip install sentencepiece",
    )
    quantizer = _find_quantizer(folder, library) if needs_quantizer(scheme) else None
    return GgufTools(folder / CONVERTER, interpreter, quantizer)


def make_gguf(
    scheme: Scheme,
    source: Source,
    folder: Path,
    tools: GgufTools,
    *,
    trust_remote_code: bool,
    progress: Progress,
) -> tuple[Path, Mapping[str, str]]:
    """Write the GGUF file of a model into a folder; return it and the versions of the tools.

    The converter would run any code in the model's folder, so it sees a folder without that code
    unless `trust_remote_code`. Raises ModelError when a tool fails.
    """
    name, wanted = PurePath(source.name).name, file_type(scheme)
    made = folder / f"{name}-{wanted}.gguf"
    first = made if tools.quantizer is None else folder / f"{name}-16-bit.gguf"
    with tempfile.TemporaryDirectory(prefix="ragkit-quantize-") as place:
        model = _linked(source.folder, Path(place) / "model" / name, code=trust_remote_code)
        arguments = (str(model), "--outtype", converted_type(scheme), "--outfile", str(first))
        conversion = {"script": str(tools.converter), "arguments": arguments}
        progress("converting to GGUF")
        versions = _convert(tools.python, conversion, Path(place), progress, code=trust_remote_code)
        if tools.quantizer is not None:
            progress("quantizing")
            versions |= _quantize(tools.quantizer, first, made, wanted, Path(place), progress)
            first.unlink()
    header = read_gguf(made)
    if header.quantization != wanted:
        raise ModelError(
            f"llama.cpp wrote {header.quantization or 'an unknown type'} instead of {wanted}: take"
            " another version of it, or another scheme"
        )
    return made, versions


def _find_quantizer(folder: Path, library: Path | None) -> Path:
    if built := shutil.which(_PROGRAM, path=folder / "build" / "bin"):
        return Path(built)
    if library is not None:
        return worker_process.find_interpreter(
            library, ["llama_cpp"], option="RAGKIT_LLAMACPP_PYTHON", install=""
        )
    if program := shutil.which(_PROGRAM):
        return Path(program)
    if find_spec("llama_cpp") is not None:
        return Path(sys.executable)
    raise ModelError(
        f"{_PROGRAM} is not there: build it in {folder} (cmake -B build && cmake --build build"
        f" --target {_PROGRAM}), or put it on the PATH, or set RAGKIT_LLAMACPP_PYTHON to the Python"
        " of an environment that has llama-cpp-python"
    )


def _linked(model: Path, place: Path, *, code: bool) -> Path:
    """Make a folder of links to a model's files, without pickles, nor Python code unless `code`."""
    left_out = _PICKLES if code else _PICKLES | {".py"}
    place.mkdir(parents=True, mode=0o700)
    for file in model.iterdir():
        if file.is_file() and file.suffix not in left_out:
            (place / file.name).symlink_to(file.absolute())
    return place


def _convert(
    python: Path, job: Mapping[str, Any], place: Path, progress: Progress, *, code: bool
) -> dict[str, str]:
    def on_line(line: str) -> None:
        if bar := re.match(r"Writing: +(\d+)%", line):
            progress(f"converting to GGUF, {bar[1]} %")

    # Offline: no code of another repository that the configuration names is fetched.
    environment = {} if code else {"HF_HUB_OFFLINE": "1"}
    return _run("converter", python, job, place, on_line, environment)


def _quantize(
    quantizer: Path, first: Path, made: Path, wanted: str, place: Path, progress: Progress
) -> dict[str, str]:
    program = quantizer if quantizer.name == _PROGRAM else None
    versions: dict[str, str] = {}

    def on_line(line: str) -> None:
        if tensor := re.match(r"\[ *(\d+)/ *(\d+)\]", line):
            progress(f"quantizing tensor {tensor[1]} of {tensor[2]}")
        elif program and (version := re.match(r"(?:main: )?(?:version:|build =) ?(.+)", line)):
            versions[_PROGRAM] = version[1].strip()

    job: dict[str, Any] = {"input": str(first), "output": str(made), "type": _NUMBERS[wanted]}
    if program is not None:
        job = {"program": str(program), "arguments": [str(first), str(made), wanted]}
    python = Path(sys.executable) if program else quantizer
    return _run("quantizer", python, job, place, on_line) | versions


def _run(
    tool: str,
    python: Path,
    job: Mapping[str, Any],
    place: Path,
    on_line: Progress,
    environment: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Run the worker on a job and return the versions that it answers."""
    file, answer = place / "job.json", place / "result.json"
    file.write_text(json.dumps(job), encoding="utf-8")
    answer.write_text("{}", encoding="utf-8")
    reason = worker_process.run_worker(python, _WORKER, file, on_line, environment=environment)
    if reason:
        raise ModelError(
            f"llama.cpp's {tool} failed: {reason}: check that it supports the model, and that there"
            " is enough memory and disk"
        )
    versions: dict[str, str] = json.loads(answer.read_text(encoding="utf-8"))
    return versions

"""Choose the program that runs a model: vLLM, vLLM in a container, or llama.cpp."""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from ragkit.embed.precision import cpu_precision
from ragkit.settings.settings import Settings
from ragkit_models.serve import container, find, prepare, vllm
from ragkit_models.serve.advice import doubts
from ragkit_models.serve.options import Launch, ServeOptions

Engine = Literal["vllm", "llamacpp"]


@dataclass(frozen=True, slots=True)
class Choice:
    """The user's choice of a program; None leaves it to the settings and the model."""

    engine: Engine = "vllm"
    image: str | None = None
    quantization: str | None = None


def choose_launch(
    options: ServeOptions, choice: Choice, settings: Settings, *, say: Callable[[str], None]
) -> Launch:
    """Find the program and make its launch; `say` gets a line for each option that does not help.

    Raises UsageError for options that contradict each other, ModelError for a missing program.
    """
    prepare.check_extra(options.extra)
    if choice.engine == "llamacpp" or (options.model.endswith(".gguf") and not choice.quantization):
        from ragkit_models.serve.llamacpp import llamacpp_launch

        return llamacpp_launch(options, choice.quantization, settings.llamacpp_python)
    prepare.check_model(options.model, load_format=options.load_format)
    if choice.image is not None:
        return _in_container(options, choice, choice.image, say)
    return _in_environment(options, choice, settings, say)


def _in_environment(
    options: ServeOptions, choice: Choice, settings: Settings, say: Callable[[str], None]
) -> Launch:
    installed = find.find_vllm(settings.vllm_python)
    if choice.quantization is not None:
        from ragkit_models.quantization import require_quantization

        parts = require_quantization(choice.quantization, installed.python, model=options.model)
        options = replace(options, quantization=parts)
    if installed.cpu:
        options = _with_cpu_dtype(options)
    _say_doubts(options, installed.release, say, cpu=installed.cpu)
    return vllm.vllm_launch(
        options,
        program=(str(installed.python), "-m", vllm.MODULE),
        cpu=installed.cpu,
        version=installed.release,
    )


def _in_container(
    options: ServeOptions, choice: Choice, image: str, say: Callable[[str], None]
) -> Launch:
    release = container.image_version(image)
    find.require_safe(release, f"container image {image}")
    if not release:
        floor = ".".join(map(str, find.FLOOR))
        say(f"the tag of {image} has no version: check that it is vLLM {floor} or newer")
    if choice.quantization is not None:
        say("--quantization is not checked against a container: vLLM may refuse it at the start")
        options = replace(options, quantization=("--quantization", choice.quantization))
    engine, gpu = container.find_container_engine(), container.find_gpu()
    _say_doubts(options, release, say, cpu=not gpu)
    return container.container_launch(image, options, engine=engine, gpu=gpu)


def _say_doubts(
    options: ServeOptions, release: tuple[int, ...], say: Callable[[str], None], *, cpu: bool
) -> None:
    for line in doubts(options, cpu=cpu):
        say(line)
    if () < release < vllm.QUEUE_SINCE:
        say("this vLLM's queue has no end (--max-num-queued-reqs came in 0.29): upgrade it")


def _with_cpu_dtype(options: ServeOptions) -> ServeOptions:
    """Choose float32 where this processor has no native bfloat16; quantized weights keep theirs."""
    from ragkit_models.checkpoint import read_checkpoint

    if options.dtype or options.quantization or platform.machine() != "x86_64":
        return options
    checkpoint = read_checkpoint(options.model)
    if checkpoint is None or checkpoint.method or cpu_precision() != "float32":
        return options
    return replace(options, dtype="float32")

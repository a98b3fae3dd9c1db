"""Check `--quantization` against the model's files and the methods that vLLM offers.

The rules turn a choice into vLLM's arguments, or into a message that names what to choose or
install instead; `offered` asks vLLM for its methods.
"""

from pathlib import Path
from typing import Final, Literal, get_args

from ragkit.errors import ModelError, UsageError
from ragkit_models.checkpoint import Checkpoint, read_checkpoint
from ragkit_models.vllm_methods import Offered, ask_offered

Method = Literal["awq", "gptq", "fp8", "int8", "compressed-tensors", "bitsandbytes", "gguf"]
METHODS: Final[tuple[Method, ...]] = get_args(Method)

# Methods that left vLLM's core, since when, and the plug-in that provides them (vLLM 0.32).
_PLUGINS: Final = {
    "gguf": ("vllm-gguf-plugin", "0.24"),
    "bitsandbytes": ("vllm-bnb-plugin", "0.28"),
}
# vLLM's hardware table (docs.vllm.ai, features/quantization): INT8 W8A8 from Turing on.
_INT8_CAPABILITY: Final = 75
# The same table for processors, and FP8, which is not in it but which 0.32 serves on x86: measured
# with a tiny Llama, per channel. Per tensor fails there for want of a kernel.
_ON_CPU: Final = {"x86_64": {"awq", "gptq", "int8", "int4", "fp8", "float8"}, "aarch64": {"int8"}}
_MACHINES: Final = {"AMD64": "x86_64", "arm64": "aarch64"}
# Weight formats of compressed-tensors by the choice that they satisfy.
_FORMATS: Final = {"int8": "int8", "float8": "fp8"}


def require_quantization(method: str, python: Path, *, model: str) -> tuple[str, ...]:
    """Turn a choice of quantization into vLLM's arguments for this model on this hardware.

    `python` is the interpreter of the environment that has vLLM, `model` a folder, a .gguf file or
    a hub name. Raises UsageError where the choice contradicts the model's files, ModelError where
    this vLLM or hardware does not have it; each names what to install or choose instead.
    """
    name = _parse_method(method)
    checkpoint = read_checkpoint(model)
    _check_model(name, checkpoint, model)
    return choose_quantization(name, checkpoint, ask_offered(python), model=model)


def choose_quantization(
    method: Method, checkpoint: Checkpoint | None, offered: Offered, *, model: str
) -> tuple[str, ...]:
    """Choose vLLM's arguments from values; `checkpoint` is None where the files are unknown.

    >>> offered = Offered("0.32.0", "cpu", methods=frozenset({"awq"}))
    >>> choose_quantization("awq", Checkpoint("awq"), offered, model="m")
    ('--quantization', 'awq')
    """
    _check_model(method, checkpoint, model)
    name = _vllm_name(method, checkpoint, offered)
    _check_plugin(method, offered)
    _check_hardware(method, checkpoint, offered, model)
    if name not in offered.methods:
        choices = ", ".join(sorted(offered.methods & {*METHODS, "fp8_per_tensor"})) or "none"
        raise ModelError(
            f"vLLM {offered.version} does not offer {method} on {_hardware(offered)}: choose one"
            f" of {choices}, or leave --quantization out"
        )
    if method in _PLUGINS:  # whose loaders read what safetensors' does not
        return ("--quantization", name, "--load-format", name)
    return ("--quantization", name)


def _parse_method(name: str) -> Method:
    for method in METHODS:
        if method == name:
            return method
    raise UsageError(f"--quantization {name!r} is unknown: choose one of {', '.join(METHODS)}")


def _check_model(method: Method, checkpoint: Checkpoint | None, model: str) -> None:
    """Raise UsageError for a choice that the model's files contradict."""
    if checkpoint is None or method in _accepts(checkpoint):
        return
    if checkpoint.method == "gguf":
        raise UsageError(
            f"{model} holds GGUF weights, not {method}: leave --quantization out and write"
            " --engine llamacpp"
        )
    if method == "gguf":
        raise UsageError(f"{model} is not a .gguf file: name one, or choose another quantization")
    if checkpoint.method:
        stored = f"{checkpoint.method} {checkpoint.weights}".strip()
        raise UsageError(
            f"{model} is quantized as {stored}, not as {method}: leave --quantization out, and it"
            " is served as it is"
        )
    scheme = {"int8": "w8a8", "awq": "awq"}.get(method, "w4a16")
    raise UsageError(
        f"the weights of {model} are not quantized, and {method} cannot be made while they load:"
        f" make a checkpoint with `ragkit model quantize {model} --scheme {scheme} --calibration"
        " FILE`, or choose fp8"
    )


def _accepts(checkpoint: Checkpoint) -> frozenset[str]:
    """Return the choices that agree with a checkpoint's files."""
    if checkpoint.method == "":  # quantized while loading; int8 only for experts
        return frozenset({"fp8", "bitsandbytes"} | ({"int8"} if checkpoint.experts else set()))
    if checkpoint.method == "compressed-tensors":
        return frozenset({"compressed-tensors", _FORMATS.get(checkpoint.weights, "")})
    return frozenset({checkpoint.method})


def _vllm_name(method: Method, checkpoint: Checkpoint | None, offered: Offered) -> str:
    """Return vLLM's name of the choice, which depends on how the files are quantized."""
    plain = checkpoint is None or checkpoint.method == ""
    if checkpoint is not None and checkpoint.method == "compressed-tensors":
        return "compressed-tensors"
    online = "fp8_per_channel" if offered.platform == "cpu" else "fp8_per_tensor"
    if method == "fp8" and plain and online in offered.methods:
        return online  # "fp8" itself only reads checkpoints
    if method == "int8":
        experts = checkpoint is not None and checkpoint.experts
        return "int8_per_channel_weight_only" if experts else "compressed-tensors"
    return method


def _check_plugin(method: Method, offered: Offered) -> None:
    if method not in _PLUGINS or method in offered.methods:
        return
    package, since = _PLUGINS[method]
    instead = "or write --engine llamacpp" if method == "gguf" else "or choose awq, gptq or fp8"
    if package in offered.plugins:
        raise ModelError(
            f"{package} is installed but registers no {method} with vLLM {offered.version}:"
            f" check that VLLM_PLUGINS does not leave it out, {instead}"
        )
    if offered.platform == "cpu":  # neither plug-in has kernels for it
        instead = instead.removeprefix("or ").replace("or fp8", "or int8")
        raise ModelError(f"vLLM has no {method} for a CPU: {instead}")
    raise ModelError(
        f"{method} left vLLM's core in {since}: pip install {package} in vLLM's environment,"
        f" {instead}"
    )


def _check_hardware(
    method: Method, checkpoint: Checkpoint | None, offered: Offered, model: str
) -> None:
    form: str = method
    if checkpoint is not None and checkpoint.weights:
        form = checkpoint.weights
    elif method == "compressed-tensors":
        form = ""  # its number format is unknown
    if offered.platform == "cpu":
        machine = _MACHINES.get(offered.machine, offered.machine)
        supported = _ON_CPU.get(machine, set())
        if form and form not in supported:
            choices = " or ".join(sorted(supported & set(METHODS))) or "none"
            raise ModelError(
                f"vLLM has no {method} for {_hardware(offered)}: choose {choices} (`ragkit model"
                f" quantize {model} --scheme w8a8` makes int8), or a GGUF file with --engine"
                " llamacpp"
            )
    least = offered.minimum.get(method, 0)
    if form == "int8":
        least = max(least, _INT8_CAPABILITY)
    if offered.capability is not None and offered.capability < least:
        raise ModelError(
            f"{method} needs a GPU of compute capability {_dotted(least)}, and {_hardware(offered)}"
            f" is below: choose {_choices_below(method, offered)}"
        )


def _choices_below(method: Method, offered: Offered) -> str:
    """Return the choices for an older GPU."""
    capability = offered.capability or 0
    choices = [
        name
        for name in ("awq", "gptq")
        if name != method and name in offered.methods and offered.minimum.get(name, 0) <= capability
    ]
    return " or ".join([*choices, "a GGUF file with --engine llamacpp"])


def _hardware(offered: Offered) -> str:
    """Return the hardware's name for an error message."""
    if offered.capability is not None:
        return f"this GPU (compute capability {_dotted(offered.capability)})"
    if offered.platform == "cpu":
        return f"a CPU ({offered.machine})"
    return f"{offered.platform} hardware"


def _dotted(capability: int) -> str:
    return f"{capability // 10}.{capability % 10}"

"""Ask an environment's vLLM which quantization methods it offers on this machine.

A small program, run by that environment's interpreter, prints the answer; ragkit imports no vLLM.
"""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ragkit.errors import ModelError

_TIMEOUT_S: Final = 180.0  # arbitrary: importing vLLM took 4 to 10 s on two shared cores
_MARK: Final = "ragkit-offered "
_PLUGINS: Final = ("vllm-gguf-plugin", "vllm-bnb-plugin")

# Plug-ins register their methods when vLLM loads them, so the program loads them.
_PROBE: Final = """
import json, platform, sys
from importlib.metadata import PackageNotFoundError, version
answer = {"machine": platform.machine(), "plugins": []}
for name in sys.argv[2:]:
    try:
        version(name)
        answer["plugins"].append(name)
    except PackageNotFoundError:
        pass
try:
    import vllm
except ModuleNotFoundError as error:
    if error.name != "vllm":
        raise
else:
    from vllm.platforms import current_platform as device
    from vllm.plugins import load_general_plugins
    load_general_plugins()
    from vllm.model_executor.layers import quantization
    capability = device.get_device_capability()
    answer["version"] = vllm.__version__
    answer["platform"] = next(
        (name for name in ("cpu", "cuda", "rocm", "xpu", "tpu") if getattr(device, "is_" + name)()),
        device.device_name,
    )
    answer["capability"] = None if capability is None else capability.to_int()
    answer["methods"] = list(quantization.QUANTIZATION_METHODS)
    answer["supported"] = list(device.supported_quantization)
    answer["minimum"] = {}
    for name in ("awq", "gptq", "fp8", "compressed-tensors", "bitsandbytes", "gguf"):
        if name in answer["methods"]:
            config = quantization.get_quantization_config(name)
            answer["minimum"][name] = config.get_min_capability()
print("\\n" + sys.argv[1] + json.dumps(answer))
"""


@dataclass(frozen=True, slots=True)
class Offered:
    """A vLLM, the hardware it sees, and the quantization methods it has for that hardware.

    `platform` is "cpu", "cuda", "rocm", "xpu" or vLLM's own name; `machine` is as in
    `platform.machine()`; `capability` is CUDA's compute capability times ten (89 is 8.9), None
    elsewhere; `minimum` is the capability that a method needs.
    """

    version: str
    platform: str
    machine: str = "x86_64"
    capability: int | None = None
    methods: frozenset[str] = frozenset()
    minimum: Mapping[str, int] = field(default_factory=dict)
    plugins: frozenset[str] = frozenset()


def ask_offered(python: Path, *, timeout_s: float = _TIMEOUT_S) -> Offered:
    """Ask the environment of an interpreter what its vLLM offers; it takes some seconds.

    Raises ModelError for a missing interpreter, a missing vLLM, or a failure of the program.
    """
    try:
        done = subprocess.run(
            [str(python), "-c", _PROBE, _MARK, *_PLUGINS],
            cwd="/",  # -c puts the working folder on the import path
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
        )
    except OSError as error:
        raise ModelError(
            f"{python} cannot be run ({error.strerror}): set RAGKIT_VLLM_PYTHON to the Python of"
            " an environment that has vLLM"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise ModelError(
            f"the vLLM of {python} did not answer within {timeout_s:.0f} s: run"
            f" {python} -c 'import vllm' to see why"
        ) from error
    answers = [line for line in done.stdout.splitlines() if line.startswith(_MARK)]
    if done.returncode or not answers:
        last = (done.stderr.strip() or "it printed nothing").splitlines()[-1]
        raise ModelError(
            f"the vLLM of {python} cannot be used: {last[:200]}: repair that environment, or set"
            " RAGKIT_VLLM_PYTHON to another one's Python"
        )
    return read_offered(answers[-1].removeprefix(_MARK), python=python)


def read_offered(answer: str, *, python: Path) -> Offered:
    """Read the program's answer. Raises ModelError where the environment has no vLLM."""
    values = json.loads(answer)
    if "version" not in values:
        raise ModelError(
            f"there is no vLLM in the environment of {python}: pip install vllm there, or set"
            " RAGKIT_VLLM_PYTHON to the Python of an environment that has it"
        )
    methods = frozenset(values["methods"])
    supported = frozenset(values["supported"])
    return Offered(
        version=values["version"],
        platform=values["platform"],
        machine=values["machine"],
        capability=values["capability"],
        methods=methods & supported if supported else methods,  # an empty list means all
        minimum=values["minimum"],
        plugins=frozenset(values["plugins"]),
    )

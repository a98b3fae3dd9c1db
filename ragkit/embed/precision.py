"""Choose the number format of a model's weights on this machine.

Half precision is a gain only where the processor multiplies it natively; elsewhere it is many
times slower than float32. Measured on two cores of an AMD EPYC with avx512_bf16 and MiniLM, its
weights laid out as oneDNN reads them (`ragkit.embed.bert`): beside other programs passages 1.6 to
2.2 times faster in bfloat16, one query 10.1 ms down to 4.5 ms, cosine to float32 0.9999. With AMX,
before that layout, the gain was 4 to 5 times.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import torch

Precision = Literal["float32", "bfloat16", "float16"]

_CPUINFO = Path("/proc/cpuinfo")
_NATIVE_INT8 = frozenset({"avx512_vnni", "avx_vnni"})
_NATIVE_BF16 = frozenset({"amx_bf16", "avx512_bf16"})


def cpu_precision(cpuinfo: Path = _CPUINFO) -> Precision:
    """Choose bfloat16 where the processor's flags name it, float32 elsewhere or when unknown."""
    return "bfloat16" if _NATIVE_BF16 & _flags(cpuinfo) else "float32"


def is_int8_fastest(cpuinfo: Path = _CPUINFO) -> bool:
    """Tell whether the processor and torch's build multiply 8-bit integers faster than all else.

    With AMX bfloat16 is as fast, and nearer to float32.
    """
    import torch

    flags = _flags(cpuinfo)
    if not _NATIVE_INT8 & flags or "amx_bf16" in flags:
        return False
    operations = ("qlinear_prepack", "qlinear_pointwise")  # they are torch's own affair
    return all(hasattr(torch.ops.onednn, name) for name in operations)


def _flags(cpuinfo: Path) -> set[str]:
    """Read what the processor can do; nothing when unknown."""
    try:
        lines = cpuinfo.read_text("utf-8", errors="replace").splitlines()
    except OSError:
        return set()
    return set(next((line for line in lines if line.startswith("flags")), "").split())


def torch_dtype(device: str) -> torch.dtype:
    """Choose the dtype for a torch device such as "cpu", "cuda" or "cuda:1"."""
    import torch

    if device.startswith("cuda"):
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
    if device == "cpu" and cpu_precision() == "bfloat16":
        return torch.bfloat16
    return torch.float32

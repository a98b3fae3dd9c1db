"""The number format follows the processor's flags."""

from pathlib import Path

import pytest

from ragkit.embed.precision import cpu_precision


@pytest.mark.parametrize(
    ("flags", "precision"),
    [
        ("flags\t\t: fpu avx2 avx512f avx512_bf16 sha_ni", "bfloat16"),
        ("flags\t\t: fpu avx512f amx_bf16 amx_tile", "bfloat16"),
        ("flags\t\t: fpu avx2 avx512f", "float32"),
        ("Features\t: fp asimd bf16", "float32"),
        ("", "float32"),
    ],
)
def test_bfloat16_only_where_the_processor_multiplies_it(
    tmp_path: Path, flags: str, precision: str
) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(f"processor\t: 0\n{flags}\n", "utf-8")
    assert cpu_precision(cpuinfo) == precision


def test_float32_where_nothing_is_known(tmp_path: Path) -> None:
    assert cpu_precision(tmp_path / "none") == "float32"

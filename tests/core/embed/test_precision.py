"""The number format follows the processor's flags."""

from pathlib import Path

import pytest

from ragkit.embed.precision import cpu_precision, is_int8_fastest


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


@pytest.mark.parametrize(
    ("flags", "is_fastest"),
    [
        ("fpu avx512_vnni avx512_bf16", True),
        ("fpu avx_vnni sha_ni", True),
        ("fpu avx2 avx512f avx512_bf16", False),
        ("fpu avx512_vnni amx_bf16 amx_int8", False),
    ],
)
def test_int8_where_nothing_is_faster(tmp_path: Path, flags: str, is_fastest: bool) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(f"processor\t: 0\nflags\t\t: {flags}\n", "utf-8")
    assert is_int8_fastest(cpuinfo) == is_fastest
    assert not is_int8_fastest(tmp_path / "none")

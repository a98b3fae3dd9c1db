"""The number format follows the processor's flags."""

from pathlib import Path

import pytest

from ragkit.embed.precision import cpu_precision, has_int8_products


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


@pytest.mark.parametrize("flag", ["avx512_vnni", "avx_vnni", "amx_int8"])
def test_int8_only_where_the_processor_multiplies_it(tmp_path: Path, flag: str) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(f"processor\t: 0\nflags\t\t: fpu {flag} sha_ni\n", "utf-8")
    assert has_int8_products(cpuinfo)
    cpuinfo.write_text("flags\t\t: fpu avx2 avx512f avx512_bf16\n", "utf-8")
    assert not has_int8_products(cpuinfo)
    assert not has_int8_products(tmp_path / "none")

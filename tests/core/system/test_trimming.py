"""A process that has freed much memory is small again."""

import subprocess
import sys

import pytest

# Every second block stays, so that glibc cannot give back the end of the heap by itself.
PROGRAM = """
from pathlib import Path
from ragkit.system.trimming import Trimming

def size_mb():
    return int(Path("/proc/self/statm").read_bytes().split()[1]) * 4096 >> 20

trim = Trimming()
trim()
before = size_mb()
blocks = [bytearray(b"x" * 100_000) for _ in range(2_000)]
kept = blocks[::100]
del blocks
grown = size_mb()
trim()
print(grown - before, size_mb() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc is told to give memory back")
def test_what_was_freed_is_given_back() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    grown, left = map(int, done.stdout.split())
    assert grown > 150
    assert left < 20

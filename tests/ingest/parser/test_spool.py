"""Parts come back as they were taken, from memory and from a file that nobody else finds."""

import errno
import gc
import io
import os
import tempfile
import tracemalloc
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ragkit.errors import IngestError
from ragkit_ingest.parser.pool import ParserPool
from ragkit_ingest.parser.spool import Spool

BIG = 9 << 20  # over what is kept in memory


def test_parts_are_what_was_taken() -> None:
    spool = Spool()
    parts = [spool.take(io.BytesIO(data + b"more"), len(data)) for data in (b"one", b"", b"three")]
    assert [part.read() for part in parts] == [b"one", b"", b"three"]
    assert [part.size for part in parts] == [3, 0, 5]


def test_many_threads_read_while_more_is_taken() -> None:
    spool = Spool()
    first = spool.take(io.BytesIO(b"a" * BIG), BIG)
    with ThreadPoolExecutor(4) as threads:
        read = [threads.submit(first.read) for _ in range(8)]
        second = spool.take(io.BytesIO(b"b" * BIG), BIG)
        assert all(one.result() == b"a" * BIG for one in read)
    assert second.read() == b"b" * BIG


def test_what_is_large_is_on_the_disk_under_no_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    stream = io.BytesIO(bytes(4 * BIG))
    tracemalloc.start()
    spool = Spool()
    part = spool.take(stream, 4 * BIG)
    held, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 1 << 20
    assert most < 3 * BIG  # the buffer of what was still kept in memory, grown and copied
    assert list(tmp_path.iterdir()) == []
    opened = _opened(tmp_path)
    assert len(opened) == 1
    del spool
    assert part.read(), "a part keeps its spool"
    del part
    gc.collect()
    assert _opened(tmp_path) == []


def test_a_stream_that_ends_too_early() -> None:
    with pytest.raises(EOFError):
        Spool().take(io.BytesIO(b"abc"), 4)


def test_a_full_disk_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.BytesIO):
        def write(self, _: object) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("ragkit_ingest.parser.spool.SpooledTemporaryFile", lambda _: Full())
    with pytest.raises(IngestError, match="No space left on device: TMPDIR names the folder"):
        Spool().take(io.BytesIO(b"abc"), 3)


def test_a_parser_whose_answer_was_not_taken_is_not_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def take(*_: object) -> None:
        raise IngestError("read", "no room")

    monkeypatch.setattr(Spool, "take", take)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as members:
        members.writestr("a.txt", "hello")
    with ParserPool(1) as pool:
        with pytest.raises(IngestError, match="no room"):
            pool.members(archive.getvalue(), ".zip").result(timeout=60)
        assert pool.submit(b"A text.", ".txt").result(timeout=60).text == "A text."


def _opened(folder: Path) -> list[str]:
    found = []
    for one in Path("/proc/self/fd").iterdir():
        try:
            found.append(os.readlink(one))
        except FileNotFoundError:  # the one that was opened to look
            continue
    return [path for path in found if path.startswith(str(folder))]

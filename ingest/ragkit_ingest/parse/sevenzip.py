"""Unpack a 7z archive by bsdtar, which writes what is in it as a tar archive."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from ragkit.errors import IngestError
from ragkit.system.converters import BSDTAR
from ragkit_ingest.parse import tar
from ragkit_ingest.parse.external_program import running
from ragkit_ingest.parse.options import ParseOptions

_FIRST_BYTES = b"7z\xbc\xaf\x27\x1c"
_ANEW = "pack what is in it anew as .zip"


def members(data: bytes, options: ParseOptions) -> Iterator[tuple[str, bytes]]:
    """Yield the files of an archive as those of a tar archive are.

    Raises IngestError without bsdtar, and for an archive that is damaged, encrypted or hostile.
    """
    if not data.startswith(_FIRST_BYTES):
        raise IngestError("parse", "damaged, or no 7z archive, as its name says")
    program = BSDTAR.path()
    if not program:
        raise IngestError("parse", f"a 7z archive: install bsdtar (libarchive-tools), or {_ANEW}")
    with TemporaryDirectory(prefix="ragkit-") as place:
        folder = Path(place)
        (folder / "archive.7z").write_bytes(data)
        # An argument with @ is an archive whose members are copied.
        command = [program, "-cf", "-", "--format=pax", "@archive.7z"]
        with running(command, folder, output=subprocess.PIPE) as child:
            assert child.stdout is not None
            try:
                files = list(tar.members_of(child.stdout, options))
            except tar.DamagedError:
                files = []
            if not files or child.wait() != 0:
                raise IngestError("parse", f"damaged, empty, or it needs a password: {_ANEW}")
    yield from files

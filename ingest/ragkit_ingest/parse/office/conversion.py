"""Convert old Office files by LibreOffice, in a profile of its own that loads and runs nothing.

It is killed with all that it started once it is done or takes too long.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from ragkit.errors import IngestError
from ragkit.system.converters import LIBREOFFICE
from ragkit_ingest.parse.external_program import convert

# Arbitrary: some seconds are usual. Below the parser's own limit, so that this one ends it.
_TIMEOUT_S: Final = 90
_OLD: Final = {".docx": (".doc", "Word"), ".pptx": (".ppt", "PowerPoint")}
# No macro runs, no link is followed: what a file names elsewhere stays there.
_OFFICE: Final = "/org.openoffice.Office"
_SETTINGS: Final = (
    (f"{_OFFICE}.Common/Security/Scripting", "MacroSecurityLevel", "3"),
    (f"{_OFFICE}.Common/Security/Scripting", "DisableMacrosExecution", "true"),
    (f"{_OFFICE}.Common/Security/Scripting", "BlockUntrustedRefererLinks", "true"),
    (f"{_OFFICE}.Writer/Content/Update", "Link", "2"),  # never
)


def converted(data: bytes, suffix: str) -> bytes:
    """Convert a file to the format of today with this suffix, and return that file.

    Raises IngestError without LibreOffice, for a file that it cannot read, and one that takes long.
    """
    old, name = _OLD[suffix]
    program = LIBREOFFICE.path()
    if not program:
        reason = f"a file of old {name}: install LibreOffice, or save it as {suffix}"
        raise IngestError("parse", reason)
    with TemporaryDirectory(prefix="ragkit-") as folder:
        place = Path(folder)
        source, result = place / f"file{old}", place / "out" / f"file{suffix}"
        source.write_bytes(data)
        settings = place / "profile" / "user" / "registrymodifications.xcu"
        settings.parent.mkdir(parents=True)
        settings.write_text(_profile(), encoding="utf-8")
        _run(program, place, source, suffix)
        if not result.is_file():
            reason = "LibreOffice cannot read it: it is damaged, or needs a password"
            raise IngestError("parse", f"{reason}; open it in {name} and save it as {suffix}")
        return result.read_bytes()


def _profile() -> str:
    """Write settings by which no macro runs and no link is followed."""
    items = "".join(
        f'<item oor:path="{path}"><prop oor:name="{name}" oor:op="fuse"><value>{value}</value>'
        "</prop></item>"
        for path, name, value in _SETTINGS
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>'
        f'<oor:items xmlns:oor="http://openoffice.org/2001/registry">{items}</oor:items>'
    )


def _run(program: str, place: Path, source: Path, suffix: str) -> None:
    """Let LibreOffice write the file in the folder `out`."""
    command = [
        *(program, "--headless", "--norestore", "--nologo", "--nolockcheck"),
        *(f"-env:UserInstallation={(place / 'profile').as_uri()}", "--convert-to", suffix[1:]),
        *("--outdir", str(place / "out"), str(source)),
    ]
    remedy = f"save it as {suffix}"
    convert(command, place, timeout_s=_TIMEOUT_S, name=LIBREOFFICE.name, remedy=remedy)

"""Files without a suffix, such as README and Makefile: which format they are read as.

Their names and first bytes decide, in this one place.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import BinaryIO, Final

from ragkit.errors import IngestError
from ragkit_ingest.parse.decode import decode

_HEAD_BYTES: Final = 4096  # arbitrary; a binary file shows early that it is one
_NAMES: Final = {
    **dict.fromkeys(("makefile", "gnumakefile", "bsdmakefile"), ".mk"),
    **dict.fromkeys(("dockerfile", "containerfile"), ".dockerfile"),
    **dict.fromkeys(("jenkinsfile",), ".groovy"),
    **dict.fromkeys(
        ("gemfile", "rakefile", "vagrantfile", "podfile", "brewfile", "guardfile", "fastfile"),
        ".rb",
    ),
    **dict.fromkeys(("build", "workspace", "sconstruct", "sconscript", "tiltfile"), ".py"),
}
_PROGRAM: Final = re.compile(
    rb"#![^\n]{0,200}?\b(bash|zsh|sh|python|ruby|perl|lua|node|php)[\d.]*\b"
)
_PROGRAMS: Final = {
    **dict.fromkeys(("bash", "zsh", "sh"), ".sh"),
    **{"python": ".py", "ruby": ".rb", "perl": ".pl", "lua": ".lua", "node": ".js", "php": ".php"},
}


def suffix_by_content(name: str, opened: Callable[[], BinaryIO]) -> str:
    """Return the suffix of the format that a file is read as; "" for one that is no text.

    An empty file is no text. Raises IngestError for a file that cannot be read.

    >>> import io
    >>> suffix_by_content("Makefile", lambda: io.BytesIO(b"all:"))
    '.mk'
    >>> suffix_by_content("LICENSE", lambda: io.BytesIO(b"Anyone may"))
    '.txt'
    """
    try:
        with opened() as stream:
            head = stream.read(_HEAD_BYTES)
    except OSError as error:
        raise IngestError("read", error.strerror or str(error)) from error
    if not _is_text(head):
        return ""
    if by_name := _NAMES.get(name.rpartition("/")[2].lower()):
        return by_name
    program = _PROGRAM.match(head)
    return _PROGRAMS[program[1].decode()] if program else ".txt"


def _is_text(head: bytes) -> bool:
    """Say whether a file's beginning is text in an encoding that is read."""
    if len(head) == _HEAD_BYTES:
        head = head.rstrip(bytes(range(0x80, 0x100))) or head  # a character may be cut off
    try:
        return bool(decode(head).strip())
    except IngestError:
        return False

"""Open a file of this machine only if it is a regular one: no device, no pipe, no folder."""

from __future__ import annotations

import errno
import os
import stat
from typing import BinaryIO


def open_regular(path: str) -> BinaryIO:
    """Open a regular file for reading; a link to one is followed.

    Raises OSError, and ValueError for a path that cannot be one.
    """
    # Without O_NONBLOCK opening a pipe would wait for somebody to write to it.
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if stat.S_ISREG(os.fstat(file).st_mode):
        return os.fdopen(file, "rb")
    os.close(file)
    raise OSError(errno.EINVAL, "it is not a regular file", path)

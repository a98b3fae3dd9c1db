"""Where a server's unix socket lies: in a folder that only its own account may enter.

Knows nothing of the server itself.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import tempfile
from pathlib import Path
from typing import Final

from ragkit.errors import DatabaseError
from ragkit.store.server.programs import Account

PORT: Final = 5432  # only names the socket: nothing listens on TCP
SOCKET: Final = f".s.PGSQL.{PORT}"
_MAX_BYTES: Final = 107  # the most that Linux allows in a socket's path


def socket_dir(data: Path, account: Account | None) -> Path:
    """Choose the data folder itself if its path is short and plain, else one made for it.

    libpq cannot read a comma in a socket's path, and the system limits its length. Raises
    DatabaseError where another account has taken the place.
    """
    if len(os.fsencode(data / SOCKET)) <= _MAX_BYTES and re.fullmatch(r"[\w./+@ -]+", str(data)):
        return data
    uid, gid = (account.uid, account.gid) if account else (os.geteuid(), os.getegid())
    digest = hashlib.sha256(os.fsencode(data)).hexdigest()[:16]
    folder = Path(tempfile.gettempdir(), f"ragkit-{uid}-{digest}")
    try:
        folder.mkdir(mode=0o700)
        os.chown(folder, uid, gid)
    except FileExistsError:
        pass
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != uid or found.st_mode & 0o077:
        raise DatabaseError(f"{folder} is not a private folder of ours: remove it.")
    return folder

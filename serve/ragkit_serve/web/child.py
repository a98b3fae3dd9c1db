"""Become another program that ends with its parent, whatever ends that.

`python -m ragkit_serve.web.child PARENT PROGRAM...`: Linux keeps the order over exec (prctl(2)).
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import Final

_PR_SET_PDEATHSIG: Final = 1


def main() -> None:
    """Run the program in the arguments in this process's place."""
    parent, *command = sys.argv[1:]
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != int(parent):  # it ended before it could be heard of
        sys.exit(1)
    os.execv(command[0], command)  # noqa: S606  a list, without a shell


if __name__ == "__main__":
    main()

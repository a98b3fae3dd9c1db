"""A parser process that misbehaves as a file's suffix says, for the tests of the pool."""

import ctypes
import os
import resource
import signal
import sys
import time

from ragkit.types import Block, ParsedText
from ragkit_ingest.parse.options import ParseOptions
from ragkit_ingest.parse_worker import serve


def parse(data: bytes, suffix: str, options: ParseOptions) -> ParsedText:
    """Do what the suffix names; ".txt" gives the process's id, its group and the budget."""
    if suffix == ".segv":
        ctypes.string_at(0)
    elif suffix == ".abort":
        os.abort()
    elif suffix == ".hang":
        time.sleep(3600)
    elif suffix == ".spin":
        while True:
            pass
    elif suffix == ".eat":
        return ParsedText("x" * (1 << 40))
    elif suffix == ".exit":
        os._exit(3)
    elif suffix == ".bug":
        raise KeyError("styles")
    elif suffix == ".print":
        print("not part of the protocol", flush=True)
        os.write(1, b"\xff" * 4096)
    elif suffix == ".liar":
        return ParsedText("short", (Block(0, 99, "paragraph"),))
    elif suffix == ".core":
        return ParsedText(str(resource.getrlimit(resource.RLIMIT_CORE)))
    elif suffix == ".dead":
        os.kill(os.getpid(), signal.SIGSTOP)
    return ParsedText(f"{os.getpid()} {os.getpgrp()} {options.unzipped_bytes}", title=data.decode())


if __name__ == "__main__":
    memory_mb, cpu_s = map(int, sys.argv[1:])
    serve(parse, memory_mb=memory_mb, cpu_s=cpu_s)

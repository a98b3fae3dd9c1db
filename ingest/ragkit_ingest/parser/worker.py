"""The program of a parser process: it limits itself, then answers one request at a time.

It parses or unpacks a file, or splits the text of one.

Requests and answers are length-prefixed frames on standard input and output.
"""

from __future__ import annotations

import json
import os
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, BinaryIO

from ragkit.errors import IngestError
from ragkit.system import limits, priority
from ragkit.system.trimming import Trimming
from ragkit.types import ParsedText
from ragkit_ingest.clean.description import masked_reason
from ragkit_ingest.parse import members_of, parse_bytes
from ragkit_ingest.parse.options import ParseOptions, read_options
from ragkit_ingest.parser.split_worker import SplitWorker
from ragkit_ingest.parser.wire import Answer, parts_in, told, told_members

# A request is JSON and bytes: a file's ("suffix", "options", "members": whether these are wanted)
# or a text's ("recipe", see split_wire.py). An answer is JSON and what it calls its parts, one
# after the other (see wire.py). Before it answers, a splitter may "call" the embedder so.
FRAME = struct.Struct("<QQ")  # bytes of the JSON, bytes of what follows it

# What libraries would tell their makers. From 1.29 on ONNX Runtime tells Microsoft of each process
# and model, unless told otherwise before it is loaded (microsoft/onnxruntime#27379).
_PRIVATE = {"ORT_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "DO_NOT_TRACK": "1"}
# A thread for each core takes more address space than a process may have.
_ONE_THREAD = {"TOKENIZERS_PARALLELISM": "false"}
_OUT_OF_MEMORY = {"error": "memory"}

Parse = Callable[[bytes, str, ParseOptions], ParsedText]


def main(arguments: Sequence[str]) -> None:
    """Serve with the limits given as arguments: memory in MB, CPU seconds."""
    memory_mb, cpu_s = map(int, arguments)
    serve(parse_bytes, memory_mb=memory_mb, cpu_s=cpu_s)


def serve(parse: Parse, *, memory_mb: int, cpu_s: int) -> None:
    """Answer requests until standard input ends. Returns early once memory ran out."""
    os.environ.update(_PRIVATE | _ONE_THREAD)
    requests, answers = limits.take_pipes()
    limits.die_with_parent()
    if priority.gives_way():  # as the process does that started it; this one leads a session
        priority.give_way()
    limits.limit(memory_mb)
    trim = Trimming()
    splitting = SplitWorker(partial(_call, requests, answers))
    while True:
        limits.limit_cpu(cpu_s)
        try:
            request = _read(requests)
            if request is None:
                return
            answer, files = _answer(parse, splitting, *request)
            body = _json(answer)
        except MemoryError:
            body, files = _json(_OUT_OF_MEMORY), []
        request = None
        _write(answers, body, files)
        trim()
        if body == _json(_OUT_OF_MEMORY):
            return  # what is left of this process is not worth trusting


def _call(
    requests: BinaryIO, answers: BinaryIO, request: dict[str, Any], data: bytes
) -> tuple[dict[str, Any], list[bytes]]:
    """Ask the parent for something. Raises EOFError when it is gone."""
    _write(answers, _json({**request, "parts": [len(data)]}), [data])
    reply = _read(requests)
    if reply is None:
        raise EOFError("the parent is gone")
    return reply[1], parts_in(reply[0], reply[1]["parts"])


def _write(answers: BinaryIO, body: bytes, files: list[bytes]) -> None:
    answers.write(FRAME.pack(len(body), sum(map(len, files))))
    answers.write(body)
    files.reverse()
    while files:
        answers.write(files.pop())  # and gone: the other side has it now
    answers.flush()


def _answer(
    parse: Parse, splitting: SplitWorker, data: bytes, request: Mapping[str, Any]
) -> Answer:
    """Parse, unpack or split; put the outcome into words that JSON has, and bytes after them."""
    if "recipe" in request:
        return _split(splitting, data, request)
    try:
        options = read_options(request["options"])
        if request["members"]:
            return told_members(members_of(data, request["suffix"], options))
        return told(parse(data, request["suffix"], options))
    except IngestError as error:
        return _failed(error.reason, request), []
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - the loop outlives every file
        return _failed(f"parser failed: {_name(error)}", request), []


def _split(splitting: SplitWorker, data: bytes, request: Mapping[str, Any]) -> Answer:
    try:
        return splitting.split(request, parts_in(data, request["parts"]))
    except IngestError as error:
        return {"error": "chunk", "reason": error.reason}, []
    except (MemoryError, EOFError):
        raise
    except Exception as error:  # noqa: BLE001 - the loop outlives every file
        return {"error": "chunk", "reason": f"splitter failed: {_name(error)}"}, []


def _failed(reason: str, request: Mapping[str, Any]) -> dict[str, str]:
    return {"error": "parse", "reason": masked_reason(reason, read_options(request["options"]))}


def _json(answer: dict[str, Any]) -> bytes:
    return json.dumps(answer, ensure_ascii=False).encode()


def _name(error: Exception) -> str:
    message = " ".join(str(error).split())[:200]
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def _read(requests: BinaryIO) -> tuple[bytes, dict[str, Any]] | None:
    """Read one request; None at the end of input."""
    head = requests.read(FRAME.size)
    if len(head) < FRAME.size:
        return None
    request_bytes, data_bytes = FRAME.unpack(head)
    request: dict[str, Any] = json.loads(requests.read(request_bytes))
    data = requests.read(data_bytes)
    return (data, request) if len(data) == data_bytes else None


if __name__ == "__main__":
    main(sys.argv[1:])

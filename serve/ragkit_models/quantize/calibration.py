"""Read the texts for a calibration from a file of text or of JSON lines.

A malformed line is an error and is never skipped silently.
"""

import hashlib
import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ragkit.errors import UsageError

# Arbitrary: with fewer, the statistics of a layer's inputs depend on a few sentences. The default
# of llm-compressor and of `--samples` is 512.
MIN_SAMPLES: Final = 16
_KINDS: Final = (".txt", ".md", ".jsonl")

Sample = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Calibration:
    """The drawn samples, each {"text"} or {"messages"}, with name and hash of their file."""

    samples: tuple[Sample, ...]
    name: str
    sha256: str
    available: int


def read_calibration(file: Path, *, samples: int, seed: int) -> Calibration:
    """Read a calibration file and draw at most `samples` of it, the same ones for a seed.

    A .txt or .md file holds paragraphs between blank lines (without blank lines, each line is
    one); a .jsonl file holds {"text": ...} or {"messages": [{"role", "content"}, ...]} per line.
    Equal samples count once. Raises UsageError for a file that is missing, not UTF-8, malformed,
    or of fewer than 16 samples.
    """
    data = _read(file)
    try:
        text = data.decode("utf-8-sig")  # Windows editors write a mark
    except UnicodeDecodeError as error:
        raise UsageError(f"calibration file {file} is not UTF-8: save it as UTF-8") from error
    parsed = _json_lines(file, text) if file.suffix.lower() == ".jsonl" else _paragraphs(text)
    distinct = list({json.dumps(sample, sort_keys=True): sample for sample in parsed}.values())
    if len(distinct) < MIN_SAMPLES:
        raise UsageError(
            f"calibration file {file} holds {len(distinct)} different samples: give at least"
            f" {MIN_SAMPLES}, better some hundred, of the kind of text that the model will see"
        )
    drawn = random.Random(seed).sample(distinct, min(samples, len(distinct)))  # noqa: S311  repeatable, no secret
    return Calibration(tuple(drawn), file.name, hashlib.sha256(data).hexdigest(), len(distinct))


def _read(file: Path) -> bytes:
    if file.suffix.lower() not in _KINDS:
        raise UsageError(f"calibration file {file}: write it as one of {', '.join(_KINDS)}")
    try:
        return file.read_bytes()
    except OSError as error:
        raise UsageError(
            f"calibration file {file} cannot be read ({error.strerror}): name one that can"
        ) from error


def _paragraphs(text: str) -> Iterator[Sample]:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    parts = re.split(r"\n[^\S\n]*\n\s*", lines)
    for part in lines.split("\n") if len(parts) == 1 else parts:
        if part.strip():
            yield {"text": part.strip()}


def _json_lines(file: Path, text: str) -> Iterator[Sample]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError as error:
            raise _malformed(file, number, "is not JSON") from error
        if not isinstance(value, dict):
            raise _malformed(file, number, "is not a JSON object")
        if isinstance(value.get("text"), str) and value["text"].strip():
            yield {"text": value["text"]}
        elif _are_messages(value.get("messages")):
            yield {"messages": [_message(message) for message in value["messages"]]}
        else:
            raise _malformed(file, number, "has neither a text nor messages")


def _are_messages(value: object) -> bool:
    return (
        isinstance(value, Sequence)
        and not isinstance(value, str)
        and len(value) > 0
        and all(
            isinstance(message, dict)
            and isinstance(message.get("role"), str)
            and isinstance(message.get("content"), str)
            for message in value
        )
    )


def _message(message: Mapping[str, str]) -> Mapping[str, str]:
    return {"role": message["role"], "content": message["content"]}


def _malformed(file: Path, number: int, problem: str) -> UsageError:
    return UsageError(
        f'calibration file {file}, line {number}, {problem}: write {{"text": "..."}} or'
        ' {"messages": [{"role": "user", "content": "..."}]}'
    )

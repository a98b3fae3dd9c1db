"""Stands in for llama.cpp's converter and its llama-quantize: writes GGUF headers without tensors.

As a converter it writes beside itself, in seen.json, what it was given. What it does is read from
the model's config.json, which the test chooses: "fail", or "template": false.
"""

import json
import os
import struct
import sys
from pathlib import Path

TYPES = {"f16": 1, "auto": 1, "q8_0": 7, "Q6_K": 18, "Q5_K_M": 17, "Q4_K_M": 15}


def main(arguments: list[str]) -> None:
    if "--outtype" in arguments:
        convert(Path(arguments[0]), arguments[2], Path(arguments[4]))
    else:
        first, made, kind = arguments
        assert Path(first).read_bytes()[:4] == b"GGUF"
        print("version: 9.9 (build 5, commit abc)")
        print("[   1/   2] token_embd.weight - [ 8, 8 ]", flush=True)
        write(Path(made), 1 if os.environ.get("STAND_IN_WRONG") else TYPES[kind], template=True)


def convert(model: Path, kind: str, out: Path) -> None:
    config = json.loads((model / "config.json").read_text())
    seen = {"files": sorted(os.listdir(model)), "offline": os.environ.get("HF_HUB_OFFLINE")}
    Path(__file__).with_name("seen.json").write_text(json.dumps(seen))
    if "fail" in config:
        raise NotImplementedError("BPE pre-tokenizer was not recognized")
    print("INFO:gguf.gguf_writer:Writing the following files:")
    print("Writing:  50%|##   | 4.00/8.00\rWriting: 100%|####| 8.00/8.00", flush=True)
    write(out, TYPES[kind], template=config.get("template", True))


def write(out: Path, kind: int, *, template: bool) -> None:
    pairs: dict[str, str | int] = {"general.architecture": "llama", "general.file_type": kind}
    if template:
        pairs["tokenizer.chat_template"] = "{{ messages }}"
    body = b""
    for key, value in pairs.items():
        body += struct.pack("<Q", len(key)) + key.encode()
        if isinstance(value, str):
            body += struct.pack("<IQ", 8, len(value)) + value.encode()
        else:
            body += struct.pack("<II", 4, value)
    out.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, len(pairs)) + body)


if __name__ == "__main__":
    main(sys.argv[1:])

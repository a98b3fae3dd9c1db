"""Write the description of a quantized checkpoint: a model card, and JSON for programs."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from ragkit_models.quantize.recipe import ABOUT, GGUF, Scheme, file_type

CARD: Final = "README.md"
FACTS: Final = "ragkit_quantization.json"

# Who reads the checkpoint, in English and Chinese.
_ENGINE: Final = (
    "vLLM reads the quantization from config.json; no further option is needed.",
    "vLLM 从 config.json 读取量化方式，无需其他选项。",
)
_ENGINE_GGUF: Final = (
    "llama.cpp's server reads this file alone: tokenizer and chat template are in it.",
    "由 llama.cpp 的服务器读取此文件，分词器和对话模板都在其中。",
)


@dataclass(frozen=True, slots=True)
class CalibrationFacts:
    """The file of a calibration, and how much of it was used."""

    file: str
    sha256: str
    samples: int
    tokens: int
    max_tokens: int


@dataclass(frozen=True, slots=True)
class QuantizationFacts:
    """The facts on a model card; sizes are bytes of weights, the date is UTC.

    `revision` is that of the base model on the hub, "" for a local folder; `file` is the name of
    the GGUF file, "" for a folder of safetensors.
    """

    base_model: str
    revision: str
    scheme: Scheme
    recipe: str
    seed: int
    calibration: CalibrationFacts | None
    versions: Mapping[str, str]
    bytes_before: int
    bytes_after: int
    date: str
    file: str = ""


def facts_json(facts: QuantizationFacts) -> dict[str, Any]:
    """Return the JSON of ragkit_quantization.json, which `--json` prints, too."""
    return {"format": 1, **asdict(facts), "versions": dict(facts.versions)}


def card_text(facts: QuantizationFacts, *, name: str) -> str:
    """Write the model card; `name` is the checkpoint's folder."""
    share = facts.bytes_after / facts.bytes_before
    tool, fence = ("llama.cpp", "sh") if facts.file else ("llm-compressor", "yaml")
    return "\n".join(
        [
            *_front_matter(facts),
            f"# {name}",
            "",
            f"{facts.base_model}, quantized by `ragkit model quantize` with {tool}.",
            "",
            "| setting | value |",
            "|---|---|",
            *(f"| {key} | {_cell(value)} |" for key, value in _settings(facts)),
            f"| weights | {_size(facts.bytes_before)} before, {_size(facts.bytes_after)} after"
            f" ({share:.0%}) |",
            "",
            "## Recipe",
            "",
            f"```{fence}",
            facts.recipe,
            "```",
            "",
            *_use(f"{name}/{facts.file}".rstrip("/"), _ENGINE_GGUF if facts.file else _ENGINE),
        ]
    )


def _front_matter(facts: QuantizationFacts) -> list[str]:
    """Write the card's YAML front matter; JSON strings are YAML strings."""
    local = [] if not facts.revision else [f"base_model: {json.dumps(facts.base_model)}"]
    relation = [] if not facts.revision else ["base_model_relation: quantized"]
    names: tuple[str, ...] = ("llm-compressor", "compressed-tensors", facts.scheme)
    if facts.scheme in GGUF:
        names = ("llama.cpp", "gguf", file_type(facts.scheme).lower())
    tags = ["tags:", *(f"  - {name}" for name in names)]
    return ["---", *local, *relation, *tags, "---", ""]


def _settings(facts: QuantizationFacts) -> list[tuple[str, str]]:
    revision = f", revision {facts.revision}" if facts.revision else ""
    rows = [
        ("base model", f"{facts.base_model}{revision}"),
        ("scheme", f"{facts.scheme}: {ABOUT[facts.scheme]}"),
        *([] if facts.file else [("seed", str(facts.seed))]),
        ("date", facts.date),
    ]
    used = facts.calibration
    if used is None:
        rows.append(("calibration", "none: this scheme needs none"))
    else:
        rows += [
            ("calibration file", f"{used.file}, sha256 {used.sha256}"),
            (
                "calibration samples",
                f"{used.samples}, {used.tokens} tokens, at most {used.max_tokens} of each",
            ),
        ]
    versions = ", ".join(f"{name} {version}" for name, version in facts.versions.items())
    return [*rows, ("made with", versions)]


def _use(path: str, engine: tuple[str, str]) -> list[str]:
    """Write how the checkpoint is served; `path` is relative to the folder above it."""
    english, chinese = engine
    return [
        "## Use",
        "",
        "```",
        f"ragkit model serve ./{path}",
        "```",
        "",
        f"{english} To see how much the quantization costs, run `ragkit eval` with the original and"
        " with this checkpoint on your own questions.",
        "",
        "## 用法",
        "",
        f"用 `ragkit model serve ./{path}` 启动；{chinese}"
        "量化后的回答质量应以测量为准：请用自己的问题对原模型和本模型分别运行 `ragkit eval`。",
        "",
    ]


def _cell(text: str) -> str:
    """Escape a value for a table cell."""
    return " ".join(text.replace("|", "\\|").split())


def _size(size: int) -> str:
    """Write bytes in decimal units, as the hub does."""
    value = float(size)
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.2f} GB"

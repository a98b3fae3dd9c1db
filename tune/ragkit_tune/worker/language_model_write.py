"""Write a trained language model or adapter whole, and compare it with the one in memory.

A new process loads what was written: what saving lost shows in its logits.
"""

from __future__ import annotations

import gc
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from checkpoints import UNWRITTEN, reason_of  # beside this script
from job import Job, Log, StopError
from language_model_rows import PLAIN_TEMPLATE
from training import as_loaded

# Largest difference of a logit, as a share of the largest logit: of float32 sums in another order,
# and of half precision, where a quantized base rounds once more.
CLOSE: Final = {"float32": 1e-4, "bfloat16": 2e-2, "float16": 2e-2}
COMPARED_TOKENS: Final = 64
_CACHED: Final = "models--"  # before the name of a model's folder in the hub's cache


def write_result(
    job: Job, trainer: Any, tokenizer: Any, ids: Sequence[int], task: str, log: Log
) -> None:
    """Write the model's folder; `ids` are a text that it is compared by. Raises StopError."""
    import torch

    model = as_loaded(trainer) if job.setting("bits") == 16 else trainer.model
    log.tell("stage: writing the model")
    written = Path(f"{job.model}.writing")
    shutil.rmtree(written, ignore_errors=True)
    try:
        _save(job, model, tokenizer, written)
    except UNWRITTEN as error:
        shutil.rmtree(written, ignore_errors=True)
        raise StopError(
            f"{job.model} cannot be written ({reason_of(error)}): make room, then resume"
        ) from error
    model.eval()
    text = list(ids[:COMPARED_TOKENS])
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([text], device=model.device)).logits
    compared = {"ids": text, "logits": logits.float().flatten()[-100_000:].tolist(), "task": task}
    path = Path(job.log).with_name("logits.json")
    path.write_text(json.dumps(compared), "utf-8")
    _make_room(trainer)
    if reason := reload(written, path, Path(job.log).with_name("job.json")):
        raise StopError(
            f"the written model is not the trained one ({reason}): the checkpoints stay; report"
            " this base model"
        )
    written.rename(job.model)
    path.unlink()  # it holds a row's tokens


def _save(job: Job, model: Any, tokenizer: Any, written: Path) -> None:
    """Save a whole model, or an adapter and what goes with it."""
    if job.setting("parameters") == "full":
        _to_dtype_of_base(model, job)
        model.save_pretrained(str(written))
        tokenizer.save_pretrained(str(written))
    else:
        model.save_pretrained(str(written), safe_serialization=True)
        (written / "README.md").unlink(missing_ok=True)  # PEFT's card; ragkit writes one
        _complete_adapter(written, job, tokenizer)


def _complete_adapter(written: Path, job: Job, tokenizer: Any) -> None:
    """Name the base as others find it, and write what a server must know: template and prompts."""
    file = written / "adapter_config.json"
    config = json.loads(file.read_text("utf-8")) | name_base(Path(job.base))
    file.write_text(json.dumps(config, ensure_ascii=False, indent=2, sort_keys=True), "utf-8")
    if tokenizer.chat_template == PLAIN_TEMPLATE:
        # The base has no template: the adapter is served with the one it was trained by.
        (written / "chat_template.jinja").write_text(PLAIN_TEMPLATE, "utf-8")
    about = describe_prompts(Path(job.train).with_name("card.json"))
    if about:
        (written / "card.json").write_text(json.dumps(about, ensure_ascii=False) + "\n", "utf-8")


def name_base(folder: Path) -> dict[str, str]:
    """Return how an adapter's configuration names its base, for PEFT and transformers to load it.

    That is the hub's name with the commit where the base lies in the hub's cache, which holds on
    any machine; else the folder. A folder's own card names what it was made of, not what it is.

    >>> name_base(Path("/cache/models--org--base/snapshots/0a1b2c"))
    {'base_model_name_or_path': 'org/base', 'revision': '0a1b2c'}
    >>> name_base(Path("/models/base"))
    {'base_model_name_or_path': '/models/base'}
    """
    snapshots, cached = folder.parent.name, folder.parent.parent.name
    if snapshots == "snapshots" and cached.startswith(_CACHED):
        name = cached.removeprefix(_CACHED).replace("--", "/")
        return {"base_model_name_or_path": name, "revision": folder.name}
    return {"base_model_name_or_path": str(folder)}


def describe_prompts(data_card: Path) -> dict[str, Any]:
    """Return the prompts that rows were rendered with, as their card says; {} where it does not."""
    try:
        card = json.loads(data_card.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(card, dict) or not card.get("prompts"):
        return {}
    return {"format": 1, "collection": card.get("collection", ""), "prompts": card["prompts"]}


def reload(folder: Path, compared: Path, job: Path) -> str:
    """Load a written model in a new process; return how it differs, "" where it does not."""
    script = Path(__file__).with_name("language_model_reload.py")
    done = subprocess.run(
        [sys.executable, str(script), str(folder), str(compared), str(job)],
        capture_output=True,
        text=True,
        check=False,
    )
    if not done.returncode:
        return ""
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    return (lines or [f"exit code {done.returncode}"])[-1][:200]


def difference(model: Any, compared: dict[str, Any]) -> str:
    """Return how a model's logits differ from those that were noted; "" within the limit."""
    import torch

    model.eval()
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([compared["ids"]], device=model.device)).logits
    expected = torch.tensor(compared["logits"])
    actual = logits.float().flatten().cpu()[-len(expected) :]
    limit = CLOSE[str(model.dtype).removeprefix("torch.")]
    distance = float((actual - expected).abs().max() / expected.abs().max().clamp(min=1e-6))
    return "" if distance <= limit else f"logits are {distance:.2g} of the largest apart"


def _make_room(trainer: Any) -> None:
    """Leave the GPU to the process that loads the written model."""
    import torch

    trainer.optimizer = trainer.lr_scheduler = None
    trainer.accelerator.free_memory()
    for model in (trainer.model, getattr(trainer, "ref_model", None)):
        if model is not None and not getattr(model, "quantization_method", None):
            model.to("cpu")
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def _to_dtype_of_base(model: Any, job: Job) -> None:
    """Convert all weights to the base's type: they were trained in float32."""
    import torch

    config = json.loads((Path(job.base) / "config.json").read_text("utf-8"))
    name = config.get("dtype") or config.get("torch_dtype") or "float32"
    model.to(getattr(torch, name if name in CLOSE else "float32"))

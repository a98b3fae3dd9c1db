"""Load a written model or adapter: `python language_model_reload.py FOLDER logits.json job.json`.

It ends with exit code 0 when the logits are those that the trainer noted.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from job import Job, read_job  # beside this script
from language_model import load_base
from language_model_write import difference


def main(folder: str, compared_file: str, job_file: str) -> str:
    """Return "" when the logits are equal within the limit, else how far they are apart."""
    compared = json.loads(Path(compared_file).read_text("utf-8"))
    return difference(load(folder, compared["task"], read_job(Path(job_file))), compared)


def load(folder: str, task: str, job: Job) -> Any:
    """Load a folder: a whole model, or an adapter on the job's base."""
    if job.setting("parameters") == "full":
        import transformers

        family = {"CAUSAL_LM": "AutoModelForCausalLM"}.get(
            task, "AutoModelForSequenceClassification"
        )
        model = getattr(transformers, family).from_pretrained(
            folder, dtype="auto", use_safetensors=True, local_files_only=True
        )
        return _on_device(model)
    from peft import PeftModel

    base = load_base(replace(job, resume=""), task)
    model = PeftModel.from_pretrained(base, folder)
    return _on_device(model) if job.setting("bits") == 16 else model


def _on_device(model: Any) -> Any:
    import torch

    return model.to("cuda" if torch.cuda.is_available() else "cpu")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]) or 0)

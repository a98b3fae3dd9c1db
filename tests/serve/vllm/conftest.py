"""The tiny Llama that knows four answers by heart, made once for each worker."""

from pathlib import Path

import pytest

from tests.serve.vllm.lora import make_lora
from tests.serve.vllm.memorised import make_memorised_llama


@pytest.fixture(scope="session")
def memorised(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model's folder, named tiny, beside that of an adapter for it; only read."""
    import torch

    folder = tmp_path_factory.mktemp("models") / "tiny"
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # two wait for each other most of the time: 10 s instead of 2
    make_memorised_llama(folder)
    torch.set_num_threads(threads)
    make_lora(folder.with_name("adapter"), folder)
    return folder

"""Stages and reasons, read from lines that vLLM 0.32 wrote."""

import pytest

from ragkit_models.serve.log import reason, stage

# As it prints its configuration in every run; none of these words is a reason.
CONFIGURATION = (
    "(EngineCore pid=9) INFO 11-21 06:07:58 [core.py:133] Initializing a V1 LLM engine (v0.32.0)"
    " with config: model='m', speculative_config=None, trust_remote_code=False,"
    " kv_cache_dtype=auto, compilation_config={'mode': 3, 'cudagraph_mode': 'NONE'}"
)
LAST = (
    "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"
)
ERROR = "(Worker pid=15) ERROR 11-21 06:14:45 [multiproc_executor.py:953] "


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (CONFIGURATION, "starting the engine"),
        (
            "(Worker pid=1) INFO [cpu_model_runner.py:68] Starting to load model m...",
            "loading weights",
        ),
        ("Loading safetensors checkpoint shards:   0% Completed | 0/1", "loading weights"),
        ("INFO [cpu_model_runner.py:87] Warming up model for the compilation...", "compiling"),
        ("INFO [kv_cache_utils.py:2327] CPU KV cache size: 2,097,152 tokens", "measuring memory"),
        ("Capturing CUDA graphs (mixed prefill-decode, PIECEWISE):  88%", "capturing graphs"),
        ("INFO [entry.py:140] Starting vLLM server on http://127.0.0.1:1", "opening the server"),
        ("WARNING Attempted to load weight norm.weight with dtype torch.float32", ""),
    ],
)
def test_stage(line: str, expected: str) -> None:
    assert stage(line) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "ValueError: Available memory on node 0 (8.69/10.21 GiB) on kv cache allocation is less"
            " than requested memory for kv (100.0 GiB).",
            "there is not enough memory",
        ),
        ("torch.OutOfMemoryError: CUDA out of memory.", "there is not enough memory"),
        ("OSError: [Errno 98] Address already in use", "the address is taken"),
        (
            "huggingface_hub.errors.LocalEntryNotFoundError: Cannot find an appropriate cached",
            "the model is not in the local cache",
        ),
        (
            "  Value error, The repository m contains custom code which must be executed to load",
            "the model comes with its own code",
        ),
        ("RuntimeError: Cannot find any model weights with `m`", "there are no safetensors"),
        (
            "  Value error, The checkpoint you are trying to load has model type `x` but"
            " Transformers does not recognize this architecture. [type=value_error, input_value=A",
            "this engine does not know the model's architecture",
        ),
        (
            "  Value error, User-specified max_model_len (100000) is greater than the derived",
            "--max-model-len is above what the model was made for",
        ),
        ("api_server.py: error: unrecognized arguments: --x", "this vLLM does not know an option"),
    ],
)
def test_a_known_reason_has_its_remedy(line: str, expected: str) -> None:
    assert reason([CONFIGURATION, ERROR + line, LAST]).startswith(expected)


def test_an_unknown_reason_is_the_last_error_that_says_something() -> None:
    lines = [CONFIGURATION, ERROR + "ValueError: no luck", "INFO: more", LAST, "  warnings.warn("]
    assert reason(lines) == "the log ends with: ValueError: no luck"
    assert reason([CONFIGURATION, "last words", ""]) == "the log ends with: last words"
    assert reason([]) == "the log is empty"

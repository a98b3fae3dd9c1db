"""The options of `ragkit model serve`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

Model = Annotated[
    str | None, typer.Argument(help="A model's folder, its name on the hub, or a .gguf file.")
]
Extra = Annotated[
    list[str] | None, typer.Argument(help="After --: further options for the engine itself.")
]
Engine = Annotated[Literal["vllm", "llamacpp"], typer.Option(help="Program that runs the model.")]
Name = Annotated[str | None, typer.Option(help="Name of the model for clients.")]
Host = Annotated[str, typer.Option(help="Address to listen on.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free one.")]
UnixSocket = Annotated[
    Path | None, typer.Option(help="Listen on a unix socket at this path instead of a port.")
]
AllowRemote = Annotated[
    bool, typer.Option("--allow-remote", help="Allow an address that other machines can reach.")
]
ApiKeyFile = Annotated[
    Path | None,
    typer.Option(
        help="File with the key, created with a new key if missing (default: RAGKIT_LLM_API_KEY)."
    ),
]
Quantization = Annotated[
    str | None,
    typer.Option(help="awq, gptq, fp8, int8, compressed-tensors, bitsandbytes or gguf."),
]
MaxModelLen = Annotated[
    int | None,
    typer.Option(min=1, help="Maximum number of tokens of prompt and answer together."),
]
MaxNumSeqs = Annotated[
    int | None, typer.Option(min=1, help="Maximum number of concurrent answers.")
]
MaxNumQueuedReqs = Annotated[
    int | None,
    typer.Option(
        min=1, help="Maximum number of running and waiting requests; more are refused with 503."
    ),
]
ShutdownTimeout = Annotated[
    int,
    typer.Option(min=0, help="Seconds that running answers may take when the server is stopped."),
]
StartTimeout = Annotated[int, typer.Option(min=1, help="Seconds allowed for starting.")]
MaxRestarts = Annotated[
    int, typer.Option(min=0, help="Maximum number of restarts after consecutive crashes.")
]
GpuMemoryUtilization = Annotated[float | None, typer.Option(min=0.05, max=1.0)]
TensorParallelSize = Annotated[
    int, typer.Option(min=1, help="Number of GPUs that share each layer.")
]
PipelineParallelSize = Annotated[
    int, typer.Option(min=1, help="Number of groups of layers, each on its own GPUs.")
]
DataParallelSize = Annotated[int, typer.Option(min=1, help="Number of copies of the model.")]
Dtype = Annotated[str | None, typer.Option(help="auto, bfloat16, float16 or float32.")]
KvCacheDtype = Annotated[str | None, typer.Option(help="auto or fp8.")]
CpuKvCacheGib = Annotated[int | None, typer.Option(min=1, help="GiB of KV cache on a CPU.")]
CpuThreadsBind = Annotated[
    str | None, typer.Option(help="CPU cores to use, such as 0-7; nobind for no binding.")
]
Lora = Annotated[
    list[str] | None, typer.Option(metavar="NAME=FOLDER", help="LoRA adapter (repeatable).")
]
SpeculativeNgramTokens = Annotated[
    int, typer.Option(min=0, max=32, help="Number of tokens to speculate from the prompt.")
]
StructuredOutputs = Annotated[
    str | None, typer.Option(help="Backend for structured output: xgrammar or guidance.")
]
ReasoningParser = Annotated[
    str | None,
    typer.Option(help="Parser that separates a thinking model's reasoning, such as qwen3."),
]
ToolCallParser = Annotated[
    str | None, typer.Option(help="Parser for tool calls, such as hermes or llama3_json.")
]
ChatTemplate = Annotated[Path | None, typer.Option(exists=True, dir_okay=False)]
Revision = Annotated[str | None, typer.Option(help="Revision of a model from the hub.")]
LoadFormat = Annotated[
    str,
    typer.Option(help="Format of the weights; formats other than safetensors may run code."),
]
EnforceEager = Annotated[bool, typer.Option("--enforce-eager", help="Start faster but run slower.")]
TrustRemoteCode = Annotated[
    bool, typer.Option("--trust-remote-code", help="Run code that comes with the model.")
]
Image = Annotated[str | None, typer.Option(help="Container image to run vLLM from.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Hide the server's log.")]
Advice = Annotated[
    bool, typer.Option("--advice", help="Explain which options help when, and exit.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the exact command and exit.")]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print the command, or the ready message, as JSON.")
]

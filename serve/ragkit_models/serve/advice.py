"""Advice on vLLM's options: when each helps, and which of the chosen ones do not help here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ragkit_models.serve.options import ServeOptions

ADVICE: Final = {
    "prefix caching": "always on here: questions about the same passages share their beginning,"
    " and ragkit orders its prompts for it (docs.vllm.ai, Automatic Prefix Caching).",
    "chunked prefill": "always on here: long prompts are read in pieces between the tokens of"
    " running answers, so that those do not stall (docs.vllm.ai, Optimization and Tuning).",
    "--speculative-ngram-tokens": "pays where answers repeat their sources word for word and few"
    " run at once; with many at once it costs throughput. Try 4, and measure both ways with"
    " `vllm bench serve`. Requests with min_p are refused then (vLLM 0.32; docs.vllm.ai,"
    " Speculative Decoding).",
    "--kv-cache-dtype fp8": "halves the KV cache: twice the context or the concurrency in the same"
    " memory, at a small loss of accuracy; for GPUs from compute capability 8.9 on"
    " (docs.vllm.ai, Quantized KV Cache).",
    "--structured-outputs": "JSON and regex output needs no option: vLLM chooses the backend by the"
    " schema. Name xgrammar or guidance only to force one (docs.vllm.ai, Structured Outputs).",
    "--tensor-parallel-size": "splits each layer over the GPUs of one machine: for a model that is"
    " too large for one. Where one is enough, two servers behind one nginx serve more"
    " (docs.vllm.ai, Parallelism and Scaling).",
    "--pipeline-parallel-size": "splits the layers over machines, or over GPUs that have no"
    " fast link to each other.",
    "--quantization": "a 4-bit checkpoint (awq, gptq, compressed-tensors) is smallest and speeds up"
    " few answers at a time; fp8 and int8 speed up many. `ragkit model plan` says what fits.",
    "--lora": "serves fine-tuned variants beside the model; clients name them as the model.",
}


def doubts(options: ServeOptions, *, cpu: bool) -> Iterator[str]:
    """Yield a line for each chosen option that does not help, or has no effect, on this machine."""
    if cpu and (options.kv_cache_dtype or "").startswith("fp8"):
        yield "--kv-cache-dtype fp8 saves memory on a CPU, but no time: leave it out if you can"
    if cpu and options.gpu_memory_utilization is not None:
        yield "--gpu-memory-utilization yields to --cpu-kv-cache-gib on a CPU: set the latter"
    if cpu and options.tensor_parallel_size > 1:
        yield "--tensor-parallel-size on a CPU takes one NUMA node each: `lscpu` counts them"
    if not cpu and options.cpu_kv_cache_gib is not None:
        yield "--cpu-kv-cache-gib has no effect on a GPU: use --gpu-memory-utilization"
    if options.speculative_ngram_tokens and (options.max_num_seqs or 256) > 16:
        yield (
            "--speculative-ngram-tokens costs throughput when many answers run at once: set"
            " --max-num-seqs to 16 or less, or leave it out"
        )

"""Serving: what ragkit adds to a server's time, and vLLM against transformers in process."""

from benchmarks import serving_added, serving_engines


def run() -> str:
    return "\n".join(["## Serving\n", serving_added.section(), serving_engines.section()])

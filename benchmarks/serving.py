"""Serving: what ragkit adds to a model server's own time."""

from benchmarks import serving_added


def run() -> str:
    return "\n".join(["## Serving\n", serving_added.section()])

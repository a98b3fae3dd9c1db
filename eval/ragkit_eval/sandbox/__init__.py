"""Runs programs that nobody has read, confined by the kernel, and believes only a nonce."""

from ragkit_eval.sandbox.run import Limits, Outcome, Sandbox

__all__ = ["Limits", "Outcome", "Sandbox"]

"""Run untrusted programs confined by the kernel; success is proved by a nonce."""

from ragkit_eval.sandbox.run import Limits, Outcome, Sandbox

__all__ = ["Limits", "Outcome", "Sandbox"]

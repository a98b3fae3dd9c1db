"""Explain why a document answers a question, or which stage loses it, and what helps.

It repeats the search, and ranks the document exactly in both legs. It changes nothing.
"""

from ragkit.why.steps import Step, Why

__all__ = ["Step", "Why"]

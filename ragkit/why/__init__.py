"""Why a document was found for a question, or where on the way it was lost, and what helps.

It walks the very search that would be made, and asks both legs besides how they rank the document
exactly. It changes nothing.
"""

from ragkit.why.steps import Step, Why

__all__ = ["Step", "Why"]

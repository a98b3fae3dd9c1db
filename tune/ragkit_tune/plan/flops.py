"""Count the floating-point operations of training: a multiplication and an addition are two.

Kaplan et al. 2020, arXiv:2001.08361, section 2.1, and Hoffmann et al. 2022, arXiv:2203.15556,
appendix F: 2 P for a token forward and twice that backward, P without embeddings. The attention's
scores: Chowdhery et al. 2022, arXiv:2204.02311, appendix B.
"""

from __future__ import annotations

from ragkit_tune.plan.memory import Passes, Training, trained_parameters
from ragkit_tune.plan.shape import Shape


def step_flops(shape: Shape, training: Training, passes: Passes) -> float:
    """Return the operations of a forward and backward pass: 6 P + 12 L h s for each token.

    Checkpointing repeats the forward pass: 8 P + 16 L h s. So does the loss cached-mnrl. A frozen
    parameter has no gradient of its own: 4 P, and 6 for each parameter of an adapter.
    """
    forwards = 1 + training.checkpointing + training.cached
    added = 0 if training.full else trained_parameters(shape, training)
    frozen = 0 if training.full else shape.active
    weights = 2 * (forwards + 2) * (shape.active + added) - 2 * frozen
    scores = 4 * (forwards + 2) * shape.layers * shape.query
    return float(
        sum(sequences * tokens * (weights + scores * tokens) for sequences, tokens in passes)
    )

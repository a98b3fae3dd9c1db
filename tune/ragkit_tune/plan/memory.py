"""Compute the memory of a training step on each device, from what it has to hold.

Parameters and their states: Rajbhandari et al. 2020, ZeRO, arXiv:1910.02054, section 3.
Activations: Korthikanti et al. 2022, arXiv:2205.05198, section 4, but counted by the values that
each layer keeps, because the paper's 34 s b h holds for GPT-3's layers in 16 bits. Quantized
weights: Dettmers et al. 2023, QLoRA, arXiv:2305.14314.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from ragkit_tune.plan.shape import Shape

Passes = Sequence[tuple[int, int]]  # of a micro-batch: sequences and tokens of each
Sharding = Literal["ddp", "fsdp", "zero1", "zero2", "zero3"]

# Bytes of a frozen parameter of a layer's matrix. NF4 is 4 bits, a scale of 8 bits for 64 weights,
# and one of 32 bits for 256 scales (QLoRA, section 3: double quantization, which the worker sets).
_FROZEN: Final = {16: 2.0, 8: 1.0, 4: (4 + 8 / 64 + 32 / (64 * 256)) / 8}
_STATES: Final = {"adamw": 8, "adamw-8bit": 2}  # two moments (Dettmers et al., arXiv:2110.02861)


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """How a step is made: what decides memory beside the architecture and the rows.

    `half` is computing in 16 bits with weights in 32, as autocast does. `accumulated` is more than
    one micro-batch in a step. `cached` is the loss cached-mnrl, which keeps the activations of one
    pass at a time. `wide_frozen` is frozen weights in 32 bits, as sentence-transformers has them.
    `references` are the parameters of another model that only predicts.
    """

    half: bool
    on_gpu: bool
    parameters: str = "full"
    bits: int = 16
    rank: int = 16
    optimizer: str = "adamw"
    checkpointing: bool = False
    accumulated: bool = False
    cached: bool = False
    pooled: bool = False
    wide_frozen: bool = False
    gpus: int = 1
    sharding: Sharding = "ddp"
    references: int = 0

    @property
    def full(self) -> bool:
        """Tell whether all parameters are trained."""
        return self.parameters == "full"

    @property
    def autocast(self) -> bool:
        """Tell whether 32-bit weights compute in 16 bits; DeepSpeed's ZeRO has 16-bit weights."""
        return self.half and not self.sharding.startswith("zero")

    @property
    def value_bytes(self) -> int:
        """Return the bytes of a computed value."""
        return 2 if self.half else 4


@dataclass(frozen=True, slots=True)
class Memory:
    """The bytes on each device at the peak of a step, by what they are for.

    `gradients` are all that exist in a step. With one micro-batch they come as the activations go,
    so that `peak` is less than the sum. `working` is what a layer or the output needs for a moment.
    """

    weights: int
    gradients: int
    optimizer: int
    activations: int
    logits: int
    working: int
    peak: int


def trained_parameters(shape: Shape, training: Training) -> int:
    """Count the parameters that are trained.

    `rank` is the number of virtual tokens of prompts (Lester et al. 2021, arXiv:2104.08691) and
    prefixes (Li and Liang 2021, arXiv:2101.00190).
    """
    by_kind = {
        "full": shape.parameters,
        "lora": shape.lora_parameters(training.rank),
        "prompt": training.rank * shape.hidden,
        "prefix": training.rank * 2 * shape.layers * shape.key,
    }
    return by_kind[training.parameters]


def state_bytes(shape: Shape, training: Training) -> tuple[int, int, int]:
    """Return the bytes of weights, gradients and optimizer on each device.

    Adam takes 16 bytes a trained parameter, in 32 bits (4 + 4 + 8) as in mixed precision (2 + 2 of
    16 bits, 12 of weights and moments in 32; with autocast 4 + 4 + 8): ZeRO, section 3.1. With N
    devices ZeRO-1 divides the optimizer's part, ZeRO-2 the gradients too, ZeRO-3 and FSDP all
    (section 5 and figure 1).
    """
    trained = trained_parameters(shape, training)
    moments = _STATES[training.optimizer]
    each = (4, 4, moments)
    if training.half and training.sharding.startswith("zero"):
        each = (2, 2, 4 + moments)
    weights, gradients, optimizer = (float(trained * size) for size in each)
    weights += _frozen_bytes(shape, training)
    wide = training.full or training.wide_frozen
    if wide and training.autocast and training.sharding == "ddp":
        weights += 2 * shape.linear  # autocast's copies, which the backward pass needs too
    divided = {"ddp": 0, "zero1": 1, "zero2": 2, "zero3": 3, "fsdp": 3}[training.sharding]
    weights /= training.gpus if divided >= 3 else 1
    gradients /= training.gpus if divided >= 2 else 1
    optimizer /= training.gpus if divided >= 1 else 1
    weights += training.references * (2 if training.half else 4)
    return round(weights), round(gradients), round(optimizer)


def _frozen_bytes(shape: Shape, training: Training) -> float:
    """Return the bytes of the parameters that are not trained.

    Embeddings, norms and the output layer stay in 16 bits when matrices are quantized.
    """
    if training.full:
        return 0
    if training.bits == 16:
        return shape.parameters * (4 if training.wide_frozen else training.value_bytes)
    other = shape.parameters - shape.linear
    return other * training.value_bytes + shape.linear * _FROZEN[training.bits]


def layer_bytes(shape: Shape, training: Training) -> tuple[float, float]:
    """Return what a layer keeps for backward: bytes of a token, and of a pair of tokens.

    For a layer of GPT-3 or BERT in 16 bits this is the paper's 34 h a token: h each for the inputs
    of two norms, their outputs, query, key, value, and the attention's output, 2 x 4 h of the
    feed-forward part, of 2 bytes, and two masks of dropout, of 1 byte. A pair of tokens has 5 bytes
    a head where scores are stored: the softmax, its mask, and both multiplied (equation 2). Flash
    attention stores none.

    In 32 bits a value has 4 bytes, and on a processor a mask is a value. There, attention with
    dropout stores the scores. Norms compute in 32 bits, but for layer norms of 16-bit weights. RMS
    norms keep a second value; a gated feed-forward part keeps four of its inner values, and keys
    that heads share are repeated. Adapters keep the input of each matrix, and a frozen norm keeps
    no product.
    """
    size = training.value_bytes
    mask = 1 if training.on_gpu else size
    norms = shape.layer_norms + shape.rms_norms
    narrow = training.half and not training.autocast
    token = (2.0 if narrow else 4.0) * shape.layer_norms + 4.0 * shape.rms_norms
    token += (2.0 if narrow else 4.0) * shape.rms_norms * training.full
    repeated = shape.key * shape.heads not in {shape.query, shape.query * shape.heads}
    token += size * 2 * (shape.query + (shape.query if repeated else shape.key))
    token += size * shape.inner * (3 if shape.gated else shape.activation_steps)
    token += mask * 2 * shape.hidden * shape.hidden_dropout
    if training.full or not training.half:
        token += size * (norms + shape.inner)  # inputs of matrices, of which norms share some
    elif training.parameters == "lora":
        token += size * shape.inputs  # each adapter casts its own
    if training.parameters == "lora":
        token += size * training.rank * shape.matrices
    pair = float(size)  # the mask of padding, in the type of the values
    if shape.stores_scores and training.on_gpu:
        pair = shape.heads * (2.0 * size + mask if shape.attention_dropout else 4.0 + size)
    elif shape.stores_scores or (shape.attention_dropout and not training.on_gpu):
        # PyTorch's attention in several steps computes in 32 bits, whatever it is given.
        pair = shape.heads * (12.0 if shape.attention_dropout else 4.0)
        token += (4 - size) * (shape.query + 2 * shape.key)
    return token, pair


def activation_bytes(shape: Shape, training: Training, passes: Passes) -> list[int]:
    """Return the bytes of activations that each pass keeps until the backward pass.

    With checkpointing they are the inputs of all layers: s b h L values (Korthikanti et al.,
    section 5; Chen et al. 2016, arXiv:1604.06174), of 32 bits in a full training by autocast.
    """
    token, pair = layer_bytes(shape, training)
    ends = _ends_bytes(shape, training)
    if training.checkpointing:
        wide = training.full and training.autocast
        token = (4 if wide else training.value_bytes) * shape.hidden
        pair = 0
    return [
        round(sequences * tokens * (shape.layers * (token + pair * tokens) + ends))
        for sequences, tokens in passes
    ]


def _ends_bytes(shape: Shape, training: Training) -> float:
    """Return what embeddings, the last norm and pooling keep for a token."""
    size = training.value_bytes
    if shape.layer_norms and not shape.language_model:
        mask = (1 if training.on_gpu else size) * shape.hidden_dropout
        pooled = 4 * training.pooled
        return float(shape.hidden * (4 + 4 + mask + pooled))
    return float(shape.hidden * (4 + 4 * training.full + size + 4 * training.pooled))


def logits_bytes(shape: Shape, training: Training, passes: Passes) -> int:
    """Return the bytes of the output layer of language models at the peak of the loss.

    For each token and word of the vocabulary: logits, their softmax, its gradient twice; 16 bytes
    in 32 bits. In 16 bits 2 + 4 + 4 = 10 in the forward pass, for logits, logits in 32 bits and the
    softmax, and 2 + 4 + 4 + 4 = 14 in the backward pass.
    """
    if not shape.language_model:
        return 0
    tokens = sum(sequences * tokens for sequences, tokens in passes)
    return tokens * shape.vocabulary * (14 if training.half else 16)


def working_bytes(shape: Shape, training: Training, passes: Passes) -> int:
    """Return what the backward pass of a layer needs for a moment.

    That is the gradients of its values, and with checkpointing its activations, made anew.
    """
    size = training.value_bytes
    token_bytes, pair = layer_bytes(shape, training)
    values = size * ((3 if shape.gated else 2) * shape.inner + 2 * shape.hidden)
    scores = 2 * size * shape.heads if pair > size else 0
    needs = []
    for sequences, tokens in passes:
        token = max(values, scores * tokens + 4 * size * shape.query)
        recomputed = (token_bytes + pair * tokens) * training.checkpointing
        needs.append(sequences * tokens * (token + recomputed))
    return round(max(needs))


def step_memory(shape: Shape, training: Training, passes: Passes) -> Memory:
    """Compute the memory of a step on each device; `passes` are those of a micro-batch.

    The backward pass takes the passes from the last to the first. Its peak is at its start, when
    all activations and few gradients are there, or when it takes the next pass, or at its end; in
    between both change evenly. Gradients of earlier micro-batches are there all the time. Where
    gradients are added to such as exist, the largest tensor has two of them for a moment.
    """
    weights, gradients, optimizer = state_bytes(shape, training)
    stored = activation_bytes(shape, training, passes)
    if training.cached:  # one by one (Gao et al. 2021, arXiv:2101.06983)
        stored = [max(stored)]
    logits = logits_bytes(shape, training, passes)
    working = max(0, working_bytes(shape, training, passes) - logits)
    head = 4 * shape.vocabulary * shape.hidden * training.full if shape.language_model else 0
    largest = 4 * shape.largest * training.full
    devices = 0
    if training.gpus > 1 and training.sharding == "ddp":
        devices = gradients  # its buckets hold them once more
    elif training.gpus > 1 and training.sharding in {"fsdp", "zero3"}:
        devices = 2 * training.value_bytes * shape.trunk // shape.layers  # gathered ahead
    present = gradients + largest if training.accumulated or training.cached else 0
    doubled = largest if len(passes) > 1 or shape.tied or present else 0
    next_working = working_bytes(shape, training, passes[:-1]) if len(stored) > 1 else 0
    backward = max(
        max(head, present) + sum(stored) + logits + working,
        gradients + sum(stored[:-1]) + next_working,
        gradients + doubled + sum(stored[:-2]),
    )
    peak = weights + optimizer + backward + devices
    return Memory(weights, gradients, optimizer, sum(stored), logits, working + devices, peak)

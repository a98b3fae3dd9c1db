"""What of an architecture decides the memory and operations of a training step.

The architecture is built on a device without memory, from its config.json; no weights are read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ragkit.model_size.config import layer_configs, parse_config
from ragkit.model_size.size import empty_model

if TYPE_CHECKING:
    from torch.nn import Module, Parameter
    from transformers import PretrainedConfig

_LAYER: Final = re.compile(r"(?:^|\.)(?:layers?|h|blocks?)\.(\d{1,4})\.")
# Activation functions that transformers writes in several steps, each of which keeps its input.
_STEPS: Final = {"gelu_new": 4, "gelu_fast": 6, "quick_gelu": 2, "gelu_accurate": 4}

# Tables, which are looked up, and what is applied to one token of a text.
_NOT_MULTIPLIED: Final = ("embed", "wte.", "wpe.", "pooler")


@dataclass(frozen=True, slots=True)
class Shape:
    """The numbers of an architecture: sizes, parameters, and what its layers keep for backward.

    `linear` are the parameters of the layers' matrices, `trunk` all parameters of the layers,
    `parameters` all of the model, `largest` those of its largest tensor. `active` are those that
    one token is multiplied with: without embeddings, and of experts only those that it is sent to.
    `layer_norms` and `rms_norms` are the values that the norms of a layer read for a token, by the
    kind of norm. `inputs` and `outputs` are the sums over the matrices of a layer.
    """

    layers: int
    hidden: int
    inner: int
    query: int  # heads x size of a head
    key: int  # the same for keys, which may have fewer heads
    heads: int
    vocabulary: int
    parameters: int
    trunk: int
    linear: int
    active: int
    largest: int
    layer_norms: int
    rms_norms: int
    inputs: int
    outputs: int
    matrices: int
    gated: bool
    activation_steps: int
    hidden_dropout: bool
    attention_dropout: bool
    stores_scores: bool
    language_model: bool
    tied: bool

    def lora_parameters(self, rank: int) -> int:
        """Return the parameters of adapters beside every matrix: r (in + out) each.

        Hu et al. 2021, arXiv:2106.09685.
        """
        return self.layers * rank * (self.inputs + self.outputs)


def read_shape(config: dict[str, Any], kind: str) -> Shape:
    """Read a config.json's values for a kind of recipe. Raises UsageError, ModelError."""
    parsed = parse_config(config)
    text: PretrainedConfig = parsed.get_text_config()
    model = empty_model(_family(kind), text)
    parameters = dict(model.named_parameters())
    layers = int(text.num_hidden_layers)
    layer = layer_configs(text)[-1]
    hidden = int(layer.hidden_size)
    heads = int(_first(layer, "num_attention_heads") or 1)
    head = int(_first(layer, "head_dim") or hidden // heads)
    key_heads = int(_first(layer, "num_key_value_heads") or heads)
    modules = _last_layer(model)
    norms = _norms(modules, hidden, heads, key_heads)
    matrices = _matrices(modules)
    sizes = list(matrices.values())
    inner, gated = _feed_forward(layer, matrices)
    trunk = [w for name, w in parameters.items() if _LAYER.search(name)]
    return Shape(
        layers=layers,
        hidden=hidden,
        inner=inner,
        query=heads * head,
        key=key_heads * head,
        heads=heads,
        vocabulary=int(text.vocab_size),
        parameters=_count(parameters),
        trunk=sum(weights.numel() for weights in trunk),
        linear=sum(weights.numel() for weights in trunk if weights.dim() in {2, 3}),
        active=_active(parameters, text),
        largest=max(weights.numel() for weights in parameters.values()),
        layer_norms=norms[0],
        rms_norms=norms[1],
        inputs=sum(into for into, _ in sizes),
        outputs=sum(out for _, out in sizes),
        matrices=len(matrices),
        gated=gated,
        activation_steps=_STEPS.get(str(_first(text, "hidden_act", "activation_function")), 1),
        hidden_dropout=bool(
            _first(text, "hidden_dropout_prob", "hidden_dropout", "resid_pdrop", "dropout")
        ),
        attention_dropout=bool(
            _first(text, "attention_probs_dropout_prob", "attention_dropout", "attn_pdrop")
        ),
        stores_scores=bool(_first(text, "attn_logit_softcapping")),
        language_model=kind == "adapter",
        tied=kind == "adapter" and bool(getattr(text, "tie_word_embeddings", False)),
    )


def _family(kind: str) -> type:
    import transformers

    names = {"embedder": "AutoModel", "adapter": "AutoModelForCausalLM"}
    family: type = getattr(transformers, names.get(kind, "AutoModelForSequenceClassification"))
    return family


def _count(parameters: dict[str, Parameter]) -> int:
    return sum(weights.numel() for weights in parameters.values())


def _active(parameters: dict[str, Parameter], config: PretrainedConfig) -> int:
    """Count the parameters that a token is multiplied with; a tied embedding is the output layer.

    Embeddings are looked up, so they cost no operations: Kaplan et al. 2020, arXiv:2001.08361,
    section 2.1.
    """
    chosen = int(getattr(config, "num_experts_per_tok", None) or 1)
    experts = int(_first(config, "num_local_experts", "num_experts", "n_routed_experts") or chosen)
    count = 0
    for name, weights in parameters.items():
        if weights.dim() == 3 and ".experts." in name:
            count += weights.numel() * chosen // experts
        elif not any(word in name for word in _NOT_MULTIPLIED):
            count += weights.numel()
    tied = getattr(config, "tie_word_embeddings", False)
    has_head = any(name.startswith("lm_head") for name in parameters)
    if (
        tied
        and not has_head
        and any(name.startswith(("model.", "transformer.")) for name in parameters)
    ):
        count += int(config.vocab_size) * int(config.hidden_size)
    return count


def _last_layer(model: Module) -> dict[str, Module]:
    """Return the modules of the last layer; in mixtures of experts the first ones differ."""
    layers: dict[int, dict[str, Module]] = {}
    for name, module in model.named_modules():
        if match := _LAYER.search(name):
            layers.setdefault(int(match[1]), {})[name] = module
    return layers[max(layers)] if layers else {}


def _norms(layer: dict[str, Module], hidden: int, heads: int, kv_heads: int) -> tuple[int, int]:
    """Add up what layer norms and RMS norms read for a token."""
    values = [0, 0]
    for name, module in layer.items():
        weights = getattr(module, "weight", None)
        if "norm" not in type(module).__name__.lower() or weights is None:
            continue
        size = weights.numel()
        if size < hidden:  # of each head's queries or keys
            size *= kv_heads if "k_" in name.rpartition(".")[2] else heads
        values["rms" in type(module).__name__.lower()] += size
    return values[0], values[1]


def _matrices(layer: dict[str, Module]) -> dict[str, tuple[int, int]]:
    """Return inputs and outputs of a layer's linear modules, by their names in lower case."""
    sizes = {}
    for name, module in layer.items():
        weights = getattr(module, "weight", None)
        if weights is None or weights.dim() != 2:
            continue
        swapped = type(module).__name__ == "Conv1D"  # GPT-2 stores inputs first
        out, into = tuple(weights.shape)[:: -1 if swapped else 1]
        sizes[name.lower()] = (int(into), int(out))
    return sizes


def _feed_forward(
    config: PretrainedConfig, matrices: dict[str, tuple[int, int]]
) -> tuple[int, bool]:
    """Return the inner values of a token, over all experts that it is sent to, and if gated."""
    hidden = int(config.hidden_size)
    inner = int(_first(config, "intermediate_size", "n_inner", "ffn_dim") or 4 * hidden)
    if chosen := int(_first(config, "num_experts_per_tok") or 0):
        expert = int(_first(config, "moe_intermediate_size") or inner)
        shared = int(_first(config, "shared_expert_intermediate_size") or 0)
        return chosen * expert + shared, True
    double = {
        name.rpartition(".")[2] for name, size in matrices.items() if size == (hidden, 2 * inner)
    }
    gated = list(matrices.values()).count((hidden, inner)) > 1
    return inner, gated or bool(double & {"gate_up_proj", "wi"})


def _first(config: PretrainedConfig, *names: str) -> Any:
    """Return the first of these values that the configuration has."""
    return next((v for name in names if (v := getattr(config, name, None)) is not None), None)

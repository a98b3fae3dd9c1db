"""Configurations of known models and the numbers of parameters that are published for them.

Only what the number depends on is repeated here. Where each figure comes from:

hub: `safetensors.total` of the Hugging Face hub's model API, as third parties have written it down
    (for Llama 3.1, Falcon 180B, OLMo 2 and SmolLM3 with the revision, in October 2026).
memory: the figure on the model's page on the hub, written down from memory.
Otherwise the paper that is named.
"""

from typing import Any, Final, NamedTuple


class Known(NamedTuple):
    config: dict[str, Any]
    parameters: int
    source: str
    exact: bool = True  # otherwise the figure is rounded: 0.5% is allowed


def _llama(
    hidden: int, inner: int, layers: int, heads: int, kv: int, vocabulary: int, **more: Any
) -> dict[str, Any]:
    return {
        "model_type": "llama",
        "hidden_size": hidden,
        "intermediate_size": inner,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv,
        "vocab_size": vocabulary,
        **more,
    }


def _gpt_oss(layers: int, experts: int) -> dict[str, Any]:
    return _llama(2880, 2880, layers, 64, 8, 201088) | {
        "model_type": "gpt_oss",
        "head_dim": 64,
        "num_local_experts": experts,
        "num_experts_per_tok": 4,
        "attention_bias": True,
        "sliding_window": 128,
        "tie_word_embeddings": False,
    }


_UNTIED: Final = {"tie_word_embeddings": False}
_TIED: Final = {"tie_word_embeddings": True}

KNOWN: Final[dict[str, Known]] = {
    # The hub counts 2,048 more: 32 tables of 64 frequencies, which are no parameters.
    "meta-llama/Llama-2-7b-hf": Known(
        _llama(4096, 11008, 32, 32, 32, 32000), 6_738_415_616, "hub, 6,738,417,664"
    ),
    "meta-llama/Llama-2-13b-hf": Known(
        _llama(5120, 13824, 40, 40, 40, 32000), 13_015_864_320, "hub, 13,015,866,880"
    ),
    "meta-llama/Llama-3.1-8B": Known(_llama(4096, 14336, 32, 32, 8, 128256), 8_030_261_248, "hub"),
    "meta-llama/Llama-3.1-70B": Known(
        _llama(8192, 28672, 80, 64, 8, 128256), 70_553_706_496, "hub"
    ),
    "meta-llama/Llama-3.1-405B": Known(
        _llama(16384, 53248, 126, 128, 8, 128256), 405_853_388_800, "hub"
    ),
    "meta-llama/Llama-3.2-1B": Known(
        _llama(2048, 8192, 16, 32, 8, 128256, head_dim=64, **_TIED), 1_235_814_400, "memory"
    ),
    "meta-llama/Llama-3.2-3B": Known(
        _llama(3072, 8192, 28, 24, 8, 128256, head_dim=128, **_TIED), 3_212_749_824, "memory"
    ),
    "TinyLlama/TinyLlama-1.1B-Chat-v1.0": Known(
        _llama(2048, 5632, 22, 32, 4, 32000), 1_100_048_384, "memory"
    ),
    "HuggingFaceTB/SmolLM3-3B-Base": Known(
        _llama(2048, 11008, 36, 16, 4, 128256, **_TIED) | {"model_type": "smollm3"},
        3_075_098_624,
        "hub",
    ),
    "allenai/OLMo-2-1124-7B": Known(
        _llama(4096, 11008, 32, 32, 32, 100352) | {"model_type": "olmo2"}, 7_298_617_344, "hub"
    ),
    "allenai/OLMo-2-1124-13B": Known(
        _llama(5120, 13824, 40, 40, 40, 100352) | {"model_type": "olmo2"}, 13_716_198_400, "hub"
    ),
    "tiiuae/falcon-180B": Known(
        {
            "model_type": "falcon",
            "hidden_size": 14848,
            "num_hidden_layers": 80,
            "num_attention_heads": 232,
            "num_kv_heads": 8,
            "vocab_size": 65024,
            "new_decoder_architecture": True,
            "bias": False,
            **_UNTIED,
        },
        179_522_565_120,
        "hub",
    ),
    "openai-community/gpt2": Known({"model_type": "gpt2"}, 124_439_808, "memory"),
    # arXiv 2304.01373, table 1: 6,444,163,072 without the embeddings, 50,432 x 4,096 each.
    "EleutherAI/pythia-6.9b": Known(
        {
            "model_type": "gpt_neox",
            "hidden_size": 4096,
            "intermediate_size": 16384,
            "num_hidden_layers": 32,
            "num_attention_heads": 32,
            "vocab_size": 50432,
            **_UNTIED,
        },
        6_444_163_072 + 2 * 50432 * 4096,
        "arXiv 2304.01373",
    ),
    "bigscience/bloom": Known(
        {
            "model_type": "bloom",
            "hidden_size": 14336,
            "n_layer": 70,
            "n_head": 112,
            "vocab_size": 250880,
        },
        176_247_000_000,
        "arXiv 2211.05100, 176,247M",
        exact=False,
    ),
    "mistralai/Mistral-7B-v0.1": Known(
        _llama(4096, 14336, 32, 32, 8, 32000) | {"model_type": "mistral"}, 7_241_732_096, "memory"
    ),
    "mistralai/Mixtral-8x7B-v0.1": Known(
        _llama(4096, 14336, 32, 32, 8, 32000) | {"model_type": "mixtral", "num_local_experts": 8},
        46_702_792_704,
        "memory",
    ),
    "google/gemma-2-9b": Known(
        _llama(3584, 14336, 42, 16, 8, 256000, head_dim=256) | {"model_type": "gemma2"},
        9_241_705_984,
        "memory",
    ),
    "google/gemma-3-1b-pt": Known(
        _llama(1152, 6912, 26, 4, 1, 262144, head_dim=256) | {"model_type": "gemma3_text"},
        999_885_952,
        "memory",
    ),
    # Reads images: 417 million parameters of SigLIP are among them.
    "google/gemma-3-4b-pt": Known(
        {
            "model_type": "gemma3",
            "text_config": _llama(2560, 10240, 34, 8, 4, 262208, head_dim=256)
            | {"model_type": "gemma3_text", "sliding_window": 1024},
            "vision_config": {
                "model_type": "siglip_vision_model",
                "hidden_size": 1152,
                "intermediate_size": 4304,
                "num_hidden_layers": 27,
                "num_attention_heads": 16,
                "image_size": 896,
                "patch_size": 14,
                "vision_use_head": False,
            },
            "mm_tokens_per_image": 256,
        },
        4_300_079_472,
        "memory",
    ),
    "microsoft/Phi-3-mini-4k-instruct": Known(
        _llama(3072, 8192, 32, 32, 32, 32064, **_UNTIED) | {"model_type": "phi3"},
        3_821_079_552,
        "memory",
    ),
    "openai/gpt-oss-20b": Known(_gpt_oss(24, 32), 20_910_000_000, "arXiv 2508.10925", exact=False),
    "openai/gpt-oss-120b": Known(
        _gpt_oss(36, 128), 116_830_000_000, "arXiv 2508.10925", exact=False
    ),
    "01-ai/Yi-6B": Known(_llama(4096, 11008, 32, 32, 4, 64000), 6_061_035_520, "memory"),
    "Qwen/Qwen2.5-0.5B": Known(
        _llama(896, 4864, 24, 14, 2, 151936, **_TIED) | {"model_type": "qwen2"},
        494_032_768,
        "memory",
    ),
    "Qwen/Qwen2.5-7B": Known(
        _llama(3584, 18944, 28, 28, 4, 152064, **_UNTIED) | {"model_type": "qwen2"},
        7_615_616_512,
        "memory",
    ),
    "Qwen/Qwen2.5-72B": Known(
        _llama(8192, 29568, 80, 64, 8, 152064, **_UNTIED) | {"model_type": "qwen2"},
        72_706_203_648,
        "memory",
    ),
    "Qwen/Qwen1.5-MoE-A2.7B": Known(
        _llama(2048, 5632, 24, 16, 16, 151936)
        | {
            "model_type": "qwen2_moe",
            "num_experts": 60,
            "moe_intermediate_size": 1408,
            "shared_expert_intermediate_size": 5632,
        },
        14_315_784_192,
        "memory",
    ),
    "Qwen/Qwen3-8B": Known(
        _llama(4096, 12288, 36, 32, 8, 151936, head_dim=128, **_UNTIED) | {"model_type": "qwen3"},
        8_190_735_360,
        "memory",
    ),
    "Qwen/Qwen3-30B-A3B": Known(
        _llama(2048, 6144, 48, 32, 4, 151936, head_dim=128, **_UNTIED)
        | {"model_type": "qwen3_moe", "num_experts": 128, "moe_intermediate_size": 768},
        30_532_122_624,
        "memory",
    ),
    "Qwen/Qwen3-235B-A22B": Known(
        _llama(4096, 12288, 94, 64, 4, 151936, head_dim=128, **_UNTIED)
        | {"model_type": "qwen3_moe", "num_experts": 128, "moe_intermediate_size": 1536},
        235_093_634_560,
        "memory",
    ),
    "zai-org/GLM-4-9B-0414": Known(
        _llama(4096, 13696, 40, 32, 2, 151552, head_dim=128, attention_bias=True, **_UNTIED)
        | {"model_type": "glm4"},
        9_400_279_040,
        "memory",
    ),
    "internlm/internlm2_5-7b": Known(
        _llama(4096, 14336, 32, 32, 8, 92544, bias=False)
        | {"model_type": "internlm2", "attn_implementation": "eager", "auto_map": {"a": "b"}},
        7_737_708_544,
        "memory",
    ),
    "deepseek-ai/DeepSeek-V2-Lite": Known(
        _llama(2048, 10944, 27, 16, 16, 102400)
        | {
            "model_type": "deepseek_v2",
            "first_k_dense_replace": 1,
            "kv_lora_rank": 512,
            "q_lora_rank": None,
            "qk_nope_head_dim": 128,
            "qk_rope_head_dim": 64,
            "v_head_dim": 128,
            "n_routed_experts": 64,
            "n_shared_experts": 2,
            "moe_intermediate_size": 1408,
            "num_experts_per_tok": 6,
        },
        15_706_484_224,
        "memory",
    ),
    # 671B in all, without the module that predicts a second token.
    "deepseek-ai/DeepSeek-V3": Known(
        {"model_type": "deepseek_v3"}, 671_000_000_000, "arXiv 2412.19437", exact=False
    ),
}

# Embedding models and a reranker's encoder; figures from memory of their pages on the hub.
ENCODERS: Final[dict[str, Known]] = {
    "BAAI/bge-m3": Known(
        {
            "model_type": "xlm-roberta",
            "hidden_size": 1024,
            "intermediate_size": 4096,
            "num_hidden_layers": 24,
            "num_attention_heads": 16,
            "vocab_size": 250002,
            "max_position_embeddings": 8194,
            "type_vocab_size": 1,
        },
        567_754_752,
        "memory",
    ),
    "BAAI/bge-large-zh-v1.5": Known(
        {
            "model_type": "bert",
            "hidden_size": 1024,
            "intermediate_size": 4096,
            "num_hidden_layers": 24,
            "num_attention_heads": 16,
            "vocab_size": 21128,
        },
        325_522_432,
        "memory",
    ),
}

_SMALL: Final = _llama(32, 48, 4, 4, 2, 64, pad_token_id=0, bos_token_id=1, eos_token_id=2)
_WINDOW: Final = {"sliding_window": 8}
_EXPERTS: Final = {
    "num_experts": 4,
    "num_local_experts": 4,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 16,
}
_LINEAR: Final = {
    "linear_num_value_heads": 4,
    "linear_num_key_heads": 2,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
    "linear_conv_kernel_dim": 4,
}

# What is special in each architecture; the rest is the small Llama's.
_SPECIAL: Final[dict[str, dict[str, Any]]] = {
    "bloom": {"n_layer": 3, "n_head": 4, "num_key_value_heads": None},
    "cohere2": _WINDOW,
    "ernie4_5": {"head_dim": 12},
    "falcon": {"multi_query": True, "new_decoder_architecture": False},
    "gemma": {"head_dim": 12},
    "gemma2": {"head_dim": 12, **_WINDOW},
    "gemma3_text": {"head_dim": 12, "num_hidden_layers": 6, **_WINDOW},
    "gemma4_text": {
        "head_dim": 8,
        "global_head_dim": 16,
        "num_hidden_layers": 12,
        "num_kv_shared_layers": 6,
        "vocab_size_per_layer_input": 64,
        "hidden_size_per_layer_input": 8,
        **_WINDOW,
    },
    "glm": {"head_dim": 16},
    "glm4": {"head_dim": 16},
    "glm4_moe": {"head_dim": 16, **_EXPERTS, "n_group": 1, "topk_group": 1},
    "gpt2": {"n_layer": 3, "n_head": 4, "n_embd": 32, "num_key_value_heads": None},
    "gpt_bigcode": {"n_layer": 3, "n_head": 4, "n_embd": 32, "multi_query": True},
    "gpt_neox": {"num_key_value_heads": None},
    "gpt_oss": {"head_dim": 12, **_EXPERTS, **_WINDOW},
    "granite": {},
    "internlm3": {"head_dim": 12},
    "llama": {"head_dim": 12},
    "minimax_m2": {"head_dim": 16, "rotary_dim": 8, **_EXPERTS},
    "mistral": {"head_dim": 12, **_WINDOW},
    "mixtral": {**_EXPERTS, "sliding_window": None},
    "olmo2": {},
    "opt": {"ffn_dim": 48, "word_embed_proj_dim": 32, "num_key_value_heads": None},
    "phi": {},
    "phi3": {},
    "qwen2": {**_WINDOW, "use_sliding_window": False},
    "qwen2_moe": {**_EXPERTS, "shared_expert_intermediate_size": 16},
    "qwen3": {"head_dim": 12},
    "qwen3_moe": {"head_dim": 12, **_EXPERTS},
    "qwen3_next": {
        "head_dim": 8,
        **_EXPERTS,
        **_LINEAR,
        "shared_expert_intermediate_size": 16,
    },
    "qwen3_5_text": {"head_dim": 8, **_LINEAR},
    "smollm3": {},
    "starcoder2": {"sliding_window": None},
}
SMALL: Final = {name: _SMALL | {"model_type": name} | special for name, special in _SPECIAL.items()}

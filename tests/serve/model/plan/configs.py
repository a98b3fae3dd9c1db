"""Configurations of known models and the numbers of parameters that are published for them.

Each figure is the total that the model's page on the Hugging Face hub shows for its safetensors
files, or the one of the paper where that is named; written down from memory of those pages, and
exact to the last digit wherever one is given. Only what the number depends on is repeated here.
"""

from typing import Any, Final, NamedTuple


class Known(NamedTuple):
    config: dict[str, Any]
    parameters: int
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


KNOWN: Final[dict[str, Known]] = {
    "meta-llama/Llama-2-7b-hf": Known(_llama(4096, 11008, 32, 32, 32, 32000), 6_738_415_616),
    "meta-llama/Llama-2-13b-hf": Known(_llama(5120, 13824, 40, 40, 40, 32000), 13_015_864_320),
    "meta-llama/Meta-Llama-3-8B": Known(_llama(4096, 14336, 32, 32, 8, 128256), 8_030_261_248),
    "meta-llama/Meta-Llama-3-70B": Known(_llama(8192, 28672, 80, 64, 8, 128256), 70_553_706_496),
    "meta-llama/Llama-3.2-1B": Known(
        _llama(2048, 8192, 16, 32, 8, 128256, head_dim=64, tie_word_embeddings=True),
        1_235_814_400,
    ),
    "meta-llama/Llama-3.2-3B": Known(
        _llama(3072, 8192, 28, 24, 8, 128256, head_dim=128, tie_word_embeddings=True),
        3_212_749_824,
    ),
    "TinyLlama/TinyLlama-1.1B-Chat-v1.0": Known(
        _llama(2048, 5632, 22, 32, 4, 32000), 1_100_048_384
    ),
    "01-ai/Yi-6B": Known(_llama(4096, 11008, 32, 32, 4, 64000), 6_061_035_520),
    "mistralai/Mistral-7B-v0.1": Known(
        _llama(4096, 14336, 32, 32, 8, 32000) | {"model_type": "mistral"}, 7_241_732_096
    ),
    "mistralai/Mixtral-8x7B-v0.1": Known(
        _llama(4096, 14336, 32, 32, 8, 32000) | {"model_type": "mixtral", "num_local_experts": 8},
        46_702_792_704,
    ),
    "Qwen/Qwen2.5-0.5B": Known(
        _llama(896, 4864, 24, 14, 2, 151936, tie_word_embeddings=True) | {"model_type": "qwen2"},
        494_032_768,
    ),
    "Qwen/Qwen2.5-7B": Known(
        _llama(3584, 18944, 28, 28, 4, 152064, tie_word_embeddings=False) | {"model_type": "qwen2"},
        7_615_616_512,
    ),
    "Qwen/Qwen2.5-72B": Known(
        _llama(8192, 29568, 80, 64, 8, 152064, tie_word_embeddings=False) | {"model_type": "qwen2"},
        72_706_203_648,
    ),
    "Qwen/Qwen3-8B": Known(
        _llama(4096, 12288, 36, 32, 8, 151936, head_dim=128, tie_word_embeddings=False)
        | {"model_type": "qwen3"},
        8_190_735_360,
    ),
    "Qwen/Qwen3-30B-A3B": Known(
        _llama(2048, 6144, 48, 32, 4, 151936, head_dim=128, tie_word_embeddings=False)
        | {"model_type": "qwen3_moe", "num_experts": 128, "moe_intermediate_size": 768},
        30_532_122_624,
    ),
    "google/gemma-2-9b": Known(
        _llama(3584, 14336, 42, 16, 8, 256000, head_dim=256) | {"model_type": "gemma2"},
        9_241_705_984,
    ),
    "microsoft/Phi-3-mini-4k-instruct": Known(
        _llama(3072, 8192, 32, 32, 32, 32064, tie_word_embeddings=False) | {"model_type": "phi3"},
        3_821_079_552,
    ),
    # arXiv 2412.19437: 671B in all, without the module that predicts a second token.
    "deepseek-ai/DeepSeek-V3": Known({"model_type": "deepseek_v3"}, 671_000_000_000, exact=False),
}

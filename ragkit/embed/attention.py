"""Self-attention on a processor, by whichever of torch's ways is the faster there.

It knows nothing of a network's weights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

# In bfloat16 two plain products and a softmax take two thirds of the fused kernel's time, on two
# cores with avx512_bf16, for rows of 32 to 512 tokens; below so many scores a head the calls cost
# more than they gain.
_MANY_SCORES = 1 << 14


def attend(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float | None = None
) -> Tensor:
    """Return softmax(scale q k^T) v, (b, s, d), of (b, heads, s, d / heads) each.

    `mask` (b, 1, 1, s) is True at real tokens, or None when no row is padded. `scale` is
    (d / heads) ** -0.5 unless given.
    """
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    b, _, s, width = query.shape
    if query.is_cpu and query.dtype == torch.bfloat16 and b * s * key.shape[2] >= _MANY_SCORES:
        if scale != 1:
            query = query * (width**-0.5 if scale is None else scale)
        scores = query @ key.transpose(-1, -2)
        if mask is not None:
            hidden = torch.zeros(mask.shape, dtype=scores.dtype)
            scores += hidden.masked_fill_(~mask, torch.finfo(scores.dtype).min)
        mixed = torch.softmax(scores, -1, out=scores) @ value
    else:
        mixed = scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scale)
    return mixed.transpose(1, 2).reshape(b, s, -1)

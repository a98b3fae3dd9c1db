"""The cost of a quantized model compared with its base, on the same items."""

from typing import TYPE_CHECKING

from ragkit._lazy import lazy_exports

if TYPE_CHECKING:
    from ragkit_eval.quant.cost import Cost as Cost
    from ragkit_eval.quant.cost import Costs as Costs
    from ragkit_eval.quant.cost import costs as costs
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__, {"ragkit_eval.quant.cost": "Cost Costs costs"}
    )

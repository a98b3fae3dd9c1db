"""Tell from the words before a number whether it is a telephone's or an order's."""

from __future__ import annotations

import re
from typing import Final

_REACH_CHARS = 24  # arbitrary; a label stands directly before its number
_SIGNS = " \t\u00a0.:：=（(#|*_\"'“-是为為"  # what may stand between the two
_SUFFIXES: Final = (*" number, no, nr, id, code".split(","), *"号码 號碼 号 號 码 碼".split())

_TELEPHONES: Final = (
    *"tel telephone tél téléphone telefon teléfono telefono phone ph fax hotline".split(),
    *"电话 電話 手机 手機 座机 固话 热线 传真 傳真 联系方式 联系人 致电 拨打 来电".split(),
)
# Ordinary words too: they need a sign after them, or "number".
_CALLS: Final = tuple("mobile cell cellphone whatsapp contact call".split())
_REFERENCES: Final = (
    *"order invoice tracking serial reference ref sku batch lot item part ticket case".split(),
    *"transaction txn isbn issn doi pmid id uid sn imei ean upc barcode version build".split(),
    *"timestamp revision commit patent $ € £ ¥ ￥".split(),
    *"订单 訂單 运单 单 编 編 编码 流水 货 序列 工单 发票 發票 合同 条码 批 文件 型 版本".split(),
    *"时间戳 专利 证书 快递 物流 卷 案 学 工 税 代码 编号 編號 型号 第".split(),
)
# An amount is no number of anything.
_UNIT = re.compile(
    r"(?:[%‰元円圆亿萬万次吨条]|美元|港元|字节)|\s?(?:%|bytes?|[kmg]b|usd|eur|rmb|cny|ms|hz)(?![a-z])",
    re.IGNORECASE,
)


def is_telephone(text: str, start: int) -> bool:
    """Tell whether a number at `start` is introduced as a telephone's.

    >>> is_telephone("Tel. no: 5550123", 9), is_telephone("mobile 2000000 users", 7)
    (True, False)
    """
    label, signs = _label(text, start)
    return _names(label, _TELEPHONES) or (bool(signs.strip()) and _names(label, _CALLS))


def is_reference(text: str, start: int, end: int) -> bool:
    """Tell whether a number is introduced as an order's, a file's or the like, or is an amount."""
    return _names(_label(text, start)[0], _REFERENCES) or bool(_UNIT.match(text, end))


def _label(text: str, start: int) -> tuple[str, str]:
    """Return what leads up to a number, and the signs and the word for "number" between them."""
    head = text[max(0, start - _REACH_CHARS) : start].lower()
    label = head.rstrip(_SIGNS)
    for suffix in _SUFFIXES:
        if label.endswith(suffix):
            label = label.removesuffix(suffix).rstrip(_SIGNS)
            return label, head[len(label) :]
    return label, head[len(label) :]


def _names(label: str, words: tuple[str, ...]) -> bool:
    """Tell whether a label ends with one of the words, and not within another Latin word."""
    if not label.endswith(words):
        return False
    return any(label.endswith(word) and _begins(label, len(label) - len(word)) for word in words)


def _begins(label: str, at: int) -> bool:
    around = label[max(0, at - 1) : at + 1]
    return not (at and around.isascii() and around.isalpha())

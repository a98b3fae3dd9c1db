"""Words that name nothing by themselves: "how long does it last" leaves its subject out.

The lists are made by hand, of everyday words in both languages. A word that is missing counts as a
name, so that a question with it is searched for as it stands.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from ragkit.question.reading import has_cjk, read_question
from ragkit.text.analyse import CJK_CHARACTER, analyse

_ENGLISH: Final = """
much many long often far big large small tall high low old new heavy light soon early late fast
older newer bigger larger smaller longer shorter higher lower sooner later earlier cheaper
quick quickly slow expensive cheap good bad better best exactly precisely roughly else too also
again still yet ever even just only really actually now next back there here more less most least
another other others extra same different enough maximum minimum every each per whole full all both
cost costs price prices charge charges time times day days date dates hour hours minute minutes
week weeks month months year years number amount address phone email name reason way rule rules
exception exceptions condition conditions limit
mean means happen happens work works apply applies start begin end finish stop last lasts take takes
get go come need want have use know find ask call contact book cancel change return extend renew
give bring send tell show say include included count possible allowed required necessary right
wrong true sure ok okay not no yes so well then
"""
_CHINESE: Final = """
为什么 為什麼 为何 為何 什么时候 什麼時候 什么时间 什么 什麼 何时 何時 哪里 哪裡 哪儿 哪兒 哪 谁
誰 怎么样 怎麼樣 怎样 怎樣 怎么 怎麼 咋 如何 多少 多久 多长 多長 多大 多高 多重 多远 多遠 多快
是否 是不是 有没有 有沒有 能不能 可不可以 要不要 请问 請問 可以 能否 需要 应该 應該 必须 必須 一定
一般 通常 大概 大约 大約 具体 具體 一共 总共 總共 最多 最少 最长 最長 最短 最晚 最早 最迟 最遲
最高 最低 提前 至少 至多 平均 自己 一下 一次 我们 我們 你们 你們 如果 的话 的話 只有 没有 沒有 其他
其它 另外 别的 別的 申请 申請 办理 辦理 处理 處理 提交 提供 支付 缴纳 繳納 收费 收費 付费 付費
缴费 繳費 交费 交費 赔偿 賠償 赔钱 賠錢 收钱 收錢 付钱 付錢 花钱 花錢 取消 变更 變更 更改 延长
延長 续签 續簽 续期 續期 转让 轉讓 使用 开始 開始 结束 結束 到期 截止 生效 保存 保留 保管 存放
完成 持续 持續 进行 進行 举行 舉行 发放 發放 领取 領取 开放 開放 负责 負責 批准 审批 審批 同意
允许 允許 规定 規定 包括 包含 联系 聯繫 计算 計算 免费 免費 通知 时间 時間 期限 日期 地点 地點
地方 地址 价格 價格 价钱 價錢 费用 費用 金额 金額 数量 數量 原因 理由 方式 方法 办法 辦法 条件
條件 要求 标准 標準 情况 情況 流程 步骤 步驟 电话 電話 号码 號碼 名字 区别 區別 例外 限制 上限
下限 比例 等 退 交 付 收 续 續 换 換 修 发 發 领 領 办 辦 还 還 取 寄 送 拿 带 帶 写 寫 填 签 簽
报 報 查 看 问 問 找 扣 赔 賠 丢 丟 坏 壞 改 用 存 放 住 停 买 買 卖 賣 租 借 去 来 來 走 做 干 弄
搞 管 批 含 算 行 成 够 夠 花 出 值 贵 貴 便宜 快 慢 早 晚 长 長 短 大 小 高 低 重 轻 輕 远 遠 近
能 可 会 會 要 想 该 該 得 让 讓 被 把 给 給 对 對 和 跟 与 與 从 從 到 向 按 为 為 以 是 有 在 也
都 又 再 才 就 只 先 后 後 前 内 內 里 裡 上 下 中 最 很 太 多 少 更 不 没 沒 无 無 未 别 別 的 了
吗 嗎 呢 吧 啊 呀 嘛 着 著 过 過 地 我 你 您
"""
_UNITS: Final = (
    "小时|小時|分钟|分鐘|工作日|星期|公里|公斤|平米|钱|錢|元|块|塊|天|日|月|年|周|週|点|點|号|號|次|个|個|位|名|人"
    "|倍|米|度|岁|歲|折|成|份|张|張|台|层|層|楼|樓|件|条|條|种|種|遍|趟|晚|夜"
)
# 钱 and 人 alone can be a subject; 多少钱 and 每人 ask about another one.
_COUNTED: Final = re.compile(
    rf"(?:几|幾|多少)(?:{_UNITS})*|(?:[哪每]一?|一|两|兩|半|多)(?:{_UNITS})+"
)
_WORDS: Final = re.compile("|".join(sorted(_CHINESE.split(), key=lambda word: -len(word))))


def count_naming_words(question: str) -> float:
    """Count the words of a question that name its subject; two characters of Chinese are one.

    >>> count_naming_words("How long?"), count_naming_words("How long is the lease?")
    (0, 1)
    >>> count_naming_words("保存多长时间？"), count_naming_words("租金多少？")
    (0.0, 0.5)
    """
    if not has_cjk(question):
        return len(naming_terms(question))
    remainder = _without_vague(question)
    latin = [term for term in analyse(remainder) if not has_cjk(term)]
    return len(latin) + len(CJK_CHARACTER.findall(remainder)) / 2


def naming_terms(question: str) -> frozenset[str]:
    """List the analyser's terms of the words that name a question's subject."""
    if has_cjk(question):
        return frozenset(analyse(_without_vague(question)))
    return read_question(question).content - _vague()


def _without_vague(question: str) -> str:
    return _WORDS.sub(" ", _COUNTED.sub(" ", question))


@cache
def _vague() -> frozenset[str]:
    return frozenset(analyse(_ENGLISH))

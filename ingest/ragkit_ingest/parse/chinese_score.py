"""Score how much a decoded string looks like written Chinese, simplified or traditional."""

from __future__ import annotations

import unicodedata

# The characters that are about two thirds of running Chinese, in no particular order.
_SIMPLIFIED = (
    "的一是不了在人有我他这中大来上个国到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可"
    "她里后小么心多天而能好都然没日于起还发成事只作当想看文无开手十用主行方又如前所本见经头面公同三"
    "已老从动两长知民样现分将外但身些与高意进把法此实回二理美点月明其种声全工己话儿者向情部正名定女"
    "问力机给等几很业最间新什打便位因重被走电四第门相次东政海口使教西再平真听世气信北少关并内加化由"
    "却代军产入先山五太水万市眼体别处总才场师书比住员九笑性通目华报立马命张活难神数件安表原车白应路"
    "期叫死常提感金何更反合放做系计或司利受光王果亲界及今京务制解各任至清物台象记边共风战干接它许八"
    "特觉望直服毛林题建南度统色字请交爱让认算论百吃义科怎元社术结六功指思非流每青管夫连远资队跟带花"
    "快条院变联言权往展该领传近留红治决周保达办运武半候七必城父强步完革深区即求品士转量空甚众技轻程"
    "告江语英基派满式李息写呢识极令黄德收脸钱党倒未持取设始版双历越史商千片容研像找友孩站广改议形委"
    "早房音火际则首单据导影失拿网香似斯专石若兵弟谁校读志飞观争究包组造落视济喜离虽坏兴切格谢答急规"
    "标章节准备号码密款险费购售价例额订单客户货物料仓库质检测试验温湿压速频率级层层楼室厅员请假休病"
    "假加班薪资合签约协议条款负责部门经营销财务审批流程申请提交填写附件邮箱地址联系电话传真手续证书"
    "您谢谢吧吗呀啊哪怕否则而且因此所以如果虽然但是然后"
)
_TRADITIONAL = (
    "這個國們為時會來說對過還發沒後麼裡開當動兩長樣現將與進實點種聲話兒問機給幾業間電東關聽氣從無經"
    "頭見並卻軍產萬體處總場師書員華報馬張難數車應親統請愛讓認論義術結達辦運強圖隊帶條變聯權領傳紅決"
    "資遠連輕語滿識極黃臉錢黨設雙歷廣議單據導網專觀爭組視濟離雖壞興謝規標節準備號碼購價額訂戶貨倉庫"
    "質檢測試驗溫濕壓頻級層樓廳薪簽約協條負責門營銷財務審請填寫郵聯繫話證書嗎題學轉際調劃區環臺灣港"
    "億圓週歲歸職務獨護衛藝藥飯館鄉鎮縣鐵線陽陰階隨險難雲靈順須預領顏願類顯風飛飲養騎驗魚鳥麗齊龍龜"
)
_COMMON = frozenset(_SIMPLIFIED + _TRADITIONAL)
_PUNCTUATION = frozenset("，。、；：？！“”‘’（）《》「」『』—…·％　【】〔〕０１２３４５６７８９")


def familiarity(text: str) -> float:
    """Score a text from 1 (all that is not ASCII is common Chinese) down to below 0 (nonsense).

    Characters of either level of the two national standards' first lists count a little, rare ones
    count against, unassigned, private and control ones heavily. Without any Chinese it is 0.
    """
    counts: dict[str, int] = {}
    for char in text:
        counts[char] = counts.get(char, 0) + 1
    total = points = 0.0
    for char, count in counts.items():
        worth = _worth(char)
        if worth is not None:
            total += count
            points += count * worth
    return points / total if total else 0.0


def _worth(char: str) -> float | None:
    if " " <= char <= "~" or char in "\t\n\r\f\ufeff":
        return None  # says nothing either way
    if char in _COMMON or char in _PUNCTUATION:
        return 1.0
    if "\u4e00" <= char <= "\u9fff":
        return 0.3 if _is_everyday(char) else -0.7
    category = unicodedata.category(char)
    if category in {"Cc", "Cn", "Co", "Cs"} or char == "\ufffd":
        return -3.0
    # Kana, Greek or boxes inside Chinese are rare; as misread bytes they are not.
    return 0.0 if category in {"Po", "Ps", "Pe", "Nd"} else -0.5


def _is_everyday(char: str) -> bool:
    """Say whether a character is in the first list of GB 2312 (3755) or of Big5 (5401)."""
    return (
        b"\xb0\xa1" <= char.encode("gb2312", "replace") <= b"\xd7\xf9"
        or b"\xa4\x40" <= char.encode("big5", "replace") <= b"\xc6\x7e"
    )

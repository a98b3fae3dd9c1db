"""Short texts that sites put around a page's own: labels, and headings over links elsewhere."""

from __future__ import annotations

import re

_BUTTONS = frozenset(
    "share|share this|tweet|print|email|e-mail|like|save|follow us|advertisement|advert|sponsored"
    "|read more|skip to content|skip to main content|jump to content|jump to navigation"
    "|jump to search"
    "|back to top|top|next|previous|reply|quote|report|log in|sign in|sign up|register|subscribe"
    "|view comments|show comments|leave a comment|leave a reply|add a comment|post a comment"
    "|read later|back to gallery|kommentieren|antworten|merken|zurück|commenter|répondre"
    "|responder|comentar|advertising|werbung|publicité|publicidad|publicidade|reklama|iklan"
    "|copy|copy link|copy code|edit on github|edit this page|write a review|pin|pin it|view all"
    "|menu|search|close|add to cart|buy now|show more|load more|edit|teilen|drucken|anzeige"
    "|weiterlesen|nach oben|zum inhalt springen|partager|imprimer"
    "|分享|分享到|打印|关闭|打印本页|关闭窗口|上一篇|下一篇|上一页|下一页|返回顶部|返回首页|登录|注册|加入购物车"
    "|立即购买|编辑|关于我们|联系我们|版权声明|网站地图|在线留言|网友评论|跳转到内容|阅读全文|更多|广告|扫一扫|收藏".split(
        "|"
    )
)
_ELSEWHERE = re.compile(
    r"(?:related|recommended|more (?:from|on|in|news|stories)|most (?:read|popular|viewed)|popular|"
    r"trending|you (?:may|might) (?:also )?like|also (?:read|on)|read (?:next|more|also)|latest|"
    r"recently viewed|recent (?:posts|comments|articles)|customers also|similar|share|follow us|"
    r"tags|categories|archives|navigation|menu|sponsored|advertis|newsletter|subscribe|comments|"
    r"topics|don['’]t miss|must (?:read|watch)|just watched|top (?:video|stories|news)|"
    r"schlagw[oö]rte|themen|verwandte|neueste|weitere (?:themen|meldungen|nachrichten|beiträge)|"
    r"empfehlungen|schon gelesen|auch (?:interessant|auf)|etiquetas|más (?:sobre|noticias)|"
    r"noticias relacionadas|te puede interesar|leia (?:também|mais)|veja também|"
    r"sur le même|dans la même rubrique|articles liés|leggi anche|potrebbe interessarti|"
    r"zobacz także|czytaj (?:też|także)|читайте также|по теме|похожие|"
    r"mehr zum thema|zum weiterlesen|meistgelesen|ähnliche|weitere artikel|"
    r"das könnte|mehr zu|top themen|temas relacionados|lea también|lire aussi|"
    r"à lire|"
    r"相关|推荐|猜你喜欢|热门|热点|最新|标签|分享|导航|栏目|排行|友情链接|延伸阅读)",
    re.IGNORECASE,
)
_NOTICE = re.compile(
    r"(?:was this (?:page|article|answer|information) helpful|war diese seite hilfreich|"
    r"声明[:：]\s?本[网站]|扫描(?:下方)?二维码|登录后.{0,6}评论|.{0,40}ICP备\s?\d|"
    r"©|\(c\)\s|copyright\s+(?:©|\(c\)|\d{4})|all rights reserved|版权所有)",
    re.IGNORECASE,
)
_POINTER = re.compile(
    r"(?:当前位置|您的位置|您现在的位置|you are here|上一篇|下一篇|(?:home|首页)\s*[>»›/]|"
    r"(?:previous|next) (?:post|article|page):)",
    re.IGNORECASE,
)
_COOKIES = re.compile(
    r"(?:this|our) (?:web)?(?:site|page)s? uses? cookies|we (?:and our partners )?use cookies|"
    r"we['’]ve updated our privacy|(?:diese|unsere) (?:web)?(?:seite|site)n? verwende[nt] cookies|"
    r"wir verwenden cookies|(?:ce|notre) site utilise des cookies|"
    r"est[ea] (?:sitio|web|página) (?:web )?utiliza cookies|本网站使用\s?cookie",
    re.IGNORECASE,
)
# "See also" is not among them: what it leads to belongs to the text, in encyclopedias at least.
_REFERENCE = re.compile(
    r"(?:related|also|(?:see|read|watch) more|(?:also|more|must) (?:read|watch|see)|"
    r"read (?:also|next)|more|watch|don['’]t miss|recommended|"
    r"lesen sie (?:auch|mehr)|mehr (?:dazu|zum thema|lesen)|auch interessant|"
    r"à lire aussi|lire aussi|voir aussi|lea también|le puede interesar|puedes ver|mira|"
    r"vea también|leia (?:também|mais)|veja também|leggi anche|zobacz także|czytaj (?:też|także)|"
    r"читайте также|相关阅读|延伸阅读|推荐阅读)\s?[:：|]",
    re.IGNORECASE,
)
_EDGES = " \t\n[]()|【】「」:：>»›→.!…"
_APART = re.compile(r"[\s|/·•【】]+")
_MAX_LABEL_CHARS = 60  # arbitrary
_MAX_NOTICE_CHARS = 160  # arbitrary
_MAX_REFERENCE_CHARS = 300  # arbitrary
_MAX_COOKIES_CHARS = 600  # arbitrary


def is_label(text: str) -> bool:
    """Say whether a whole block is the label of one or more buttons.

    >>> is_label("[edit]"), is_label("Previous | Next"), is_label("Print twice.")
    (True, True, False)
    """
    line = text.strip(_EDGES).lower() if len(text) <= _MAX_LABEL_CHARS else ""
    return line in _BUTTONS or (
        bool(line) and all(part.strip(_EDGES) in _BUTTONS for part in _APART.split(line))
    )


def is_notice(text: str) -> bool:
    """Say whether a short block is a copyright notice, or asks what readers think of the page.

    >>> is_notice("© 2026 Example Works"), is_notice("Copyright law protects authors.")
    (True, False)
    """
    return len(text) <= _MAX_NOTICE_CHARS and bool(_NOTICE.match(text.lstrip()))


def asks_for_cookies(text: str) -> bool:
    """Say whether a block tells readers that the site sets cookies, as banners do.

    >>> asks_for_cookies("We use cookies to improve your visit."), asks_for_cookies("Use flour.")
    (True, False)
    """
    return len(text) <= _MAX_COOKIES_CHARS and bool(_COOKIES.match(text.lstrip()))


def is_reference(text: str) -> bool:
    """Say whether a short block with links points from within a text to another.

    >>> is_reference("Read more: Pumps for acids"), is_reference("See also: Pumps")
    (True, False)
    """
    return len(text) <= _MAX_REFERENCE_CHARS and bool(_REFERENCE.match(text.lstrip()))


def is_pointer(text: str) -> bool:
    """Say whether a short block with links is a path to the page, or points to the next.

    >>> is_pointer("Home > Products > Pumps")
    True
    """
    return len(text) <= _MAX_NOTICE_CHARS and bool(_POINTER.match(text.lstrip()))


def leads_elsewhere(heading: str) -> bool:
    """Say whether a heading announces links that are no part of the page's text.

    >>> leads_elsewhere("Related articles"), leads_elsewhere("See also")
    (True, False)
    """
    return len(heading) <= _MAX_LABEL_CHARS and bool(_ELSEWHERE.match(heading.strip(_EDGES)))

"""Tell by marks and words whether a question stands alone, without a language model.

Marks are beginnings like "what about", pronouns without a referent in the question, and the lack of
a word that names something. Earlier turns are not considered.
"""

from __future__ import annotations

import re
from typing import Final

from ragkit.question.naming_words import count_naming_words
from ragkit.question.reading import MAX_QUESTION_CHARS, has_cjk, read_question

# The effect of these limits on questions that stand alone: docs/decisions/0035-*.
SHORT: Final = 4  # content terms of a question with a pronoun; a longer one explains itself
FEW: Final = 1  # words that name something, of a question that may have left something else out
ENOUGH: Final = 2  # naming words; with more of them no model need be asked

_OPENS = re.compile(
    r"\s*(?:and|but|or|so|what about|how about|what else|how come|since when|how so|why not"
    r"|really)\b",
    re.IGNORECASE,
)
_PLACE = re.compile(  # "in Dublin?": a place, a time or a case, and no question
    r"\s*(?:for|in|on|at|with|without|by|from|to|of|during|after|before|until|since|per|if|because"
    r"|unless|outside|inside)\b[^?]*\?\s*$",
    re.IGNORECASE,
)
_VERB = re.compile(
    r"\b(?:is|are|was|were|do|does|did|has|have|had"
    r"|can|could|will|would|shall|should|may|might|must)\b",
    re.IGNORECASE,
)
_PRONOUN = re.compile(
    r"\b(?:it|its|they|them|their|theirs|he|him|his|she|her|hers|(?:these|those|this|that)"
    r"(?!\s+(?:year|month|week|quarter|morning|evening|summer|winter|spring|autumn)\b)|ones?"
    r"|former|latter|same|such|then)\b",
    re.IGNORECASE,
)
# "how long does it take to ...": this pronoun refers to what follows.
_EXPLETIVE = re.compile(
    r"\bit\s+(?:take|cost|possible|allowed|okay?|safe|necessary|compulsory|mandatory|required"
    r"|permitted|enough|worth|true|normal|legal|important|forbidden|mean|matter|help)s?\b"
    r"[^,;?]{0,80}?\b(?:to|that|if|when|for)\s+(?!it\b|that\b|this\b|them\b)",
    re.IGNORECASE,
)
_ENDS_OPEN = re.compile(
    r"\b(?:(?:of|for|on|in|with|about|to|at|from|by|than|like)\s+(?:that|this|those|these)"
    r"|(?:during|after|before|until|since)\s+(?:it|them|that|this|those|these))\s*+[?.!]*+\s*+$",
    re.IGNORECASE,
)
_AND = re.compile(r"\w\s+and\s", re.IGNORECASE)  # "who was X and what did he do"

_CJK_OPENS = re.compile(r"\s*(?:那|还有|還有|另外|此外|如果是|换成|換成)")
_CJK_PRONOUN = re.compile(
    r"它|[她妳]|(?<![其吉排])他(?![人国國乡鄉])"
    r"|[这那這](?:个|些|种|样|类|個|種|樣|類|里|裡|儿|兒|时|時|边|邊)|上述|前者|后者|後者"
)
_CJK_WHAT_OF = re.compile(r"呢[？?。!！\s]*$")
_CJK_ASKED = re.compile(
    r"什[么麼]|[几幾]|多[少久长長大高重远遠快]|[谁誰哪咋]|怎[么麼样樣]|如何|[为為]何|何[时時]"
)


def follows_on(question: str) -> bool:
    """Tell whether a question cannot be understood without the previous one.

    >>> follows_on("How long does it last?"), follows_on("How long does the probation last?")
    (True, False)
    >>> follows_on("那湿度呢？"), follows_on("标定实验室的湿度是多少？")
    (True, False)
    """
    question = question[:MAX_QUESTION_CHARS]
    return (
        opens_as_follow_up(question) or not count_naming_words(question) or _points_back(question)
    )


def opens_as_follow_up(question: str) -> bool:
    """Tell whether a question has the form of a follow-up: "and ...", "in Dublin?", "...呢？".

    >>> opens_as_follow_up("And in Dublin?"), opens_as_follow_up("How long does it last?")
    (True, False)
    >>> opens_as_follow_up("那上海呢？")
    True
    """
    question = question[:MAX_QUESTION_CHARS]
    if has_cjk(question):
        what_of = _CJK_WHAT_OF.search(question) and not _CJK_ASKED.search(question)
        return bool(_CJK_OPENS.match(question) or what_of)
    place = _PLACE.match(question) and not _VERB.search(question)
    return bool(_OPENS.match(question) or place)


def may_follow(question: str) -> bool:
    """Tell whether a question without an answer of its own may leave something out.

    Such a question is short and names one subject at most. A question that names more is complete:
    where no document answers it, it is not repeated with words of the conversation.
    """
    return count_naming_words(question[:MAX_QUESTION_CHARS]) <= FEW


def surely_alone(question: str) -> bool:
    """Tell whether a question plainly stands alone, so that no model need be asked about it.

    >>> surely_alone("How many days of leave do employees in Galway have?")
    True
    >>> surely_alone("How much is the rent?")
    False
    """
    return count_naming_words(question[:MAX_QUESTION_CHARS]) > ENOUGH and not follows_on(question)


def _points_back(question: str) -> bool:
    """Tell whether the question has a pronoun without a referent before it."""
    if has_cjk(question):
        return count_naming_words(question) <= SHORT and _is_open(question, _CJK_PRONOUN, 0.5)
    if _ENDS_OPEN.search(question):
        return True
    short = len(read_question(question).content) <= SHORT
    return short and _is_open(_EXPLETIVE.sub(" ", question), _PRONOUN, 1)


def _is_open(question: str, pronouns: re.Pattern[str], limit: float) -> bool:
    """Tell whether a pronoun follows at most `limit` naming words."""
    pronoun = pronouns.search(question)
    if pronoun is None:
        return False
    start = question[: pronoun.start()]
    return count_naming_words(start) <= limit and not _AND.search(start)

"""Extractive answers: is the gold answer inside the quoted sentences, and are refusals right?"""

from benchmarks.data import (
    clapnq_answerable,
    clapnq_unanswerable,
    cmrc,
    cranfield,
    document_id,
    knowledge_base,
)
from ragkit import Answer, KnowledgeBase
from ragkit.upkeep.calibrate import Labelled, fit
from ragkit_eval.sets import LabelledSet, Question

FOREIGN = 225  # questions about other documents, asked of a set


def run() -> str:
    lines = [
        "## Extractive answers\n",
        "The answer is at most two sentences quoted from the sources. *Contained*: the quoted"
        " sentences contain a gold answer (CLAPNQ: one of the marked sentences is quoted).\n",
        "| set | questions | contained | contained or refused | refused |",
        "|---|---|---|---|---|",
    ]
    with knowledge_base(cmrc()) as kb:
        lines.append(_row("CMRC 2018, all paragraphs", kb, cmrc()))
        foreign_to_cmrc = _refusals(kb, cranfield())
    with knowledge_base(clapnq_answerable(), clapnq_unanswerable()) as kb:
        lines.append(_row("CLAPNQ answerable, among 600 passages", kb, clapnq_answerable()))
        unanswerable = _refusals(kb, clapnq_unanswerable())
        foreign_to_clapnq = _refusals(kb, cmrc())
        calibrated = _calibrated(kb)
    lines += [
        "",
        "Refusal of what the documents do not answer:\n",
        "| questions | asked of | refused |",
        "|---|---|---|",
        f"| CLAPNQ unanswerable | CLAPNQ, their own passages included | {unanswerable:.1%} |",
        f"| Cranfield | CMRC 2018 | {foreign_to_cmrc:.1%} |",
        f"| CMRC 2018 | CLAPNQ | {foreign_to_clapnq:.1%} |",
        *calibrated,
    ]
    return "\n".join(lines) + "\n"


def _row(name: str, kb: KnowledgeBase, labelled: LabelledSet) -> str:
    answers = [(question, kb.ask(question.text)) for question in labelled.questions]
    n = len(answers)
    contained = sum(contained(question, answer) for question, answer in answers)
    refused = sum(answer.refused for _, answer in answers)
    shares = [contained / n, (contained + refused) / n, refused / n]
    row = f"| {name} | {n} | " + " | ".join(f"{share:.3f}" for share in shares) + " |"
    print(row, flush=True)
    return row


def _calibrated(kb: KnowledgeBase) -> list[str]:
    """Fit the refusals on CLAPNQ as `ragkit eval calibrate` does, cross-validated by group."""
    labelled = [
        Labelled(question.text, answerable, min(question.relevant))
        for answerable, source in ((True, clapnq_answerable()), (False, clapnq_unanswerable()))
        for question in source.questions
    ]
    fitted = fit(kb, labelled)
    before = fitted.before
    rows = [
        f"| {point.false_refusals:.1%} | {1 - point.false_answers:.1%} | {point.cutoff:.3f} |"
        for point in fitted.curve()
    ]
    return [
        "",
        "`ragkit eval calibrate` on CLAPNQ's 300 answerable and 300 unanswerable questions, cross-"
        f"validated: AUC {fitted.auc:.3f} (95% interval {fitted.auc_low:.3f} to"
        f" {fitted.auc_high:.3f}). Before: {before.false_refusals:.1%} of the answerable and"
        f" {1 - before.false_answers:.1%} of the unanswerable questions refused.\n",
        "| answerable refused | unanswerable refused | cut-off |",
        "|---|---|---|",
        *rows,
    ]


def contained(question: Question, answer: Answer) -> bool:
    quotes = [citation.quote for citation in answer.citations]
    assert len(quotes) <= 2, "at most two sentences are quoted"
    if all(document_id(citation.uri) in question.relevant for citation in answer.citations):
        marked = [" ".join(gold.split()) for gold in question.answers]
        quoted = [" ".join(quote.split()) for quote in quotes]
        if any(quote in gold for gold in marked for quote in quoted if len(quote) > 20):
            return True
    return any(gold in quote for gold in question.answers for quote in quotes)


def _refusals(kb: KnowledgeBase, labelled: LabelledSet) -> float:
    asked = labelled.questions[:FOREIGN]
    return sum(kb.ask(question.text).refused for question in asked) / len(asked)

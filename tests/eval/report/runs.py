"""Run files for tests of the report: made up, of any size, with everything that can be in one."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ragkit_eval.run.record import Header, Record, Status, TaskHeader, header_line, record_line

HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(2)> ![x](http://evil.example/1.png)"
    " \x1b[31mred\x00 \u202egnp.exe\u202c &amp; \"'> </textarea></style> {{ 7*7 }} \ud800"
)
SUBJECTS = tuple(
    """abstract_algebra anatomy astronomy business_ethics clinical_knowledge college_biology
    college_chemistry college_computer_science college_mathematics college_medicine college_physics
    computer_security conceptual_physics econometrics electrical_engineering elementary_mathematics
    formal_logic global_facts high_school_biology high_school_chemistry
    high_school_computer_science high_school_european_history high_school_geography
    high_school_government_and_politics high_school_macroeconomics high_school_mathematics
    high_school_microeconomics high_school_physics high_school_psychology high_school_statistics
    high_school_us_history high_school_world_history human_aging human_sexuality international_law
    jurisprudence logical_fallacies machine_learning management marketing medical_genetics
    miscellaneous moral_disputes moral_scenarios nutrition philosophy prehistory
    professional_accounting professional_law professional_medicine professional_psychology
    public_relations security_studies sociology us_foreign_policy virology
    world_religions""".split()
)


def header(
    *,
    name: str = "model-a",
    task: str = "mmlu",
    metric: str = "acc",
    items: int,
    method: str = "letter",
    metrics: Sequence[str] = (),
    label: str = "",
) -> Header:
    """Make a header; runs of the same task have the same hashes."""
    return Header(
        tasks=(
            TaskHeader(
                name=task,
                version="1",
                method=method,
                metric=metric,
                items=items,
                data_hash="0123456789abcdef",
                prompt_hash="fedcba9876543210",
                metrics={one: f"{one}|v:1" for one in (metric, *metrics)},
            ),
        ),
        model={"name": name, "revision": "main", "arguments": {"dtype": "bfloat16"}},
        sampling={"temperature": 0.0, "max_tokens": 1, "seed": 0},
        environment={"ragkit": "0.1.0", "python": "3.11.2", "cpu": "2 cores", "git": "0f3e2d1"},
        created="2026-01-02T03:04:05Z",
        label=label,
    )


def write(path: Path, top: Header, records: Iterable[Record]) -> Path:
    """Write a run file, line by line."""
    with path.open("w", encoding="utf-8", errors="surrogatepass") as file:
        file.write(header_line(top) + "\n")
        for record in records:
            file.write(record_line(record) + "\n")
    return path


def graded(task: str, ident: str, value: float, **more: Any) -> Record:
    """Make a record of one metric, `acc`."""
    status: Status = "ok" if value >= 0.5 else "wrong"
    return Record(task=task, id=ident, key=ident, status=status, scores={"acc": value}, **more)


def choices(
    path: Path,
    *,
    name: str,
    seed: int,
    right: float,
    per_subject: int = 20,
    subjects: Sequence[str] = SUBJECTS,
    prompt_chars: int = 300,
    latency_s: float = 0.05,
    errors: float = 0.0,
) -> Path:
    """Write a run like MMLU's; two of them agree as far as their shares right are alike."""
    return write(
        path,
        header(name=name, items=per_subject * len(subjects)),
        _choices(seed, right, per_subject, subjects, prompt_chars, latency_s, errors),
    )


def _choices(
    seed: int,
    right: float,
    per_subject: int,
    subjects: Sequence[str],
    prompt_chars: int,
    latency_s: float,
    errors: float,
) -> Iterable[Record]:
    own = random.Random(seed)
    shared = random.Random(0)  # how hard an item is, the same for every run
    for subject in subjects:
        ease = shared.uniform(-0.25, 0.2)
        for n in range(per_subject):
            hard = 0.6 * shared.random() + 0.4 * own.random()
            target = shared.choice("ABCD")
            fine = hard < right + ease
            said = target if fine else own.choice([one for one in "ABCD" if one != target])
            question = f"Question {n} of {subject.replace('_', ' ')}: which of these holds?"
            common: dict[str, Any] = {
                "task": "mmlu",
                "id": f"{subject}/{n}",
                "key": f"{seed}-{subject}-{n}",
                "group": subject,
                "targets": (target,),
                "question": question,
                "prompt": ("The following are multiple choice questions. " * 200)[:prompt_chars]
                + question
                + "\nA. one\nB. two\nC. three\nD. four\nAnswer:",
            }
            if own.random() < errors:
                yield Record(status="error", error="the server did not answer in 60 s", **common)
                continue
            yield Record(
                status="ok" if fine else "wrong",
                prediction=said,
                output=f" {said}",
                scores={"acc": float(fine)},
                latency_s=latency_s * own.lognormvariate(0, 0.4),
                usage={"prompt_tokens": 400 + n, "completion_tokens": 1},
                **common,
            )


LEAVE = (
    "# Leave and absence (Galway)\n\nIn 2026, full-time employees in Galway have 26 days of annual"
    " leave. In 2025 the entitlement was 24 days. Public holidays come on top.\n\nAfter five full"
    " years with the company you receive one additional day."
)
LEAVE_ZH = (
    "# 休假制度\n\n自2026年1月1日起，入职满一年的员工每年享有8天带薪年假。满五年的员工为12天。"
)
QUESTIONS: tuple[Mapping[str, Any], ...] = (
    {
        "id": "leave-en",
        "question": "How many days of annual leave do full-time employees in Galway have?",
        "target": "26 days",
        "uri": "handbook/en/leave.md",
        "text": LEAVE,
        "quote": "In 2026, full-time employees in Galway have 26 days of annual leave.",
        "answers": (
            "They have 24 days of annual leave [1]. Unused days expire in March [1].",
            "They have 26 days of annual leave in 2026 [1]. Public holidays come on top [1].",
        ),
        "language": "en",
    },
    {
        "id": "leave-zh",
        "question": "入职满一年的员工每年有多少天年假？",
        "target": "8天",
        "uri": "handbook/zh/休假制度.md",
        "text": LEAVE_ZH,
        "quote": "入职满一年的员工每年享有8天带薪年假",
        "answers": ("每年享有12天带薪年假[1]。", "自2026年起，每年享有8天带薪年假[1]。"),
        "language": "zh",
    },
    {
        "id": "years",
        "question": "What does one receive after five full years with the company?",
        "target": "one additional day",
        "uri": "handbook/en/leave.md",
        "text": LEAVE,
        "quote": "After five full years with the company you receive one additional day.",
        "answers": (
            "After five full years you receive one additional day [1].",
            "You receive one additional day of leave after five full years [1].",
        ),
        "language": "en",
    },
)
RAG_METRICS = (
    "reference_recall",
    "citation_validity",
    "citation_recall",
    "groundedness",
    "language_match",
    "ndcg@10",
)


def answers(path: Path, *, name: str, which: int, copies: int = 40) -> Path:
    """Write a run of answers with passages and citations, run number `which` of a pair."""
    records = [_answered(one, n, which) for n in range(copies) for one in (*QUESTIONS, None)]
    top = header(
        name=name,
        task="rag:handbook",
        metric="answer_score",
        metrics=RAG_METRICS,
        method="rag",
        items=len(records),
    )
    return write(path, top, records)


def _answered(one: Mapping[str, Any] | None, n: int, which: int) -> Record:
    chance = random.Random(f"{which}-{n}-{one and one['id']}")
    if one is None:
        return _refused(n, which, chance)
    fine = one["id"] == "years" or (chance.random() < (0.35, 0.8)[which])
    text = one["answers"][1 if fine else 0]
    start = one["text"].index(one["quote"])
    end = start + len(one["quote"])
    labels = {
        "answerable": True,
        "tags": {"language": one["language"]},
        "spans": [{"document": one["uri"], "start": start, "end": end}],
    }
    source = {"document": 7, "uri": one["uri"], "start": start, "end": end}
    passages = [
        {"document": 7, "uri": one["uri"], "start": 0, "end": len(one["text"]), "text": one["text"]}
    ]
    if which == 0:
        welcome = "Welcome to the company. Your badge waits at the desk."
        passages.append(
            {"document": 9, "uri": "handbook/en/welcome.md", "start": 0, "end": 53, "text": welcome}
        )
    detail = {
        "answer": text,
        "refused": False,
        "citations": [
            source
            | {"n": 1, "title": "Leave", "quote": one["quote"], "verdict": "verified", "page": None}
        ],
        "claims": [
            {
                "start": 0,
                "end": len(text),
                "text": text,
                "cites": [1],
                "support": "supported" if fine else "not found",
            }
        ],
        "unverified": [] if fine or "24 days" not in text else ["24 days"],
        "used": passages,
        "labels": labels,
        "confidence": (0.6 if fine else 0.3) + 0.4 * chance.random(),
    }
    score = 0.8 + 0.2 * chance.random() if fine else 0.3 * chance.random()
    scores = {
        "answer_score": score,
        "reference_recall": score,
        "citation_validity": float(fine or chance.random() < 0.6),
        "citation_recall": 1.0 if fine else 0.5,
        "groundedness": 1.0 if fine else 0.4,
        "language_match": 1.0,
        "ndcg@10": 0.7 + 0.3 * chance.random(),
    }
    return Record(
        task="rag:handbook",
        id=f"{one['id']}-{n}",
        key=f"{which}-{n}",
        status="ok" if score >= 0.5 else "wrong",
        prediction=text,
        targets=(one["target"],),
        scores=scores,
        group=f"{one['language']}, answerable",
        cluster=f"{one['uri']} {n // 2}",
        question=one["question"],
        prompt=one["question"],
        output=text,
        finish="stop",
        latency_s=(0.9, 1.4)[which] * chance.lognormvariate(0, 0.3),
        first_token_s=0.2,
        usage={"prompt_tokens": 900 + 300 * which, "completion_tokens": 40},
        detail=detail,
    )


def _refused(n: int, which: int, chance: random.Random) -> Record:
    fine = chance.random() < (0.7, 0.9)[which]
    said = "The documents do not answer this." if fine else "Parking costs 3 euros a day [1]."
    return Record(
        task="rag:handbook",
        id=f"parking-{n}",
        key=f"{which}-{n}",
        status="ok" if fine else "wrong",
        prediction=said,
        scores={"answer_score": float(fine), "language_match": 1.0},
        group="en, unanswerable",
        question="What does parking cost?",
        prompt="What does parking cost?",
        output=said,
        latency_s=0.5 * chance.lognormvariate(0, 0.2),
        usage={"prompt_tokens": 700, "completion_tokens": 9},
        detail={
            "answer": said,
            "refused": fine,
            "reason": "no passage is near the question" if fine else "",
            "labels": {"answerable": False, "tags": {"language": "en"}, "spans": []},
            "confidence": 0.1 + 0.5 * chance.random(),
        },
    )

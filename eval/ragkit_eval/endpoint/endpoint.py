"""An OpenAI-compatible server as something that answers a task's items.

It knows the wire, and nothing of how answers are scored, kept or compared.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

from ragkit.errors import ModelServerError, NotFoundError, UsageError
from ragkit.model.server import ModelServer
from ragkit_eval.endpoint import wire
from ragkit_eval.endpoint.connection import BACKOFF_S, TRIES, Connection, open_session
from ragkit_eval.endpoint.failures import Failure, RejectedError, of_body
from ragkit_eval.endpoint.likelihood import at_border, of_text, of_tokens
from ragkit_eval.item import Ask, Item, Response, Task

_LOGPROBS: Final = (20, 5)  # vLLM's limit unless told otherwise, then OpenAI's for completions
_MAX_NAMES = 10  # what of a server's models one line can hold


class Endpoint:
    """A server that has answered. `model` is the name asked for, `url` its address without
    secrets, `about` what it says: "server" with its version, "root" and "max_model_len".
    """

    def __init__(
        self, connection: Connection, model: str, about: Mapping[str, Any], *, seed: int | None
    ) -> None:
        self.model = model
        self.about = about
        self.url = connection.server.shown
        self._connection = connection
        self._seed = seed
        self._logprobs = _LOGPROBS[0]
        self._tokenizes = True

    @staticmethod
    @asynccontextmanager
    async def open(
        url: str,
        model: str | None = None,
        *,
        api_key: str | None = None,
        concurrency: int = 32,
        timeout_s: float = 600.0,
        seed: int | None = 0,
        tries: int = TRIES,
        backoff_s: float = BACKOFF_S,
    ) -> AsyncIterator[Endpoint]:
        """Connect to a server and see that it serves the model; without one, the only one it has.

        Raises SettingsError for what is no URL, ServerGoneError or ModelServerError when it does
        not answer, NotFoundError when it has no such model.
        """
        server = ModelServer(url, api_key, timeout_s)
        server.check()
        async with open_session(server, concurrency) as session:
            connection = Connection(session, server, tries=tries, backoff_s=backoff_s)
            name, about = await _probe(connection, model)
            yield Endpoint(connection, name, about, seed=seed)

    def ask_for(self, task: Task, *, chat: bool | None = None, special_tokens: bool = True) -> Ask:
        """Return what answers a task's items; `chat` takes the place of the task's own choice.

        `special_tokens=False` has the server put none before a prompt, as lm-evaluation-harness
        does. Raises UsageError for a task that cannot be asked so.
        """
        chats = bool(task.sampling.get("chat")) if chat is None else chat
        options = self._options(task.sampling)
        if not special_tokens and not chats:
            options["add_special_tokens"] = False

        async def letter(item: Item) -> Response:
            return await self._letter(item, options, chat=chats)

        async def generate(item: Item) -> Response:
            return await self._complete(item, options, chat=chats)

        async def loglikelihood(item: Item) -> Response:
            return await self._likelihoods(item, options)

        if task.method == "loglikelihood" and chats:
            raise UsageError(
                f"{task.name} asks for log-likelihoods, which chats do not tell: use --completions"
            )
        asks: dict[str, Ask] = {
            "letter": letter,
            "generate": generate,
            "loglikelihood": loglikelihood,
        }
        if task.method not in asks:
            raise UsageError(
                f"{task.name} is asked of a collection: use 'ragkit eval rag' in place of 'run'"
            )
        return asks[task.method]

    def _options(self, sampling: Mapping[str, Any]) -> dict[str, Any]:
        """Make a request's options of a task's sampling; what is empty is left to the server."""
        given = {name: v for name, v in sampling.items() if name != "chat" and v not in (None, ())}
        options = {"temperature": 0, "seed": self._seed, **given}
        if isinstance(options.get("stop"), list | tuple):
            options["stop"] = list(options["stop"])
        return {name: value for name, value in options.items() if value not in (None, [])}

    async def _complete(self, item: Item, options: Mapping[str, Any], *, chat: bool) -> Response:
        asked: dict[str, Any] = (
            {"messages": [{"role": "user", "content": item.prompt}]}
            if chat
            else {"prompt": item.prompt}
        )
        path = "/chat/completions" if chat else "/completions"
        answer, latency_s = await self._post(path, asked | dict(options))
        try:
            return wire.response_of(answer, latency_s, chat=chat)
        except wire.ODD as error:
            raise self._odd(error) from error

    async def _letter(self, item: Item, options: Mapping[str, Any], *, chat: bool) -> Response:
        """Ask for one token and its candidates; fewer of them where the server allows no more."""
        wanted = self._logprobs
        told = {"logprobs": True, "top_logprobs": wanted} if chat else {"logprobs": wanted}
        one = {name: value for name, value in options.items() if name != "stop"}
        try:
            return await self._complete(item, one | {"max_tokens": 1} | told, chat=chat)
        except RejectedError as error:
            if wanted == _LOGPROBS[-1] or "logprob" not in error.words.lower():
                raise
        self._logprobs = _LOGPROBS[-1]
        return await self._letter(item, options, chat=chat)

    async def _likelihoods(self, item: Item, options: Mapping[str, Any]) -> Response:
        """Ask for each choice after the other, so that no more are under way than are allowed."""
        likelihoods, usage, latency_s = [], None, 0.0
        special = bool(options.get("add_special_tokens", True))
        echo = {"temperature": 0, "max_tokens": 1, "logprobs": 1, "echo": True}
        echo |= {name: options[name] for name in ("seed", "add_special_tokens") if name in options}
        prompt_ids: list[int] | None = None
        for choice in item.choices:
            prompt, continuation = at_border(item.prompt, choice)
            if prompt_ids is None:
                prompt_ids = await self._tokens(prompt, special)
            ids = await self._tokens(prompt + continuation, special) if prompt_ids else None
            asked = {"prompt": ids or prompt + continuation}
            answer, took_s = await self._post("/completions", asked | echo)
            used = wire.usage_of(answer.get("usage"))
            try:
                told = answer["choices"][0]
                if ids and prompt_ids:
                    found = of_tokens(told, len(prompt_ids), len(ids))
                else:
                    found = of_text(
                        told, prompt, continuation, used.completion_tokens if used else 1
                    )
            except wire.ODD as error:
                raise self._odd(error) from error
            likelihoods.append(found)
            usage, latency_s = wire.add_usage(usage, used), latency_s + took_s
        return Response(likelihoods=tuple(likelihoods), usage=usage, latency_s=latency_s)

    async def _tokens(self, text: str, special: bool) -> list[int] | None:
        """Have the server cut a text into tokens; None where it offers no such thing."""
        if not self._tokenizes:
            return None
        body = {"model": self.model, "prompt": text, "add_special_tokens": special}
        answer = await self._connection.once("/tokenize", body, beside=True)
        if isinstance(answer, Failure) and answer.absent:
            self._tokenizes = False
            return None
        if isinstance(answer, Failure):  # it may pass: to go on without would change the tokens
            answer, _ = await self._connection.post("/tokenize", body, beside=True)
        if not isinstance(answer.get("tokens"), list):
            raise self._odd(ValueError("no list of tokens"))
        return list(answer["tokens"])

    async def _post(self, path: str, body: dict[str, Any]) -> tuple[dict[str, Any], float]:
        return await self._connection.post(path, {"model": self.model, **body})

    def _odd(self, error: Exception) -> ModelServerError:
        problem = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        return ModelServerError(str(of_body(problem).error(self._connection.server.shown)))


async def _probe(connection: Connection, model: str | None) -> tuple[str, dict[str, Any]]:
    """See which models there are, and what the server says of the one."""
    shown = connection.server.shown
    answer = await connection.once("/models")
    if isinstance(answer, Failure):
        raise answer.error(shown)
    try:
        served = {str(one["id"]): one for one in answer["data"]}
    except wire.ODD as error:
        raise of_body("no list of models").error(shown) from error
    if model is None and len(served) == 1:
        model = next(iter(served))
    if model is None or model not in served:
        names = ", ".join(list(served)[:_MAX_NAMES]) or "none"
        asked = "several models" if model is None else f"no model {model!r}"
        raise NotFoundError(
            f"language-model server {shown} serves {asked}; it has {names}: name one with --model"
        )
    about = {
        name: served[model][name]
        for name in ("root", "max_model_len")
        if served[model].get(name) not in (None, model)
    }
    told = await connection.once("/version", beside=True)
    if not isinstance(told, Failure) and isinstance(told.get("version"), str):
        about["server"] = f"{served[model].get('owned_by', 'server')} {told['version']}"
    return model, about

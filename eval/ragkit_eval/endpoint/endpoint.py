"""An OpenAI-compatible server that answers the items of tasks."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Final

from ragkit.errors import ModelServerError, NotFoundError, UsageError
from ragkit.model.server import ModelServer
from ragkit_eval.endpoint import wire
from ragkit_eval.endpoint.connection import BACKOFF_S, TRIES, Connection, open_session
from ragkit_eval.endpoint.failures import Failure, RejectedError, of_body
from ragkit_eval.endpoint.likelihood import at_border, of_text, of_tokens
from ragkit_eval.run.item import Ask, Item, Response, Task

_LOGPROBS: Final = (20, 5)  # vLLM's default limit, then OpenAI's limit for completions
_MAX_NAMES = 10  # of a server's models, in an error message


class Endpoint:
    """A server that has answered. `model` is the name of its model, `url` its address without
    secrets, `about` its description: "server" with its version, "root" and "max_model_len".
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
        """Connect to a server and check that it serves the model, or use its only model.

        Raises SettingsError for a malformed URL, ServerGoneError or ModelServerError if the server
        does not answer, NotFoundError if it has no such model.
        """
        server = ModelServer(url, api_key, timeout_s)
        server.check()
        async with open_session(server, concurrency) as session:
            connection = Connection(session, server, tries=tries, backoff_s=backoff_s)
            name, about = await _probe(connection, model)
            yield Endpoint(connection, name, about, seed=seed)

    def ask_for(self, task: Task, *, chat: bool | None = None, special_tokens: bool = True) -> Ask:
        """Return the ask that answers a task's items; `chat` overrides the task's setting.

        With `special_tokens=False` the server adds none to a prompt, as in lm-evaluation-harness.
        Raises UsageError for a task that cannot be asked in this way.
        """
        chats = bool(task.sampling.get("chat")) if chat is None else chat
        options = self._options(task.sampling)
        if not special_tokens and not chats:
            options["add_special_tokens"] = False

        async def letter(item: Item) -> Response:
            return await self._letter(item, options, chat=chats)

        async def generate(item: Item) -> Response:
            if not item.turns:
                return await self._complete(item, options, chat=chats)
            if not chats:
                raise UsageError(
                    f"{task.name} is a conversation, which completions lack: leave out"
                    " --completions"
                )
            return await self._converse(item, options)

        async def loglikelihood(item: Item) -> Response:
            return await self._likelihoods(item, options)

        if task.method == "loglikelihood" and chats:
            raise UsageError(
                f"{task.name} needs log-likelihoods, which chat completions lack: use --completions"
            )
        asks: dict[str, Ask] = {
            "letter": letter,
            "generate": generate,
            "loglikelihood": loglikelihood,
        }
        if task.method not in asks:
            raise UsageError(
                f"{task.name} needs a collection: use 'ragkit eval rag' instead of 'run'"
            )
        return asks[task.method]

    def _options(self, sampling: Mapping[str, Any]) -> dict[str, Any]:
        """Build a request's options from a task's sampling; the server decides empty ones."""
        sampled = {
            name: value
            for name, value in sampling.items()
            if name != "chat" and value not in (None, ())
        }
        options = {"temperature": 0, "seed": self._seed, **sampled}
        if isinstance(options.get("stop"), list | tuple):
            options["stop"] = list(options["stop"])
        return {name: value for name, value in options.items() if value not in (None, [])}

    async def _complete(self, item: Item, options: Mapping[str, Any], *, chat: bool) -> Response:
        prompt: dict[str, Any] = (
            {"messages": [{"role": "user", "content": item.prompt}]}
            if chat
            else {"prompt": item.prompt}
        )
        return await self._answer(prompt | dict(options), chat=chat)

    async def _converse(self, item: Item, options: Mapping[str, Any]) -> Response:
        """Send each turn with the turns before it and the model's own answers to them.

        The response's text is the last answer; `detail["answers"]` has all of them in order.
        """
        messages: list[dict[str, str]] = []
        answers: list[Response] = []
        for text in (item.prompt, *item.turns):
            messages.append({"role": "user", "content": text})
            answers.append(await self._answer({"messages": messages, **options}, chat=True))
            messages.append({"role": "assistant", "content": answers[-1].text})
        usage = None
        for answer in answers:
            usage = wire.add_usage(usage, answer.usage)
        return replace(
            answers[-1],
            finish="length" if any(answer.finish == "length" for answer in answers) else "stop",
            usage=usage,
            latency_s=sum(answer.latency_s for answer in answers),
            detail={**answers[-1].detail, "answers": [answer.text for answer in answers]},
        )

    async def _answer(self, body: dict[str, Any], *, chat: bool) -> Response:
        answer, latency_s = await self._post("/chat/completions" if chat else "/completions", body)
        try:
            return wire.response_of(answer, latency_s, chat=chat)
        except wire.MALFORMED as error:
            raise self._malformed(error) from error

    async def _letter(self, item: Item, options: Mapping[str, Any], *, chat: bool) -> Response:
        """Ask for a token and its candidates, for fewer if the server rejects the number."""
        count = self._logprobs
        logprobs = {"logprobs": True, "top_logprobs": count} if chat else {"logprobs": count}
        first_token = {name: value for name, value in options.items() if name != "stop"}
        try:
            return await self._complete(item, first_token | {"max_tokens": 1} | logprobs, chat=chat)
        except RejectedError as error:
            if count == _LOGPROBS[-1] or "logprob" not in error.words.lower():
                raise
        self._logprobs = _LOGPROBS[-1]
        return await self._letter(item, options, chat=chat)

    async def _likelihoods(self, item: Item, options: Mapping[str, Any]) -> Response:
        """Ask for the choices in turn, so that the limit of concurrent requests holds."""
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
            body = {"prompt": ids or prompt + continuation}
            answer, took_s = await self._post("/completions", body | echo)
            counted = wire.usage_of(answer.get("usage"))
            try:
                choice_values = answer["choices"][0]
                if ids and prompt_ids:
                    likelihood = of_tokens(choice_values, len(prompt_ids), len(ids))
                else:
                    likelihood = of_text(
                        choice_values,
                        prompt,
                        continuation,
                        counted.completion_tokens if counted else 1,
                    )
            except wire.MALFORMED as error:
                raise self._malformed(error) from error
            likelihoods.append(likelihood)
            usage, latency_s = wire.add_usage(usage, counted), latency_s + took_s
        return Response(likelihoods=tuple(likelihoods), usage=usage, latency_s=latency_s)

    async def _tokens(self, text: str, special: bool) -> list[int] | None:
        """Have the server tokenize a text; None if it has no tokenizer endpoint."""
        if not self._tokenizes:
            return None
        body = {"model": self.model, "prompt": text, "add_special_tokens": special}
        answer = await self._connection.once("/tokenize", body, at_root=True)
        if isinstance(answer, Failure) and answer.absent:
            self._tokenizes = False
            return None
        if isinstance(answer, Failure):  # perhaps transient; without tokens the border would move
            answer, _ = await self._connection.post("/tokenize", body, at_root=True)
        if not isinstance(answer.get("tokens"), list):
            raise self._malformed(ValueError("no list of tokens"))
        return list(answer["tokens"])

    async def _post(self, path: str, body: dict[str, Any]) -> tuple[dict[str, Any], float]:
        return await self._connection.post(path, {"model": self.model, **body})

    def _malformed(self, error: Exception) -> ModelServerError:
        problem = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        return ModelServerError(str(of_body(problem).error(self._connection.server.shown)))


async def _probe(connection: Connection, model: str | None) -> tuple[str, dict[str, Any]]:
    """Choose a model among those of the server, and read the server's description of it."""
    address = connection.server.shown
    answer = await connection.once("/models")
    if isinstance(answer, Failure):
        raise answer.error(address)
    try:
        served = {str(description["id"]): description for description in answer["data"]}
    except wire.MALFORMED as error:
        raise of_body("no list of models").error(address) from error
    if model is None and len(served) == 1:
        model = next(iter(served))
    if model is None or model not in served:
        names = ", ".join(list(served)[:_MAX_NAMES]) or "none"
        problem = "several models" if model is None else f"no model {model!r}"
        raise NotFoundError(
            f"language-model server {address} serves {problem}; it has {names}: choose with --model"
        )
    about = {
        name: served[model][name]
        for name in ("root", "max_model_len")
        if served[model].get(name) not in (None, model)
    }
    version = await connection.once("/version", at_root=True)
    if not isinstance(version, Failure) and isinstance(version.get("version"), str):
        about["server"] = f"{served[model].get('owned_by', 'server')} {version['version']}"
    return model, about

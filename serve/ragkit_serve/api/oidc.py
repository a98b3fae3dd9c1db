"""Single sign-on by OpenID Connect: the authorization code flow with PKCE, state and nonce.

authlib does the protocol and checks signatures.
"""

from __future__ import annotations

import hmac
import logging
import secrets
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import httpx
from anyio import to_thread

from ragkit.access import logins
from ragkit.access.keys import MAX_NAME_CHARS, SCOPES
from ragkit.errors import SettingsError
from ragkit_serve.api.errors import ApiError

if TYPE_CHECKING:
    from ragkit.settings.settings import Settings
    from ragkit.store.people.logins import Begun
    from ragkit_serve.api.services import Services

TIMEOUT_S: Final = 10.0  # arbitrary
MAX_GROUPS: Final = 1000  # arbitrary: of one person
ALGORITHMS: Final = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384"]
log = logging.getLogger("ragkit.serve")


@dataclass(frozen=True, slots=True)
class Started:
    """A sign-on that has begun: where the browser is to go, and the secret that it keeps."""

    url: str
    secret: str


@dataclass(frozen=True, slots=True)
class _Provider:
    """What a provider says of itself."""

    issuer: str
    authorize: str
    token: str
    keys: str


def check(settings: Settings) -> None:
    """Raise SettingsError unless single sign-on is off, or everything that it needs is set."""
    if settings.oidc_issuer is None:
        return
    if settings.oidc_client_id is None or settings.oidc_client_secret is None:
        raise SettingsError(
            "oidc_issuer needs oidc_client_id and oidc_client_secret: set both, as the provider"
            " gave them"
        )
    if not settings.oidc_issuer.startswith(("https://", "http://127.0.0.1", "http://localhost")):
        raise SettingsError("oidc_issuer must begin with https://")
    strange = [scope for scope in settings.oidc_scopes.split() if scope not in SCOPES]
    if strange or not settings.oidc_scopes.split():
        raise SettingsError(f"oidc_scopes cannot be {settings.oidc_scopes!r}: use {SCOPES}")


async def begin(services: Services, callback: str, next: str) -> Started:
    """Begin a sign-on at the provider. Raises ApiError."""
    from authlib.oauth2.rfc7636 import create_s256_code_challenge

    from ragkit.store.people.logins import Begun

    provider = await _provider(services.settings)
    begun = Begun(secrets.token_urlsafe(32), secrets.token_urlsafe(48), next)
    state, secret = await to_thread.run_sync(logins.begin_sign_on, services.database, begun)
    client = _client(services.settings, callback)
    url, _ = client.create_authorization_url(
        provider.authorize,
        state=state,
        nonce=begun.nonce,
        code_challenge=create_s256_code_challenge(begun.verifier),  # type: ignore[no-untyped-call]
        code_challenge_method="S256",
    )
    await client.aclose()
    return Started(str(url), secret)


async def finish(services: Services, callback: str, code: str, begun: Begun) -> str | None:
    """Log in whom the provider vouches for and return the token; None when its answer is no good.

    Raises ApiError when the provider cannot be asked.
    """
    if not code:
        return None
    settings = services.settings
    provider = await _provider(settings)
    claims = await _claims(settings, provider, callback, code, begun.verifier)
    if claims is None or not _is_same(claims.get("nonce"), begun.nonce):
        return None
    principal = claims.get(settings.oidc_principal_claim)
    if not isinstance(principal, str) or not principal.strip() or len(principal) > 200:
        log.warning("single sign-on: the token has no claim %r", settings.oidc_principal_claim)
        return None
    return await to_thread.run_sync(
        partial(
            logins.begin,
            services.database,
            tenant=settings.tenant,
            principal=principal,
            scopes=settings.oidc_scopes.split(),
            groups=_groups(claims.get(settings.oidc_groups_claim or "")),
        )
    )


def _is_same(claim: object, expected: str) -> bool:
    claimed = claim.encode("utf-8", "replace") if isinstance(claim, str) else b""
    return hmac.compare_digest(claimed, expected.encode())


def _groups(claim: object) -> list[str]:
    """Read the groups that a token names: a list of names, or a single one; others are no names."""
    named = claim if isinstance(claim, list) else [claim]
    sound = [
        group for group in named if isinstance(group, str) and group.strip() and group.isprintable()
    ]
    return [group for group in dict.fromkeys(sound) if len(group) <= MAX_NAME_CHARS][:MAX_GROUPS]


async def _claims(
    settings: Settings, provider: _Provider, callback: str, code: str, verifier: str
) -> dict[str, Any] | None:
    """Trade the code for an ID token and return its claims; None when it is not to be believed."""
    from authlib.common.errors import AuthlibBaseError
    from joserfc import jwt
    from joserfc.errors import JoseError
    from joserfc.jwk import KeySet

    try:
        async with _client(settings, callback) as client:
            token = await client.fetch_token(provider.token, code=code, code_verifier=verifier)
        async with httpx.AsyncClient(timeout=TIMEOUT_S, trust_env=False) as plain:
            published = await plain.get(provider.keys)
            published.raise_for_status()
        decoded = jwt.decode(
            token["id_token"], KeySet.import_key_set(published.json()), algorithms=ALGORITHMS
        )
        jwt.JWTClaimsRegistry(
            leeway=60,
            iss={"essential": True, "value": provider.issuer},
            aud={"essential": True, "value": str(settings.oidc_client_id)},
            exp={"essential": True},
            iat={"essential": True},
            nonce={"essential": True},
        ).validate(decoded.claims)
    except (AuthlibBaseError, JoseError, httpx.HTTPError, KeyError, ValueError) as error:
        log.warning("single sign-on failed: %s", type(error).__name__)
        return None
    return dict(decoded.claims)


async def _provider(settings: Settings) -> _Provider:
    if settings.oidc_issuer is None:
        raise ApiError(404, "this server has no single sign-on", code="not_found")
    issuer = settings.oidc_issuer.rstrip("/")
    try:
        async with httpx.AsyncClient(timeout=TIMEOUT_S, trust_env=False) as client:
            answer = await client.get(f"{issuer}/.well-known/openid-configuration")
            answer.raise_for_status()
        document = answer.json()
        provider = _Provider(
            document["issuer"],
            document["authorization_endpoint"],
            document["token_endpoint"],
            document["jwks_uri"],
        )
    except (httpx.HTTPError, KeyError, ValueError, TypeError) as error:
        log.warning("single sign-on: the provider cannot be asked: %s", type(error).__name__)
        raise ApiError(502, "the log-in provider cannot be asked: try again later") from error
    if provider.issuer.rstrip("/") != issuer:
        raise ApiError(502, "the log-in provider goes by another name than it is set up with")
    return provider


def _client(settings: Settings, callback: str) -> Any:
    from authlib.integrations.httpx_client import AsyncOAuth2Client

    secret = settings.oidc_client_secret
    return AsyncOAuth2Client(
        client_id=settings.oidc_client_id,
        client_secret=secret.get_secret_value() if secret else None,
        redirect_uri=callback,
        scope="openid profile email",
        timeout=TIMEOUT_S,
        trust_env=False,
    )

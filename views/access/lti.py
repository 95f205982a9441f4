"""Sign in from a learning platform by LTI 1.3: the platform says who a student is, and in which sheet.

    KERNEL_LADDER_LTI=lti.toml     [[platform]] issuer, client_id, login_url, token_url, keys_url, deployments

The three addresses that a platform asks for are /lti/login, /lti/launch and /lti/keys.
"""

from __future__ import annotations

import asyncio
import base64
import hmac
import importlib.util
import json
import os
import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from math import nan
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from engine.records import NotRunnable
from engine.records.json_text import read_json
from engine.records.words import without_halves
from engine.sheets.folder import names
from engine.sheets.progress import plain_name
from engine.sheets.table import table_in
from engine.store import database
from engine.store import progress as store
from engine.store.keeping import LTI_KEY, owner_of_drafts
from views.access import policy
from views.access.policy import ASSISTANT, PRESENTER, STUDENT
from views.access.sign_in import received

SETTINGS = "KERNEL_LADDER_LTI"  # an environment variable: the file with the platforms
NEEDS = ("joserfc", "httpx")
WAITS_S = 600.0  # seconds between /lti/login and /lti/launch
KEYS_LAST_S, KEYS_AGAIN_S = 3600.0, 10.0  # of a platform's keys: how long they hold, and how soon they are asked again
LONGEST_FORM = 64 << 10  # bytes of a launch
_CLAIM = "https://purl.imsglobal.org/spec/lti/claim/"
_ENDPOINT = "https://purl.imsglobal.org/spec/lti-ags/claim/endpoint"
SCORE = "https://purl.imsglobal.org/spec/lti-ags/scope/score"
_STATE = "lti state"  # the purpose of a signature
_CLOCKS_S = 60  # by which two computers' clocks may differ


class Refused(Exception):
    """A launch that is not let in; the message says why."""


@dataclass(frozen=True)
class Platform:
    """A learning platform. `issuer`, `client_id`: its names for itself and for this tool; `login_url`, `token_url`,
    `keys_url`: its addresses; `deployments`: the only ones that may launch, any if empty."""

    issuer: str
    client_id: str
    login_url: str
    token_url: str
    keys_url: str
    deployments: tuple[str, ...] = ()


def platforms() -> tuple[Platform, ...]:
    """Return the platforms of the settings; none without settings. NotRunnable: the file has a fault."""
    path = os.environ.get(SETTINGS)
    return _platforms_in(Path(path)) if path else ()


@lru_cache(maxsize=4)
def _platforms_in(path: Path) -> tuple[Platform, ...]:
    table = table_in(path, str(path))
    found = []
    for each in table.tables("platform"):
        addresses = {name: each.text(name) for name in ("login_url", "token_url", "keys_url")}
        for name, address in addresses.items():
            host = host_of(address)
            if not host or (urlsplit(address).scheme != "https" and host not in ("127.0.0.1", "localhost")):
                raise each.refusal(f"`{name}` is no https address")
        deployments = tuple(each.several("deployments", str, "a text", ()))
        found.append(Platform(each.text("issuer"), each.text("client_id"), **addresses, deployments=deployments))
        each.end()
    table.end()
    return tuple(found)


def said() -> str:
    """Return the line for the start of the server; "" without platforms. NotRunnable: the settings have a fault, or a
    package is missing."""
    found = platforms()
    missing = [name for name in NEEDS if importlib.util.find_spec(name) is None] if found else []
    if missing:
        raise NotRunnable(
            f"{SETTINGS} asks for LTI, which needs packages that are not installed ({', '.join(missing)}): "
            'pip install "streamlit[auth]" -c constraints.txt'
        )
    hosts = ", ".join(host_of(one.issuer) or one.issuer for one in found)
    return f"Students may also come from {hosts}." if found else ""


def host_of(address: str) -> str:
    """Return the host of an address, "" if it has none."""
    try:
        parts = urlsplit(address)
        _ = parts.port
        return parts.hostname or ""
    except ValueError:  # an unfinished address of IPv6, or no number of a port
        return ""


def key() -> Any:
    """Return this tool's own key, an RSAKey of joserfc, made on first use and kept beside the store. OSError."""
    path = database.folder() / LTI_KEY
    return _key(path)


@lru_cache(maxsize=2)
def _key(path: Path) -> Any:
    from joserfc.jwk import RSAKey

    if not path.exists():
        policy.write_once(path, RSAKey.generate_key(2048).as_pem(private=True).decode())
    text = path.read_text(encoding="utf-8")
    return RSAKey.import_key(text, {"kid": sha256(text.encode()).hexdigest()[:16], "use": "sig", "alg": "RS256"})


# ---- the two steps of a launch


async def _login(request: Request) -> Response:
    """Send the browser back to the platform that it comes from, which then posts the launch."""
    given = dict(request.query_params) | (await _form(request) if request.method == "POST" else {})
    try:
        platform = _platform_of(given.get("iss", ""), given.get("client_id"))
    except (Refused, NotRunnable) as refused:
        return _told(str(refused))
    nonce = secrets.token_urlsafe(16)
    asked = {
        "scope": "openid", "response_type": "id_token", "response_mode": "form_post", "prompt": "none",
        "client_id": platform.client_id, "redirect_uri": _beside(request, "launch"), "nonce": nonce,
        "login_hint": given.get("login_hint", ""), "state": _state(nonce),
    }  # fmt: skip
    if "lti_message_hint" in given:
        asked["lti_message_hint"] = given["lti_message_hint"]
    joint = "&" if "?" in platform.login_url else "?"
    return RedirectResponse(f"{platform.login_url}{joint}{urlencode(asked)}", 302, {"cache-control": "no-store"})


async def _launch(request: Request) -> Response:
    """Let in whom the platform vouches for, and lead to the sheet."""
    asks = policy.current()
    if asks.asks != "key":
        return _told("LTI signs in where class keys are asked for: start the server with a key, see docs/class.md.")
    given = await _form(request)
    try:
        claims, platform = await verified(given.get("id_token", ""), _nonce_in(given.get("state", "")))
    except (Refused, NotRunnable) as refused:
        return _told(str(refused))
    browser = sha256(f"{platform.issuer} {_text(claims['sub'])}".encode()).hexdigest()[:16]
    role, name = role_of(_texts(claims.get(f"{_CLAIM}roles"))), name_of(claims)
    sheet = sheet_of(claims)
    await asyncio.to_thread(_remember, owner_of_drafts(browser), name, sheet, claims, platform)
    query = urlencode({key: value for key, value in (("sheet", sheet), ("student", name)) if value})
    answer = RedirectResponse(f"../sheets?{query}", 303, {"cache-control": "no-store"})
    policy.give_cookie(answer, asks.signer.issue(role, browser), request.url.scheme == "https")
    return answer


def _remember(owner: str, name: str, sheet: str, claims: Mapping[str, Any], platform: Platform) -> None:
    if name:
        store.remember_name(owner, name)
    told = _table(claims.get(_ENDPOINT))
    lineitem = _text(told.get("lineitem"))
    if sheet and host_of(lineitem) and SCORE in _texts(told.get("scope")):
        place = {"issuer": platform.issuer, "client_id": platform.client_id, "user": claims["sub"],
                 "lineitem": lineitem}  # fmt: skip
        store.save_return(owner, sheet, json.dumps(place))


async def _keys(request: Request) -> Response:
    """Answer with this tool's public key, by which a platform knows what it signs."""
    if not os.environ.get(SETTINGS):
        return _told("No learning platform is set up here.", 404)
    return JSONResponse({"keys": [(await asyncio.to_thread(key)).as_dict(private=False)]})


def _platform_of(issuer: str, client_id: str | None) -> Platform:
    for one in platforms():
        if one.issuer == issuer and client_id in (None, one.client_id):
            return one
    raise Refused("This learning platform is not set up here: its issuer or client is unknown.")


# ---- what a launch says


async def verified(token: str, nonce: str) -> tuple[Mapping[str, Any], Platform]:
    """Return the claims of a launch, and the platform that signed them. Refused: they do not hold."""
    try:
        body = read_json(_decoded(token.split(".")[1]))
        platform = _platform_of(str(body.get("iss")), _client_in(body))
    except (IndexError, ValueError, AttributeError):
        raise Refused("This is no launch of a learning platform.") from None
    claims = await _signed_claims(token, platform)
    now = time.time()
    deployment = claims.get(f"{_CLAIM}deployment_id")
    checks = {
        "it is for another tool": _client_in(claims) == platform.client_id and claims.get("iss") == platform.issuer,
        "it is too old": _number(claims.get("exp")) > now - _CLOCKS_S,
        "it is of the future": _number(claims.get("iat", 0)) < now + _CLOCKS_S,
        "it answers another sign-in": hmac.compare_digest(_text(claims.get("nonce")).encode(), nonce.encode()),
        "its version is not 1.3.0": claims.get(f"{_CLAIM}version") == "1.3.0",
        "it opens no resource": claims.get(f"{_CLAIM}message_type") == "LtiResourceLinkRequest",
        "its deployment is not set up here": not platform.deployments or deployment in platform.deployments,
        "it names nobody": bool(_text(claims.get("sub"))),
    }
    for why, holds in checks.items():
        if not holds:
            raise Refused(f"The learning platform's launch is refused: {why}.")
    _use_up(nonce)
    return claims, platform


def _client_in(claims: Mapping[str, Any]) -> str | None:
    """Return the client that claims are for: of several the one that they name as such."""
    audience = claims.get("aud")
    if isinstance(audience, list):
        return str(claims.get("azp") or "") if len(audience) > 1 else str(next(iter(audience), ""))
    return str(audience or "")


async def _signed_claims(token: str, platform: Platform) -> Mapping[str, Any]:
    from joserfc import jwt
    from joserfc.errors import JoseError
    from joserfc.jwk import KeySet

    for again in (False, True):  # a platform may have new keys since
        try:
            found = jwt.decode(token, KeySet.import_key_set(await _keys_of(platform, again)), algorithms=["RS256"])
            return dict(found.claims)
        except (JoseError, ValueError, TypeError, KeyError, RecursionError):  # also keys of another form
            continue
    raise Refused("The learning platform's launch is refused: its signature is wrong.")


_known_keys: dict[str, tuple[float, Any]] = {}  # by address: when they were asked for, and what came


async def _keys_of(platform: Platform, again: bool) -> Any:
    """Return a platform's public keys; `again`: newer ones, unless they are new. Refused: it does not answer."""
    import httpx

    asked, found = _known_keys.get(platform.keys_url, (0.0, None))
    age = time.monotonic() - asked
    if found is None or age > (KEYS_AGAIN_S if again else KEYS_LAST_S):
        try:
            async with httpx.AsyncClient(timeout=10.0) as client:
                answer = await client.get(platform.keys_url)
                found = read_json(answer.raise_for_status().content)
        except (httpx.HTTPError, ValueError):
            raise Refused("The learning platform's keys cannot be fetched: try again.") from None
        _known_keys[platform.keys_url] = time.monotonic(), found
    return found


def role_of(roles: Sequence[str]) -> str:
    """Return the role that a platform's roles give. Only those in the course count: who teaches elsewhere may be a
    student here. The address of each ends with its name, or a short one is the name."""
    ends = {one.rpartition("#")[2] for one in roles if "/membership" in one or ":" not in one}
    if "TeachingAssistant" in ends:
        return ASSISTANT.name
    return PRESENTER.name if ends & {"Instructor", "Administrator"} else STUDENT.name


def name_of(claims: Mapping[str, Any]) -> str:
    """Return the student's name, "" if the platform keeps it to itself."""
    parts = (_text(claims.get("given_name")), _text(claims.get("family_name")))
    return plain_name(_text(claims.get("name")) or " ".join(filter(None, parts)))


def sheet_of(claims: Mapping[str, Any]) -> str:
    """Return the sheet of a launch: its own parameter `sheet`, or that of the address that it wants opened; "" if there
    is no such sheet."""
    own = _text(_table(claims.get(f"{_CLAIM}custom")).get("sheet"))
    query = _text(claims.get(f"{_CLAIM}target_link_uri")).partition("?")[2].partition("#")[0]
    found = own or parse_qs(query).get("sheet", [""])[0]
    return found if found in names() else ""


# A platform may sign a claim of any form; one of another form counts as none.


def _text(claim: Any) -> str:
    return without_halves(claim) if isinstance(claim, str) else ""


def _texts(claim: Any) -> list[str]:
    return [one for one in claim if isinstance(one, str)] if isinstance(claim, list) else []


def _table(claim: Any) -> Mapping[str, Any]:
    return claim if isinstance(claim, dict) else {}


def _number(claim: Any) -> float:
    """Return a number, or NaN, for which no comparison holds."""
    try:
        return float(claim) if isinstance(claim, int | float) else nan
    except OverflowError:
        return nan


# ---- the state between the steps

_STARTED = int(time.time())
_STARTED_AT = time.monotonic()
_used: dict[str, float] = {}  # nonces of launches -> when they came
_lock = threading.Lock()


def _now() -> int:
    """Return the seconds since 1970 as if nobody had set the clock since the start."""
    return int(_STARTED + time.monotonic() - _STARTED_AT)


def _state(nonce: str) -> str:
    payload = f"{_now()}.{nonce}"
    return f"{payload}.{policy.proof_of(_STATE, payload)}"


def _nonce_in(state: str) -> str:
    """Return the nonce of a state that this server signed. Refused: it is another's, or too old."""
    payload, _, proof = state.rpartition(".")
    at, _, nonce = payload.partition(".")
    if not nonce or not hmac.compare_digest(proof.encode(), policy.proof_of(_STATE, payload).encode()):
        raise Refused("This sign-in did not begin here: open the sheet in the learning platform again.")
    if int(at) < max(_STARTED, _now() - WAITS_S):  # the nonces before the start are forgotten
        raise Refused("This sign-in took too long: open the sheet in the learning platform again.")
    return nonce


def _use_up(nonce: str) -> None:
    """Let a nonce launch once. Refused: it has."""
    now = time.monotonic()
    with _lock:
        for old in [one for one, at in _used.items() if now - at > 2 * WAITS_S]:
            del _used[old]
        if nonce in _used:
            raise Refused("This sign-in was used already: open the sheet in the learning platform again.")
        _used[nonce] = now


async def _form(request: Request) -> dict[str, str]:
    body = await received(request, LONGEST_FORM) or b""
    return {name: values[0] for name, values in parse_qs(body.decode("utf-8", "replace")).items()}


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _beside(request: Request, name: str) -> str:
    """Return the address beside the one that was asked for."""
    return str(request.url.replace(path=f"{request.url.path.rpartition('/')[0]}/{name}", query=""))


def _told(sentence: str, status: int = 403) -> Response:
    return PlainTextResponse(sentence, status, {"cache-control": "no-store"})


ROUTES = (
    Route("/lti/login", _login, methods=["GET", "POST"]),
    Route("/lti/launch", _launch, methods=["POST"]),
    Route("/lti/keys", _keys),
)

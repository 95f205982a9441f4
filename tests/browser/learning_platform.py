"""A little learning platform on the loopback, as LTI 1.3 and its Assignment and Grade Services describe one.

Whoever `somebody` is at the moment opens the resource at `/open`; `scores` are the points that came back.
"""

from __future__ import annotations

import json
import secrets
import time
import urllib.parse
import urllib.request
from contextlib import AbstractContextManager
from html import escape
from typing import Any

from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

from tests.browser.loopback import Quiet, answering

CLIENT, DEPLOYMENT = "ladder-client", "7"
CLAIM = "https://purl.imsglobal.org/spec/lti/claim/"
AGS = "https://purl.imsglobal.org/spec/lti-ags/claim/endpoint"
SCORE = "https://purl.imsglobal.org/spec/lti-ags/scope/score"
ROLE = "http://purl.imsglobal.org/vocab/lis/v2/membership#"
ADA = {"sub": "4711", "name": "Ada Lovelace", f"{CLAIM}roles": [f"{ROLE}Learner"]}
PAGE = (
    '<form id="launch" method="post" action="{}"><input name="id_token" value="{}"><input name="state" value="{}">'
    "</form><script>document.getElementById('launch').submit()</script>"
)


class LearningPlatform:
    """`address`: its own; `tool`: the dashboard's; `sheet`: of the resource."""

    def __init__(self, address: str) -> None:
        self.address, self.tool, self.sheet = address, "", ""
        self.somebody: dict[str, Any] = dict(ADA)
        self.key = RSAKey.generate_key(2048, {"kid": "one", "use": "sig", "alg": "RS256"})
        self.scores: list[tuple[str, dict[str, Any]]] = []
        self.permitted: set[str] = set()

    @property
    def settings(self) -> str:
        """What a dashboard must know of it."""
        return (
            f'[[platform]]\nissuer = "{self.address}"\nclient_id = "{CLIENT}"\nlogin_url = "{self.address}/auth"\n'
            f'token_url = "{self.address}/token"\nkeys_url = "{self.address}/jwks"\ndeployments = ["{DEPLOYMENT}"]\n'
        )

    def claims(self, nonce: str, **other: Any) -> dict[str, Any]:
        """What it says of a launch."""
        now = int(time.time())
        return {
            "iss": self.address, "aud": [CLIENT], "iat": now, "exp": now + 300, "nonce": nonce,
            f"{CLAIM}version": "1.3.0", f"{CLAIM}message_type": "LtiResourceLinkRequest",
            f"{CLAIM}deployment_id": DEPLOYMENT,
            f"{CLAIM}target_link_uri": f"{self.tool}/lti/launch?sheet={self.sheet}",
            AGS: {"scope": [SCORE], "lineitem": f"{self.address}/items/3?type=1"}, **self.somebody, **other,
        }  # fmt: skip

    def launch(self, nonce: str, **other: Any) -> str:
        """A signed launch."""
        return jwt.encode({"alg": "RS256", "kid": "one"}, self.claims(nonce, **other), self.key)

    def keys(self) -> dict[str, Any]:
        return {"keys": [self.key.as_dict(private=False)]}

    def opened(self) -> str:
        """Where the browser goes that opens the resource."""
        hint = {"iss": self.address, "login_hint": "user-1", "client_id": CLIENT, "lti_message_hint": "resource-3",
                "target_link_uri": f"{self.tool}/lti/launch?sheet={self.sheet}"}  # fmt: skip
        return f"{self.tool}/lti/login?{urllib.parse.urlencode(hint)}"

    def authorized(self, asked: dict[str, str]) -> str:
        """The page that posts the launch."""
        assert asked["client_id"] == CLIENT and asked["redirect_uri"] == f"{self.tool}/lti/launch"
        assert asked["login_hint"] == "user-1" and asked["lti_message_hint"] == "resource-3"
        assert (asked["response_type"], asked["response_mode"], asked["scope"]) == ("id_token", "form_post", "openid")
        return PAGE.format(*map(escape, (asked["redirect_uri"], self.launch(asked["nonce"]), asked["state"])))

    def token(self, given: dict[str, str]) -> dict[str, Any]:
        """The permission to write scores, for whom the tool's own key has signed."""
        with urllib.request.urlopen(f"{self.tool}/lti/keys", timeout=10) as answer:
            keys = KeySet.import_key_set(json.load(answer))
        claims = jwt.decode(given["client_assertion"], keys, algorithms=["RS256"]).claims
        assert claims["iss"] == claims["sub"] == CLIENT and claims["aud"] == f"{self.address}/token"
        assert given["grant_type"] == "client_credentials" and given["scope"] == SCORE
        permission = secrets.token_hex(8)
        self.permitted.add(permission)
        return {"access_token": permission, "token_type": "Bearer", "expires_in": 3600}


def _handler(platform: LearningPlatform) -> type[Quiet]:
    class Handler(Quiet):
        def do_GET(self) -> None:
            parts = urllib.parse.urlsplit(self.path)
            if parts.path == "/open":
                self.lead_to(platform.opened())
            elif parts.path == "/auth":
                self.tell(platform.authorized(dict(urllib.parse.parse_qsl(parts.query))), "text/html")
            elif parts.path == "/jwks":
                self.tell(json.dumps(platform.keys()))
            else:
                self.send_error(404)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            if self.path == "/token":
                self.tell(json.dumps(platform.token(dict(urllib.parse.parse_qsl(body)))))
            elif self.headers["authorization"].removeprefix("Bearer ") in platform.permitted:
                assert self.headers["content-type"] == "application/vnd.ims.lis.v1.score+json"
                platform.scores.append((self.path, json.loads(body)))
                self.tell("{}")
            else:
                self.send_error(401)

    return Handler


def learning_platform() -> AbstractContextManager[LearningPlatform]:
    """One that answers until the end."""
    return answering(LearningPlatform, _handler)

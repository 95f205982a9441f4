"""A little identity provider on the loopback, as OpenID Connect describes one, for tests of signing in.

It asks for no password: whoever `somebody` is at the moment has an account there and is signed in.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import time
import urllib.parse
from contextlib import AbstractContextManager
from typing import Any

from joserfc import jwt
from joserfc.jwk import RSAKey

from tests.browser.loopback import Quiet, answering

CLIENT, SECRET = "kernel-ladder", "a secret of the client's"
ADA = {"sub": "1", "email": "ada@school.edu", "email_verified": True, "groups": ["staff"]}


class Provider:
    """`somebody`: whom it tells about; `address`: what secrets.toml calls its own; `asked`: whether each code was asked
    for with a challenge that its buyer had to know the answer to."""

    def __init__(self, address: str) -> None:
        self.address, self.somebody = address, dict(ADA)
        self.key = RSAKey.generate_key(2048, {"kid": "one", "use": "sig", "alg": "RS256"})
        self.codes: dict[str, dict[str, str]] = {}
        self.challenged: list[bool] = []
        self.signed_out = 0

    def secrets(self, dashboard: str) -> str:
        """The dashboard's secrets.toml, without roles."""
        return (
            f'[auth]\nredirect_uri = "{dashboard}/oauth2callback"\ncookie_secret = "{secrets.token_hex(16)}"\n'
            f'client_id = "{CLIENT}"\nclient_secret = "{SECRET}"\n'
            f'server_metadata_url = "{self.address}/.well-known/openid-configuration"\n'
        )

    def metadata(self) -> dict[str, Any]:
        place = {name: f"{self.address}/{name}" for name in ("authorize", "token", "jwks", "logout")}
        return {
            "issuer": self.address, "authorization_endpoint": place["authorize"], "token_endpoint": place["token"],
            "jwks_uri": place["jwks"], "end_session_endpoint": place["logout"], "response_types_supported": ["code"],
            "subject_types_supported": ["public"], "id_token_signing_alg_values_supported": ["RS256"],
            "code_challenge_methods_supported": ["S256"],
        }  # fmt: skip

    def authorized(self, asked: dict[str, str]) -> str:
        """Where the browser is sent with its code."""
        assert asked["client_id"] == CLIENT and asked["response_type"] == "code" and "openid" in asked["scope"]
        code = secrets.token_urlsafe(16)
        self.codes[code] = asked
        return f"{asked['redirect_uri']}?{urllib.parse.urlencode({'code': code, 'state': asked['state']})}"

    def token(self, given: dict[str, str]) -> dict[str, Any]:
        """What the dashboard gets for a code, once."""
        asked = self.codes.pop(given["code"])
        digest = hashlib.sha256(given.get("code_verifier", "").encode()).digest()
        answer = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        self.challenged.append(asked.get("code_challenge") == answer)
        assert given["redirect_uri"] == asked["redirect_uri"]
        now = int(time.time())
        claims = {"iss": self.address, "aud": CLIENT, "iat": now, "exp": now + 600, "nonce": asked["nonce"]}
        text = jwt.encode({"alg": "RS256", "kid": "one"}, claims | self.somebody, self.key)
        return {"access_token": secrets.token_hex(8), "token_type": "Bearer", "expires_in": 600, "id_token": text}


def _handler(provider: Provider) -> type[Quiet]:
    class Handler(Quiet):
        def do_GET(self) -> None:
            parts = urllib.parse.urlsplit(self.path)
            asked = dict(urllib.parse.parse_qsl(parts.query))
            if parts.path == "/authorize":
                self.lead_to(provider.authorized(asked))
            elif parts.path == "/logout":
                provider.signed_out += 1
                self.lead_to(asked["post_logout_redirect_uri"])
            elif parts.path == "/jwks":
                self.tell(json.dumps({"keys": [provider.key.as_dict(private=False)]}))
            elif parts.path == "/.well-known/openid-configuration":
                self.tell(json.dumps(provider.metadata()))
            else:
                self.send_error(404)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            basic = base64.b64encode(f"{CLIENT}:{urllib.parse.quote_plus(SECRET)}".encode()).decode()
            plain = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
            assert self.headers["authorization"] in (f"Basic {basic}", f"Basic {plain}")
            self.tell(json.dumps(provider.token(dict(urllib.parse.parse_qsl(body)))))

    return Handler


def identity_provider() -> AbstractContextManager[Provider]:
    """One that answers until the end."""
    return answering(Provider, _handler)

"""The visitor of a page: role, account, and the name of the browser."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from hashlib import sha256
from html import escape
from http.cookies import CookieError, SimpleCookie
from typing import Any

import streamlit as st
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engine.store.drafts import KEPT_DAYS
from engine.store.keeping import owner_of_drafts
from views.access import policy
from views.access.policy import PRESENTER, ROLES, STUDENT, Role

CLAIM = "email"  # unless [roles] says claim = "..."


def role_of_account(user: Mapping[str, Any], secrets: Mapping[str, Any]) -> Role | None:
    """Return the highest role of an account; None if it has not signed in, or has no role."""
    if not user.get("is_logged_in"):
        return None
    roles = secrets.get("roles", {})
    claim = roles.get("claim", CLAIM)
    if claim == "email" and user.get("email_verified") is False:
        return None
    told = user.get(claim)
    has = {str(one).lower() for one in (told if isinstance(told, list | tuple) else [told])}
    for role in ROLES.values():
        if has & {str(one).lower() for one in roles.get(role.name, ())}:
            return role
    return STUDENT if STUDENT.name not in roles else None


def name_of_account(user: Mapping[str, Any]) -> str:
    """Return the name of an account, as its provider states it."""
    return str(user.get("email") or user.get("sub") or "")


COOKIE = "kernel-ladder-browser"
_AGE_S = KEPT_DAYS * 24 * 3600
_HTML = b"text/html"
_BROWSER_NAME = re.compile(r"[0-9a-f]{32}")


class BrowserName:
    """ASGI middleware: gives a new browser a name, with the first page that it loads."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request and the answer on; add the cookie to the page of a browser without a name."""
        if scope["type"] != "http" or policy.current().asks != "nothing" or _has_name(scope):
            await self.app(scope, receive, send)
            return

        async def named(message: Message) -> None:
            headers = message.get("headers", ())
            if message["type"] == "http.response.start" and dict(headers).get(b"content-type", b"").startswith(_HTML):
                secure = "; Secure" if scope.get("scheme") == "https" else ""
                cookie = f"{COOKIE}={secrets.token_hex(16)}; Path=/; Max-Age={_AGE_S}; HttpOnly; SameSite=Lax{secure}"
                message = {**message, "headers": [*headers, (b"set-cookie", cookie.encode())]}
            await send(message)

        await self.app(scope, receive, named)


def named_browser() -> str | None:
    """Return the name of this script run's browser; None if it keeps no cookies."""
    return _valid_name(st.context.cookies.get(COOKIE))


def _has_name(scope: Scope) -> bool:
    try:
        found = SimpleCookie(dict(scope["headers"]).get(b"cookie", b"").decode("latin-1")).get(COOKIE)
    except CookieError:
        return False
    return found is not None and _valid_name(found.value) is not None


def _valid_name(name: object) -> str | None:
    return name if isinstance(name, str) and _BROWSER_NAME.fullmatch(name) else None


def role() -> Role | None:
    """Return the visitor's role; None without a sign-in, or after it has expired."""
    asks = policy.current()
    if asks.asks == "nothing":
        return PRESENTER
    if asks.asks == "account":
        return role_of_account(st.user.to_dict(), st.secrets.to_dict())
    token = policy.token_in_cookies(asks, st.context.cookies)
    return ROLES[token.role] if token else None


def role_is_given() -> bool:
    """Return whether visitors sign in for their role; without keys and accounts everybody is a presenter."""
    return policy.current().asks != "nothing"


def rights() -> Role:
    """Return this browser's rights; without a sign-in they are a student's at most."""
    return role() or STUDENT


def browser() -> str | None:
    """Return the browser's name, or its account's; None if nothing is asked for."""
    asks = policy.current()
    if asks.asks == "account":
        return sha256(str(name_of_account(st.user.to_dict())).encode()).hexdigest()[:16]
    token = policy.token_in_cookies(asks, st.context.cookies) if asks.asks == "key" else None
    return token.browser if token else None


def name() -> str | None:
    """Return the name of this browser or of its account; None without a sign-in or without cookies."""
    return named_browser() if policy.current().asks == "nothing" else browser()


def owner() -> str | None:
    """Return this browser's or account's key in the store, which does not reveal the cookie; None without a name."""
    found = name()
    return owner_of_drafts(found) if found else None


def account() -> str | None:
    """Return the name of the account, if accounts are asked for."""
    return name_of_account(st.user.to_dict()) if policy.current().asks == "account" else None


def show_badge() -> None:
    """Show the visitor's role and a button to sign out; nothing if nothing is asked for."""
    if not role_is_given():
        return
    who, name = rights(), account()
    out = "" if name else '<form method="post" action="./sign-out"><button>Sign out</button></form>'
    called = f"<b>{escape(name)}</b>, {who.name}" if name else f"<b>{who.name}</b>"
    st.html(f'<div class="signedin">You are here as {called}. {escape(who.limits.said)} {out}</div>')
    if name:
        st.button("Sign out", key="sign_out", icon=":material/logout:", on_click=st.logout)


def ask_to_sign_in() -> None:
    """Show a visitor without a role how to sign in."""
    st.header("Sign in")
    asks = policy.current().asks
    if asks == "account" and st.user.get("is_logged_in"):
        st.text(f"{account()} has no role here: ask whoever runs this server.")
        st.button("Sign out", key="sign_out", icon=":material/logout:", on_click=st.logout)
    elif asks == "account":
        st.button("Sign in", key="sign_in", type="primary", icon=":material/login:", on_click=st.login)
    else:
        st.write("Your sign-in has ended: reload this page.")

"""Whose browser a run of the script is for: its role, and its name. For runs of the script, and for callbacks."""

from __future__ import annotations

from hashlib import sha256

import streamlit as st

from views.access import accounts, browser_name, cookies, policy
from views.access.roles import PRESENTER, ROLES, STUDENT, Role


def role() -> Role | None:
    """Who is there; None: somebody who has not signed in, or whose time is over."""
    asks = policy.current()
    if asks.asks == "nothing":
        return PRESENTER
    if asks.asks == "account":
        return accounts.role_of(st.user.to_dict(), st.secrets.to_dict())
    token = cookies.token_of(asks, st.context.cookies)
    return ROLES[token.role] if token else None


def rights() -> Role:
    """What this browser may do; nobody may do more than a student without having signed in."""
    return role() or STUDENT


def browser() -> str | None:
    """The browser's own name, or its account's; None where nobody is asked who they are."""
    asks = policy.current()
    if asks.asks == "account":
        return sha256(str(accounts.name_of(st.user.to_dict())).encode()).hexdigest()[:16]
    token = cookies.token_of(asks, st.context.cookies) if asks.asks == "key" else None
    return token.browser if token else None


def name() -> str | None:
    """The one name of this browser, or of its account; None of one that has not signed in, or keeps no cookies."""
    return browser_name.browser() if policy.current().asks == "nothing" else browser()


def account() -> str | None:
    """The name under which somebody signed in, where accounts are asked for."""
    return accounts.name_of(st.user.to_dict()) if policy.current().asks == "account" else None

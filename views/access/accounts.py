"""Whose account has which role, as secrets.toml says:

[roles]
presenter = ["ada@school.edu"]
assistant = ["tutors"]        # with claim = "groups": what the provider says of somebody
student = [...]               # left out: everybody who can sign in
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from views.access.roles import ROLES, STUDENT, Role

CLAIM = "email"  # unless [roles] says claim = "..."


def role_of(user: Mapping[str, Any], secrets: Mapping[str, Any]) -> Role | None:
    """The highest role of an account; None: it has not signed in, or has none."""
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


def name_of(user: Mapping[str, Any]) -> str:
    """What an account is called, as its provider alone can say."""
    return str(user.get("email") or user.get("sub") or "")

"""As whom somebody is here, what that is limited to, and the way out."""

from __future__ import annotations

from html import escape

import streamlit as st

from views.access import policy, visitor


def show() -> None:
    """A few words; nothing where nobody is asked who they are."""
    asks = policy.current().asks
    if asks == "nothing":
        return
    who, name = visitor.rights(), visitor.account()
    out = "" if name else '<form method="post" action="./sign-out"><button>Sign out</button></form>'
    called = f"<b>{escape(name)}</b>, {who.name}" if name else f"<b>{who.name}</b>"
    st.html(f'<div class="signedin">You are here as {called}. {escape(who.limits.said)} {out}</div>')
    if name:
        st.button("Sign out", key="sign_out", icon=":material/logout:", on_click=st.logout)


def ask() -> None:
    """What a page shows instead of itself to somebody who has no role, or none any more."""
    st.header("Sign in")
    asks = policy.current().asks
    if asks == "account" and st.user.get("is_logged_in"):
        st.text(f"{visitor.account()} has no role here: ask whoever runs this server.")
        st.button("Sign out", key="sign_out", icon=":material/logout:", on_click=st.logout)
    elif asks == "account":
        st.button("Sign in", key="sign_in", type="primary", icon=":material/login:", on_click=st.login)
    else:
        st.write("Your sign-in has ended: reload this page.")

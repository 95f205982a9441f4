"""The page of all terms: an explanation and a drawing of each."""

from __future__ import annotations

import streamlit as st

from views.html.terms import all_html
from views.shared import keyboard
from views.shared.slots import RawHtml

keyboard.on_key({})
st.header("Terms")
st.html(RawHtml(all_html()))

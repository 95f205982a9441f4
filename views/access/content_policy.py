"""The Content-Security-Policy of each kind of answer, and the other headers that OWASP's ASVS asks for."""

from __future__ import annotations

import base64
import re
from functools import lru_cache
from hashlib import sha256

# Of what is no page: a script, a font, a number. Browsers apply it to nothing but an address that is opened itself.
NO_PAGE = "default-src 'none'; frame-ancestors 'self'"
# Streamlit sets styles from its scripts, loads components from addresses that it makes in the browser, and its protocol
# counts in WebAssembly.
_PAGE = (
    "default-src 'self'",
    "script-src 'self' blob: 'wasm-unsafe-eval' {scripts}",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "media-src 'self' data: blob:",
    "worker-src 'self' blob:",
    "object-src 'none'",
    "base-uri 'self'",
    "form-action 'self'",
    "frame-ancestors 'self'",
)
_ALONE = (
    "default-src 'none'",
    "script-src {scripts}",
    "style-src {styles}",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
)


@lru_cache(maxsize=8)
def of_page(page: bytes) -> str:
    """For Streamlit's page: the scripts that stand in it, and no others."""
    return "; ".join(_PAGE).format(scripts=_hashes(page, b"script"))


@lru_cache(maxsize=8)
def of_plain_page(page: bytes) -> str:
    """For a page of our own, which loads nothing."""
    return "; ".join(_ALONE).format(scripts=_hashes(page, b"script"), styles=_hashes(page, b"style"))


def _hashes(page: bytes, element: bytes) -> str:
    found = re.findall(rb'<%b(?: type="importmap")?>(.*?)</%b>' % (element, element), page, flags=re.DOTALL)
    return " ".join(f"'sha256-{base64.b64encode(sha256(text).digest()).decode()}'" for text in found) or "'none'"

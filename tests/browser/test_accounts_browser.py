"""Signing in with an account, in a real browser, at an identity provider of the test's own: there, back, and out."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import free_port, served, tab
from tests.browser.provider import ADA, Provider, identity_provider
from tests.browser.test_access_browser import SLIDE
from tests.browser.test_dashboard import heading, opened

ROLES = """
[roles]
presenter = ["Ada@school.edu"]
"""


@pytest.fixture(scope="module")
def accounts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Provider]]:
    """A dashboard that asks for accounts, and who gives them."""
    home, port = tmp_path_factory.mktemp("accounts"), free_port()
    with identity_provider() as provider:
        settings = home / ".streamlit" / "secrets.toml"
        settings.parent.mkdir()
        settings.write_text(provider.secrets(f"http://127.0.0.1:{port}") + ROLES)
        with served(home, port) as url:
            yield url, provider


def signed_in(page: Page, url: str) -> Page:
    page.goto(url)
    page.get_by_role("button", name="Sign in").click()
    return page


@pytest.mark.release
def test_a_link_survives_signing_in_with_an_account_and_the_list_names_the_presenters(
    browser: Browser, accounts: tuple[str, Provider]
) -> None:
    url, provider = accounts
    provider.somebody = dict(ADA)
    page = tab(browser)
    page.goto(f"{url}{SLIDE}")
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    expect(page.get_by_role("button", name="Run", exact=True)).to_have_count(0)
    page.get_by_role("button", name="Sign in").click()
    heading(page, "bank conflicts")
    expect(page).to_have_url(re.compile(rf"^{url}/\?.*rung=reduce_strided.*n=4096"))
    opened(page, f"{url}/machine")
    expect(page.locator(".signedin")).to_contain_text("You are here as ada@school.edu, presenter.")
    assert provider.challenged[-1]  # a code alone, overheard, buys nothing
    # The page shows that nobody is signed in before the browser has gone to the provider and back.
    with page.expect_response(lambda answer: answer.url.startswith(f"{provider.address}/logout")):
        page.get_by_role("button", name="Sign out").click()
    assert provider.signed_out == 1
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    opened_again = page.context.new_page()
    opened_again.goto(f"{url}{SLIDE}")
    expect(opened_again.get_by_role("button", name="Sign in")).to_be_visible()
    page.context.close()


@pytest.mark.release
@pytest.mark.parametrize(
    ("somebody", "told"),
    [
        ({"sub": "2", "email": "bob@school.edu"}, "You are here as bob@school.edu, student."),
        ({"sub": "3", "email": "ada@school.edu", "email_verified": False}, "ada@school.edu has no role here"),
    ],
)
def test_an_unlisted_account_is_a_student_and_an_unverified_address_is_refused(
    somebody: dict[str, object], told: str, browser: Browser, accounts: tuple[str, Provider]
) -> None:
    url, provider = accounts
    provider.somebody = somebody
    page = signed_in(tab(browser), f"{url}/machine")
    expect(page.get_by_text(told)).to_be_visible()
    page.context.close()


@pytest.mark.thorough
def test_a_sign_in_code_of_another_browser_is_refused(browser: Browser, accounts: tuple[str, Provider]) -> None:
    url, provider = accounts
    asked = {"client_id": "kernel-ladder", "response_type": "code", "scope": "openid", "state": "mine", "nonce": "n",
             "redirect_uri": f"{url}/oauth2callback"}  # fmt: skip
    page = tab(browser)
    page.goto(provider.authorized(asked))
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    page.context.close()

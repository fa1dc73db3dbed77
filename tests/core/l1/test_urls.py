"""Redaction of secrets in URLs and messages."""

from __future__ import annotations

import pytest

from entresol.l1.urls import Endpoint

KEY = "Zx81-s3cr3t_k3y"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://127.0.0.1:8545", "http://127.0.0.1:8545"),
        ("http://127.0.0.1:8545/", "http://127.0.0.1:8545/"),
        ("http://[::1]:8545", "http://[::1]:8545"),
        ("localhost:8545", "localhost:8545"),
        (f"https://l1.example/v2/{KEY}", "https://l1.example/…"),
        (f"https://l1.example/v2/{KEY}/", "https://l1.example/…"),
        (f"https://l1.example:8443?apikey={KEY}", "https://l1.example:8443/…"),
        (f"https://l1.example/?apikey={KEY}", "https://l1.example/…"),
        (f"https://l1.example#{KEY}", "https://l1.example/…"),
        (f"https://user:{KEY}@l1.example", "https://…@l1.example"),
        (f"https://user:a@{KEY}@l1.example:1/x", "https://…@l1.example:1/…"),
        (f"https://{KEY}@l1.example/rpc", "https://…@l1.example/…"),
        (f"wss://l1.example/ws/{KEY}", "wss://l1.example/…"),
        (f"https:/l1.example/{KEY}", "https:/…"),
        (f"l1.example/{KEY}", "l1.example/…"),
        ("", ""),
    ],
)
def test_everything_but_scheme_host_and_port_is_redacted(url: str, shown: str) -> None:
    endpoint = Endpoint(url)
    assert endpoint.redacted == shown
    assert endpoint.has_secret == (url != shown)
    assert endpoint.url == url


@pytest.mark.parametrize(
    "url",
    [
        f"https://l1.example/v2/{KEY}",
        f"https://l1.example/?apikey={KEY}&x=1",
        f"https://user:{KEY}@l1.example",
        f"https://{KEY}@l1.example/v2",
        "https://l1.example/v2/" + KEY.replace("-", "%2D"),
    ],
)
def test_a_key_is_redacted_in_a_text_that_repeats_it(url: str) -> None:
    text = Endpoint(url).redact(f"GET {url}: no such project as {KEY} on v2 of l1.example")
    assert KEY not in text
    assert url not in text
    assert text.endswith("on v2 of l1.example")


def test_a_text_is_unchanged_if_the_url_has_no_secrets() -> None:
    text = "cannot connect to 127.0.0.1:8545: rpc is not there / yet"
    assert Endpoint("http://127.0.0.1:8545/").redact(text) == text


def test_a_password_is_redacted_as_it_is_sent() -> None:
    text = Endpoint("https://name:p%40ss@host/").redact("Authorization: Basic bmFtZTpwQHNz")
    assert text == "Authorization: Basic …"

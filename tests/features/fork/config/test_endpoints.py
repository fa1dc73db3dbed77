"""URLs of forks by names, pinned blocks, headers; errors without secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from entresol.errors import InvalidConfig
from entresol.features.fork.config.endpoints import names_url, parse_headers, resolve_urls

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

KEYED = "https://rpc.example/v2/s3cr3tk3y"


def resolve(
    *given: str, folder: Path, environment: Mapping[str, str] | None = None
) -> tuple[tuple[str, ...], int | None]:
    return resolve_urls(given, "--fork-url", environment or {}, folder)


@pytest.mark.parametrize(
    ("text", "url", "block"),
    [
        ("http://127.0.0.1:8545", "http://127.0.0.1:8545", None),
        ("http://127.0.0.1:8545@12", "http://127.0.0.1:8545", 12),
        (f"{KEYED}@-3", KEYED, -3),
        ("http://user:word@host", "http://user:word@host", None),
    ],
)
def test_a_url_may_pin_a_block(text: str, url: str, block: int | None, tmp_path: Path) -> None:
    assert resolve(text, folder=tmp_path) == ((url,), block)


def test_urls_that_pin_different_blocks_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfig, match="--fork-url: the URLs pin different blocks: 1, 2"):
        resolve("http://a@1", "http://b@2", folder=tmp_path)


@pytest.mark.parametrize(
    "entry",
    [
        f'mainnet = "{KEYED}"',
        'mainnet = "https://rpc.example/v2/${KEY}"',
        f'mainnet = {{ endpoint = "{KEYED}", retries = 3 }}',
    ],
)
def test_a_name_is_looked_up_in_the_project_above(entry: str, tmp_path: Path) -> None:
    (tmp_path / "foundry.toml").write_text(f"[rpc_endpoints]\n{entry}\n")
    below = tmp_path / "test" / "deep"
    below.mkdir(parents=True)
    urls, _ = resolve("mainnet", folder=below, environment={"KEY": "s3cr3tk3y"})
    assert urls == (KEYED,)


def test_a_name_that_the_project_does_not_have_is_a_variable(tmp_path: Path) -> None:
    (tmp_path / "foundry.toml").write_text('[rpc_endpoints]\nother = "http://a"\n')
    environment = {"ENTRESOL_FORK_MY_CHAIN": KEYED}
    assert resolve("my-chain@7", folder=tmp_path, environment=environment) == ((KEYED,), 7)


def test_the_project_comes_before_the_variable(tmp_path: Path) -> None:
    (tmp_path / "foundry.toml").write_text('[rpc_endpoints]\nmainnet = "http://project"\n')
    urls, _ = resolve("mainnet", folder=tmp_path, environment={"ENTRESOL_FORK_MAINNET": KEYED})
    assert urls == ("http://project",)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("nowhere", "there is no nowhere in .*ENTRESOL_FORK_NOWHERE"),
        ("wss://rpc.example/v2/s3cr3tk3y", "wss://rpc.example/… should begin with http"),
        ("localhost:8545/s3cr3tk3y", "should be a URL with http"),
        ("https:///s3cr3tk3y", "should begin with http"),
        ("listed", "listed in .* needs the variable MISSING"),
        ("broken", "broken in .* should begin with http"),
    ],
)
def test_what_is_no_url_is_rejected_without_its_secret(
    text: str, problem: str, tmp_path: Path
) -> None:
    (tmp_path / "foundry.toml").write_text(
        '[rpc_endpoints]\nlisted = "https://a/${MISSING}"\nbroken = "s3cr3tk3y"\n'
    )
    with pytest.raises(InvalidConfig, match=problem) as failed:
        resolve(text, folder=tmp_path)
    assert "s3cr3tk3y" not in str(failed.value)


def test_a_project_file_that_is_no_toml_is_rejected_without_its_content(tmp_path: Path) -> None:
    (tmp_path / "foundry.toml").write_text("s3cr3tk3y")
    with pytest.raises(InvalidConfig, match="cannot be read as TOML") as failed:
        resolve("mainnet", folder=tmp_path)
    assert "s3cr3tk3y" not in str(failed.value)
    assert failed.value.__cause__ is None


def test_headers_have_names_and_values() -> None:
    given = ["Authorization: Bearer a:b, c", "x-key:1"]
    assert parse_headers(given, "--fork-header") == (
        ("Authorization", "Bearer a:b, c"),
        ("x-key", "1"),
    )


@pytest.mark.parametrize(
    "text", ["s3cr3tk3y", ": s3cr3tk3y", "a b: s3cr3tk3y", "a: s3cr3tk3y\r\nb"]
)
def test_a_malformed_header_is_named_by_its_position(text: str) -> None:
    with pytest.raises(InvalidConfig, match="header 2") as failed:
        parse_headers(["a: b", text], "--fork-header")
    assert "s3cr3tk3y" not in str(failed.value)


def test_a_variable_with_a_url_is_a_name_and_no_misspelled_setting() -> None:
    assert names_url("ENTRESOL_FORK_MAINNET", KEYED)
    assert not names_url("ENTRESOL_FORK_BLOK_NUMBER", "12")

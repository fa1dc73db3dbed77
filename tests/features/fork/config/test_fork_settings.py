"""Settings of a fork: what they show, and how they name their flags."""

from __future__ import annotations

from entresol.features.fork.config.fork_settings import ForkSettings


def test_the_representation_has_no_url_and_no_header() -> None:
    settings = ForkSettings(
        urls=("https://host/v2/secret-of-the-url",), headers=(("authorization", "secret-of-h"),)
    )
    assert "secret" not in f"{settings!r} {settings}"


def test_a_flag_of_the_l1_has_its_prefix() -> None:
    assert ForkSettings(flag_prefix="--l1-").flag("fork-url") == "--l1-fork-url"

"""Addresses of clusters: what is accepted, and what is shown of them."""

from __future__ import annotations

import pytest

from entresol.errors import InvalidConfig
from entresol.replication.postgres.connection import ClusterAddress


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://anna:secret@db.example:5433/chain", "postgresql://db.example:5433/chain"),
        ("postgres://db/chain?sslmode=require&password=secret", "postgresql://db/chain"),
        ("postgresql:///chain?host=/run/postgresql", "postgresql:///run/postgresql/chain"),
        ("postgresql://postgres:secret@/chain?host=/tmp/pg", "postgresql:///tmp/pg/chain"),
        ("postgresql:///chain", "postgresql:///chain"),
    ],
)
def test_an_address_is_shown_without_user_and_password(url: str, shown: str) -> None:
    address = ClusterAddress(url)
    assert address.url == url
    assert address.redacted == shown
    assert "secret" not in repr(address)


@pytest.mark.parametrize(
    "url", ["", "mysql://a:secret@b/c", "secret", "postgresql://a:b@c:secret/"]
)
def test_what_is_no_address_is_rejected_without_repeating_it(url: str) -> None:
    with pytest.raises(InvalidConfig, match="--cluster") as error:
        ClusterAddress(url)
    assert "secret" not in str(error.value)

"""A chain behind a dispatcher, asked as a client asks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from entresol.chain.dev.keyring import Keyring
from tests.support.chain.api_client import ACCOUNTS, Client
from tests.support.chain.dev_chain import open_chain


@pytest.fixture
def client() -> Iterator[Client]:
    chain = open_chain()
    client = Client(chain, keyring=Keyring(ACCOUNTS))
    yield client
    client.api.close()
    chain.close()

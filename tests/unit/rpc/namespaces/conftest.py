"""A chain behind a dispatcher, asked as a client asks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from entresol.chain.chain import Chain
from entresol.chain.dev.keyring import Keyring
from entresol.chain.genesis.accounts import DevAccount
from entresol.node.api import Api
from entresol.node.config.schema import ApiConfig, LimitsConfig
from entresol.primitives.values import Hash32
from tests.support.rpc_client import DispatcherClient
from tests.unit.chain.test_chain import SECRETS, open_chain

ACCOUNTS = [DevAccount.from_secret(Hash32(secret)) for secret in SECRETS]


class Client(DispatcherClient):
    """Asks all methods of a chain, and shows the chain behind them."""

    def __init__(
        self,
        chain: Chain,
        *,
        limits: LimitsConfig | None = None,
        keyring: Keyring | None = None,
        config: ApiConfig | None = None,
    ) -> None:
        self.chain = chain
        self.api = Api(chain, lambda: None, keyring=keyring, config=config, limits=limits)
        super().__init__(self.api.dispatcher)


@pytest.fixture
def client() -> Iterator[Client]:
    chain = open_chain()
    client = Client(chain, keyring=Keyring(ACCOUNTS))
    yield client
    client.api.close()
    chain.close()

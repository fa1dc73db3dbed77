"""Client of the whole API of one chain, without a server in between."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from entresol.chain.chain import Chain
from entresol.chain.genesis.accounts import DevAccount
from entresol.dev.keyring import Keyring
from entresol.node.api.api import Api
from entresol.node.api.dialect import Dialect
from entresol.node.config.api import ApiConfig, LimitsConfig
from entresol.primitives.values import Hash32
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.chain.dev_chain import SECRETS, open_chain, transaction
from tests.support.hex_data import hexed
from tests.support.rpc_client import DispatcherClient

ACCOUNTS = [DevAccount.from_secret(Hash32(secret)) for secret in SECRETS]
TARGET = "0x" + "77" * 20
# Reverts with Error("no").
REVERT = (
    "0x7f08c379a000000000000000000000000000000000000000000000000000000000 5f 52"
    "6020 6004 52 6002 6024 52 7f6e6f000000000000000000000000000000000000000000000000000000000000"
    " 6044 52 6064 5f fd"
).replace(" ", "")


class ApiClient(DispatcherClient):
    def __init__(
        self,
        chain: Chain,
        *,
        limits: LimitsConfig | None = None,
        keyring: Keyring | None = None,
        config: ApiConfig | None = None,
        dev_methods: bool = True,
        dialect: Dialect | None = None,
    ) -> None:
        self.chain = chain
        self.api = Api(
            chain,
            InlineSequencer(chain),
            wake=lambda: None,
            keyring=keyring,
            config=config,
            dev_methods=dev_methods,
            limits=limits,
            dialect=dialect,
        )
        super().__init__(self.api.dispatcher)


@contextmanager
def running_api(
    *,
    config: ApiConfig | None = None,
    dev_methods: bool = True,
    dialect: Dialect | None = None,
    locked: str | None = None,
) -> Iterator[ApiClient]:
    """Open the development chain, with its accounts unlocked unless there is a reason, and close it at the end."""
    chain, keyring = open_chain(), Keyring(ACCOUNTS, locked=locked)
    client = ApiClient(
        chain, keyring=keyring, config=config, dev_methods=dev_methods, dialect=dialect
    )
    try:
        yield client
    finally:
        client.api.close()
        chain.close()


def send(client: ApiClient, nonce: int = 0, **fields: Any) -> str:
    """Send a transaction of the development chain, and return its hash."""
    sent: str = client("eth_sendRawTransaction", hexed(transaction(nonce, **fields).raw))
    return sent


def with_code(code: str, **more: Any) -> dict[str, Any]:
    """Return state overrides that put code at `TARGET`."""
    return {TARGET: {"code": code, **more}}

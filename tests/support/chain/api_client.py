"""Client of the whole API of one chain, without a server in between."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from entresol._native import keccak256, rlp_encode
from entresol.chain.chain import Chain
from entresol.chain.genesis.accounts import DevAccount
from entresol.chain.keyring import Keyring
from entresol.node.api.dialect import Dialect
from entresol.node.config.api import ApiConfig, LimitsConfig
from entresol.primitives.values import Address, Hash32
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.chain.dev_chain import (
    BOB,
    SECRETS,
    deposit,
    open_chain,
    open_importing,
    roots,
    transaction,
)
from tests.support.chain.served import served_chain
from tests.support.chain.steering import set_balance, set_code
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
        self.api = served_chain(
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


@contextmanager
def importing_api() -> Iterator[ApiClient]:
    """Open a chain whose block 1 has roots, a deposit and a transfer with a tip, and close it at the end."""
    chain = open_importing()
    chain.schedule.seal_on_request()
    client = ApiClient(chain, keyring=Keyring(ACCOUNTS))
    chain.filler.roots.extend(roots(2))
    chain.enqueue(deposit(0))
    chain.add(transaction(0, tip=7))
    chain.builder.seal()
    try:
        yield client
    finally:
        client.api.close()
        chain.close()


def send(client: ApiClient, nonce: int = 0, **fields: Any) -> str:
    sent: str = client("eth_sendRawTransaction", hexed(transaction(nonce, **fields).raw))
    return sent


def with_code(code: str, **more: Any) -> dict[str, Any]:
    return {TARGET: {"code": code, **more}}


INNER = Address(b"\xa1" * 20)
OUTER = Address(b"\xa2" * 20)
REVERTER = Address(b"\xa3" * 20)
FACTORY = Address(b"\xa4" * 20)
# Adds one to slot 0, and returns it.
_COUNT = "5f546001015f555f545f5260205ff3"
# Calls the counter, then sends Bob a wei.
_CALL = f"5f5f5f5f5f73{INNER.hex()}5af1505f5f5f5f600173{BOB.hex()}5af1"
# Reverts with 0x2a.
_REVERT = "602a5f5260205ffd"
# Creates a contract with one byte of code by the init code `6001 5f f3`.
_CREATE = "6260015f60e81b5f5260f360035360045f5ff0"


CODES = {
    INNER: f"0x{_COUNT}",
    OUTER: f"0x{_CALL}",
    REVERTER: f"0x{_REVERT}",
    FACTORY: f"0x{_CREATE}",
}


class TracedChain:
    """The client of a chain, and the hashes of its transactions."""

    def __init__(self, client: ApiClient) -> None:
        self.client = client
        for address, code in CODES.items():
            set_code(client.chain, address, code)
        set_balance(client.chain, OUTER, 10**18)
        self.nested = send(client, 0, to=OUTER, wei=0)
        self.failed = send(client, 1, to=REVERTER, wei=0)
        self.creating = send(client, 2, to=FACTORY, wei=0)
        self.transfer = send(client, 3, wei=7)


def created_by(creator: Address, nonce: int) -> Address:
    encoded = rlp_encode([bytes(creator), nonce.to_bytes((nonce.bit_length() + 7) // 8)])
    return Address(keccak256(encoded)[12:])


@contextmanager
def traced_chain() -> Iterator[TracedChain]:
    with running_api() as client:
        yield TracedChain(client)

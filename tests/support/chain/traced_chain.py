"""A chain with calls, creations and failures for the methods that trace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from entresol._native import keccak256, rlp_encode
from entresol.primitives.values import Address
from tests.support.chain.api_client import ApiClient, running_api, send
from tests.support.chain.dev_chain import BOB

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
            client("anvil_setCode", str(address), code)
        client("anvil_setBalance", str(OUTER), "0xde0b6b3a7640000")
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

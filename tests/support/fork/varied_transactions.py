"""Transactions of every type of Ethereum and every ending, for a chain that is executed again elsewhere."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from entresol._native import address_of, keccak256, public_key, rlp_encode
from entresol._native import sign as sign_digest
from entresol.primitives.rlp import encode_uint
from entresol.primitives.transactions import (
    Access,
    AccessListTransaction,
    Authorization,
    FeeMarketTransaction,
    LegacyTransaction,
    SetCodeTransaction,
    SignedPayload,
    sign,
)
from entresol.primitives.values import Address
from tests.support.anvil import Anvil
from tests.support.blobs import blob_transaction, sample_sidecar
from tests.support.chain.varied_chain import (
    CALLER,
    CODES,
    COUNTER,
    FEE,
    LOGGER,
    NOBODY,
    SECRETS,
    SENDERS,
    SIGNER,
    SLOT,
)

CHAIN_ID: Final = 31337
GAS: Final = 300_000
AUTHORITY: Final = Address(address_of(public_key(SIGNER)))
_DEPLOYED: Final = bytes.fromhex("60016000f3")


class VariedTransactions:
    """Makes the signed transactions of blocks: one of each type, and one to each contract, in any order."""

    def __init__(self, *, has_sidecars: bool, seed: int = 0) -> None:
        self._has_sidecars = has_sidecars
        self._random = random.Random(seed)
        self._nonces = dict.fromkeys(SECRETS, 0)
        self._signer_nonce = 0

    def block(self) -> Iterator[bytes]:
        """Yield the raw transactions of a block."""
        payloads = list(self._payloads())
        self._random.shuffle(payloads)
        for payload in payloads:
            secret = self._random.choice(SECRETS[:4])
            yield sign(msgspec.structs.replace(payload, nonce=self._next(secret)), secret).raw
        sidecar = sample_sidecar(1, form="cell proofs") if self._has_sidecars else None
        named = None if self._has_sidecars else [b"\x01" * 32]
        yield blob_transaction(SECRETS[4], sidecar, nonce=self._next(SECRETS[4]), hashes=named)

    def _next(self, secret: bytes) -> int:
        self._nonces[secret] += 1
        return self._nonces[secret] - 1

    def _payloads(self) -> Iterator[SignedPayload]:
        priced: dict[str, Any] = {"gas_price": FEE, "gas_limit": GAS, "nonce": 0}
        capped: dict[str, Any] = {
            "chain_id": CHAIN_ID,
            "max_fee_per_gas": FEE,
            "max_priority_fee_per_gas": 1,
            "gas_limit": GAS,
            "nonce": 0,
        }
        accesses = (Access(LOGGER, (SLOT,)), Access(NOBODY), Access(COUNTER, (SLOT,)))
        yield LegacyTransaction(**priced, to=NOBODY, value=5)
        yield LegacyTransaction(**priced, chain_id=CHAIN_ID, to=None, data=_DEPLOYED)
        yield FeeMarketTransaction(**capped, to=None, data=b"\xfe")
        for to in CODES:
            more = {"gas_limit": 2_000_000} if to == CALLER else {}
            yield FeeMarketTransaction(**(capped | more), to=to, data=b"\1\2\3\4\5", value=7)
        yield LegacyTransaction(
            gas_price=FEE, gas_limit=30_000, nonce=0, chain_id=CHAIN_ID, to=COUNTER
        )
        yield AccessListTransaction(**priced, chain_id=CHAIN_ID, to=COUNTER, access_list=accesses)
        yield FeeMarketTransaction(**capped, to=LOGGER, access_list=accesses, data=b"\xff" * 40)
        yield SetCodeTransaction(**capped, to=SENDERS[3], authorizations=(self._authorization(),))

    def _authorization(self) -> Authorization:
        """Return a permission of a key that sends nothing, to the code of either of two contracts, or of none."""
        target = self._random.choice((LOGGER, COUNTER, Address.zero()))
        fields = [encode_uint(CHAIN_ID), target, encode_uint(self._signer_nonce)]
        signature = sign_digest(keccak256(b"\x05" + rlp_encode(fields)), SIGNER)
        r, s = int.from_bytes(signature[:32]), int.from_bytes(signature[32:64])
        found = Authorization(CHAIN_ID, target, self._signer_nonce, signature[64], r, s)
        self._signer_nonce += 1
        return found


class VariedAnvil:
    """An anvil whose blocks from `first` on have transactions of every type."""

    def __init__(self, anvil: Anvil) -> None:
        self._anvil = anvil
        self._transactions = VariedTransactions(has_sidecars=True)
        self.sent = 0
        for sender in SENDERS:
            anvil("anvil_setBalance", str(sender), hex(10**21))
        # Anvil refunds an authorization of an account that does not exist as if it did (EIP-7702).
        anvil("anvil_setBalance", str(AUTHORITY), "0x1")
        for address, code in CODES.items():
            anvil("anvil_setCode", str(address), "0x" + bytes.fromhex(code).hex())
        anvil("evm_setAutomine", False)
        anvil("evm_mine")
        self.first = int(anvil("eth_blockNumber"), 16) + 1

    @property
    def last(self) -> int:
        """The last block."""
        return int(self._anvil("eth_blockNumber"), 16)

    def mine(self, blocks: int) -> None:
        """Mine blocks with transactions of every type."""
        for _ in range(blocks):
            for raw in self._transactions.block():
                self._anvil("eth_sendRawTransaction", "0x" + raw.hex())
                self.sent += 1
            self._anvil("evm_mine")

"""A chain of either layer and of any fork, with transactions of every type and every ending."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any, Final

import msgspec

from entresol._native import address_of, keccak256, public_key, rlp_encode
from entresol._native import sign as sign_digest
from entresol.chain.chain import Chain
from entresol.chain.clock import Clock
from entresol.chain.genesis.accounts import DevAccount
from entresol.chain.genesis.genesis import Genesis, GenesisAccount
from entresol.chain.keyring import Keyring
from entresol.chain.rules import FORKS, ChainRules
from entresol.errors import EntresolError
from entresol.primitives.interop_roots import ROOT_STORAGE
from entresol.primitives.l2_to_l1_logs import L1_MESSAGE_SENT, L1_MESSENGER
from entresol.primitives.transactions import (
    Access,
    AccessListTransaction,
    Authorization,
    FeeMarketTransaction,
    LegacyTransaction,
    SetCodeTransaction,
    SignedPayload,
    ZkTransaction,
    decode,
    sign,
)
from entresol.primitives.values import Address, Hash32
from tests.support.blobs import blob_transaction, sample_sidecar
from tests.support.chain.api_client import ApiClient
from tests.support.chain.dev_chain import ROOT_CONTRACT, priority_transaction, roots

ETHER: Final = 10**18
FEE: Final = 10**11
GAS: Final = 300_000
SECRETS: Final = [bytes([number]) * 32 for number in range(1, 6)]
SENDERS: Final = [Address(address_of(public_key(secret))) for secret in SECRETS]
SIGNER: Final = b"\x09" * 32
"""Signs an authorization, and sends nothing."""

COUNTER: Final = Address(b"\xa1" * 20)
LOGGER: Final = Address(b"\xa2" * 20)
REVERTER: Final = Address(b"\xa3" * 20)
FACTORY: Final = Address(b"\xa4" * 20)
HEIR: Final = Address(b"\xa5" * 20)
STOPPER: Final = Address(b"\xa6" * 20)
CALLER: Final = Address(b"\xa7" * 20)
NOBODY: Final = Address(b"\xee" * 20)
SLOT: Final = Hash32(bytes(32))

# Reverts with Error("no").
_REASON: Final = (
    "7f08c379a000000000000000000000000000000000000000000000000000000000 6000 52"
    "6020 6004 52 6002 6024 52 7f6e6f000000000000000000000000000000000000000000000000000000000000"
    " 6044 52 6064 6000 fd"
)
# Creates an empty contract and one with a byte of code, with CREATE, then the latter with CREATE2.
_CREATE: Final = (
    "6000 6000 6000 f0 50 6460016000f3 6000 52 6005 601b 6000 f0 50 6000 6005 601b 6000 f5 50"
)


def _calls(*targets: Address) -> str:
    """Return code that calls contracts with every instruction; each call has 50,000 gas, and some wei."""
    code = ""
    for to in targets:
        code += f"6000 6000 6000 6000 6001 73{to.hex()} 61c350 f1 50"
        code += f"6000 6000 6000 6000 6000 73{to.hex()} 61c350 f2 50"
        for instruction in ("f4", "fa"):
            code += f"6000 6000 6000 6000 73{to.hex()} 61c350 {instruction} 50"
    return code


CODES: Final = {
    # Adds one to slot 0, hashes and returns it; and once more reads what it wrote.
    COUNTER: "6000 54 6001 01 6000 55 6000 54 6000 52 6020 6000 20 50 6020 6000 f3",
    LOGGER: "36 6000 6000 37 33 36 6000 a1",
    REVERTER: _REASON,
    FACTORY: _CREATE,
    HEIR: f"73{NOBODY.hex()} ff",
    STOPPER: "fe",
    CALLER: _calls(COUNTER, LOGGER, REVERTER, STOPPER, HEIR, Address(bytes(19) + b"\x04"), FACTORY),
    # Sends its input to L1.
    L1_MESSENGER: f"36 6000 6000 37 36 6000 20 33 7f{L1_MESSAGE_SENT.hex()} 36 6000 a3",
}


def varied_genesis(chain_id: int) -> Genesis:
    codes = {
        address: GenesisAccount(code=bytes.fromhex(code), nonce=1, balance=1000)
        for address, code in CODES.items()
    }
    codes[ROOT_STORAGE] = ROOT_CONTRACT
    return Genesis.development(chain_id, SENDERS, 1000 * ETHER, codes)


class VariedChain:
    """The client of a chain; block 1 is empty, block 2 has all types and endings, and some wait in the pool."""

    def __init__(self, rules: ChainRules, chain: Chain | None = None) -> None:
        """Build it on an empty chain, or on one whose state is as that of the genesis."""
        self.rules = rules
        self.chain = chain or Chain.open(
            None, rules, varied_genesis(rules.chain_id), clock=Clock(lambda: 1_000.0)
        )
        accounts = [DevAccount.from_secret(Hash32(secret)) for secret in SECRETS]
        self.client = ApiClient(self.chain, keyring=Keyring(accounts))
        self.chain.schedule.seal_on_request()
        self.chain.builder.seal()
        self.raw: list[bytes] = []
        self._nonces = dict.fromkeys(SECRETS, 0)
        self._fill()
        self.chain.builder.seal()
        self._fill()
        late = LegacyTransaction(
            gas_price=FEE, gas_limit=GAS, nonce=99, chain_id=rules.chain_id, to=NOBODY
        )
        self.chain.add(sign(late, SECRETS[0]))

    def close(self) -> None:
        self.client.api.close()
        self.chain.close()

    def _fill(self) -> None:
        if 0x71 in self.rules.accepted_types:
            nonce = sum(self._nonces.values())
            self.chain.enqueue(
                priority_transaction(nonce, sender=SENDERS[0], to=LOGGER, value=9, fee=FEE)
            )
        if self.rules.fork == FORKS[-1] and not self.rules.epoch_slots:
            self.chain.filler.roots.extend(roots(2, first=2 * self.chain.number + 1))
        for index, payload in enumerate(self._payloads()):
            secret = SECRETS[index % 4]
            self._add(
                sign(msgspec.structs.replace(payload, nonce=self._nonces[secret]), secret).raw
            )
        sidecar = sample_sidecar(
            1, form="cell proofs" if self.rules.fork == "osaka" else "blob proofs"
        )
        last = SECRETS[4]
        self._add(blob_transaction(last, sidecar, nonce=self._nonces[last], fee_cap=FEE, tip=1))
        if 0x71 in self.rules.accepted_types:
            self._add(sign(self._zk(self._nonces[last]), last).raw)

    def _add(self, raw: bytes) -> None:
        # A fork before its type rejects it.
        with suppress(EntresolError):
            transaction = decode(raw)
            self.chain.add(transaction)
            self.raw.append(raw)
            self._nonces[SECRETS[SENDERS.index(transaction.sender)]] += 1

    def _payloads(self) -> Iterator[SignedPayload]:
        chain_id = self.rules.chain_id
        priced: dict[str, Any] = {"gas_price": FEE, "gas_limit": GAS, "nonce": 0}
        capped: dict[str, Any] = {
            "chain_id": chain_id, "max_fee_per_gas": FEE, "max_priority_fee_per_gas": 1,
            "gas_limit": GAS, "nonce": 0,
        }  # fmt: skip
        accesses = (Access(LOGGER, (SLOT,)), Access(NOBODY))
        yield LegacyTransaction(**priced, to=NOBODY, value=5)
        yield LegacyTransaction(
            **priced, chain_id=chain_id, to=None, data=bytes.fromhex("60016000f3")
        )
        yield LegacyTransaction(**priced, chain_id=chain_id, to=None, data=bytes.fromhex(_REASON))
        for to in CODES:
            gas = 2_000_000 if to == CALLER else GAS
            yield LegacyTransaction(
                gas_price=FEE, gas_limit=gas, nonce=0, chain_id=chain_id, to=to, data=b"\1\2\3\4\5", value=7
            )  # fmt: skip
        yield LegacyTransaction(
            gas_price=FEE, gas_limit=30_000, nonce=0, chain_id=chain_id, to=COUNTER
        )
        yield AccessListTransaction(**priced, chain_id=chain_id, to=LOGGER, access_list=accesses)
        yield FeeMarketTransaction(**capped, to=REVERTER, access_list=accesses)
        yield SetCodeTransaction(**capped, to=LOGGER, authorizations=(authorization(chain_id),))

    def _zk(self, nonce: int) -> ZkTransaction:
        return ZkTransaction(
            chain_id=self.rules.chain_id, nonce=nonce, max_fee_per_gas=FEE,
            max_priority_fee_per_gas=1, gas_limit=GAS, sender=SENDERS[4], to=LOGGER,
            gas_per_pubdata_limit=50_000,
        )  # fmt: skip


def authorization(chain_id: int) -> Authorization:
    digest = keccak256(b"\x05" + rlp_encode([chain_id.to_bytes(2), LOGGER, b""]))
    signature = sign_digest(digest, SIGNER)
    r, s = int.from_bytes(signature[:32]), int.from_bytes(signature[32:64])
    return Authorization(chain_id, LOGGER, 0, signature[64], r, s)


def ethereum_payloads(chain_id: int) -> Iterator[SignedPayload]:
    """Yield a transaction of each type but that of blobs, and a creation, without their nonces."""
    priced: dict[str, Any] = {"gas_price": FEE, "gas_limit": GAS, "nonce": 0}
    capped: dict[str, Any] = {
        "chain_id": chain_id, "max_fee_per_gas": FEE, "max_priority_fee_per_gas": 3,
        "gas_limit": GAS, "nonce": 0,
    }  # fmt: skip
    accesses = (Access(LOGGER, (SLOT,)), Access(NOBODY))
    yield LegacyTransaction(**priced, to=NOBODY, value=5)
    yield LegacyTransaction(**priced, chain_id=chain_id, to=None, data=bytes.fromhex("60016000f3"))
    yield AccessListTransaction(**priced, chain_id=chain_id, to=COUNTER, access_list=accesses)
    yield FeeMarketTransaction(**capped, to=LOGGER, data=b"\xff" * 8)
    yield SetCodeTransaction(**capped, to=NOBODY, authorizations=(authorization(chain_id),))


@contextmanager
def varied_chain(rules: ChainRules) -> Iterator[VariedChain]:
    with closing(VariedChain(rules)) as varied:
        yield varied

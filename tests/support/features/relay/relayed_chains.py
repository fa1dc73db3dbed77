"""Two chains of one process, a source that logs bundles and a destination that executes them, without an L1."""

from __future__ import annotations

from entresol._native import keccak256
from entresol.chain.chain import Chain
from entresol.chain.genesis.genesis import Genesis, GenesisAccount
from entresol.chain.rules import ChainRules
from entresol.features.relay.bundle_relay import BundleRelay, BundleSource
from entresol.features.relay.dispatch import RelayProofs
from entresol.features.relay.relay_account import ChainAccount
from entresol.primitives import abi
from entresol.primitives.interop_bundles import (
    BUNDLE_SENT,
    BUNDLE_TYPE,
    INTEROP_CENTER,
    INTEROP_HANDLER,
    BundleCall,
    InteropBundle,
)
from entresol.primitives.interop_roots import ROOT_STORAGE
from entresol.primitives.l2_to_l1_logs import L2ToL1Log, LogProof, ProvenLog
from entresol.primitives.transactions import sign
from entresol.primitives.values import Address, Hash32
from entresol.rollup.system_contracts import BRIDGEHUB
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.chain.dev_chain import ALICE, BOB, SECRETS, fee_market

SOURCE, DESTINATION, ANOTHER, L1 = 270, 271, 272, 31337
L1_BLOCK = 5
STOPS, REVERTS, EATS_GAS = "00", "5f5ffd", "5b5f56"
SUCCEEDS_IN_EVEN_BLOCKS = "4360011615600b575f5ffd5b00"
_LOGS_ARGUMENTS = "365f5f37 5f51 60203603 6020 a1"
_ETHER = 10**18


class FakeProver:
    def __init__(self) -> None:
        self.is_settled = True
        self.error: Exception | None = None
        self.next_errors: list[Exception] = []

    def prove_transaction_log(
        self, transaction_hash: Hash32, index: int = 0, *, quick: bool = False
    ) -> ProvenLog | None:
        assert quick
        assert transaction_hash
        if self.error is not None:
            raise self.error
        if self.next_errors:
            raise self.next_errors.pop(0)
        if not self.is_settled:
            return None
        log = L2ToL1Log(tx_number=0, sender=ALICE, key=Hash32.zero(), value=Hash32.zero())
        proof = LogProof(
            id=max(0, index), root=Hash32.zero(), words=(bytes(32),), l1_block=L1_BLOCK
        )
        return ProvenLog(1, log.pack(), proof)


class RelayedChains:
    """A relay between two chains whose contracts are a few bytes each."""

    def __init__(self, *, limit: int = 1_000, funds: int = _ETHER) -> None:
        self.now = 0.0
        self.source = _chain(SOURCE, {INTEROP_CENTER: _LOGS_ARGUMENTS}, funds=_ETHER)
        contracts = dict.fromkeys((INTEROP_HANDLER, ROOT_STORAGE, BRIDGEHUB), STOPS)
        self.destination = _chain(DESTINATION, contracts, funds=funds)
        self.prover = FakeProver()
        self.account = ChainAccount(self.destination, InlineSequencer(self.destination), SECRETS[1])
        self.relay = BundleRelay(
            self.destination,
            L1,
            self.account,
            max_gas=1_000_000,
            limit=limit,
            clock=lambda: self.now,
        )
        self.reader = BundleSource(self.source, DESTINATION, RelayProofs(self.prover))
        self.relay.add(self.reader)
        self.another: Chain | None = None
        self.set_word(BRIDGEHUB, slot(1, SOURCE), 1)
        self.set_word(ROOT_STORAGE, slot(0, L1, L1_BLOCK), 1)

    def close(self) -> None:
        self.relay.close()
        self.source.close()
        self.destination.close()
        if self.another is not None:
            self.another.close()

    def send(self, count: int = 1, *, executor: bytes = b"", to: int = DESTINATION) -> list[Hash32]:
        return _send(self.source, count, executor, to)

    def send_from_another(self) -> None:
        self.another = _chain(ANOTHER, {INTEROP_CENTER: _LOGS_ARGUMENTS}, funds=_ETHER)
        self.relay.add(BundleSource(self.another, DESTINATION, RelayProofs(FakeProver())))
        self.set_word(BRIDGEHUB, slot(1, ANOTHER), 1)
        _send(self.another, 1, b"", DESTINATION)

    def fund(self, wei: int) -> None:
        address = self.account.address
        self.destination.edit(address, lambda it: it.set_balance(address, wei))

    def set_code(self, code: str) -> None:
        raw = bytes.fromhex(code)
        self.destination.edit(INTEROP_HANDLER, lambda it: it.set_code(INTEROP_HANDLER, raw))

    def set_word(self, address: Address, at: Hash32, word: int) -> None:
        value = Hash32(word.to_bytes(32))
        self.destination.edit(address, lambda it: it.set_slot(address, at, value))

    def set_status(self, bundle: Hash32, status: int) -> None:
        self.set_word(INTEROP_HANDLER, slot(0, bundle), status)

    @property
    def sent(self) -> int:
        account = self.destination.latest.account(self.account.address)
        return 0 if account is None else account.nonce


def slot(base: int, *path: int | bytes) -> Hash32:
    """Return the slot of an entry of a mapping, or of one in that."""
    found = base.to_bytes(32)
    for key in path:
        found = keccak256((key.to_bytes(32) if isinstance(key, int) else key) + found)
    return Hash32(found)


def _send(chain: Chain, count: int, executor: bytes, to: int) -> list[Hash32]:
    hashes, source = [], chain.rules.chain_id
    for _ in range(count):
        nonce = chain.pool.next_nonce(ALICE)
        bundle = InteropBundle(
            *(source, to, Hash32.zero(), Hash32(nonce.to_bytes(32))),
            (BundleCall(BOB, ALICE, 0, b""),),
            executor,
        )
        hashes.append(bundle.hash())
        words = _words(bundle)
        data = abi.encode(f"(bytes32,bytes32,{BUNDLE_TYPE})", (bytes(32), bundle.hash(), words))
        payload = fee_market(
            nonce,
            INTEROP_CENTER,
            chain_id=source,
            data=bytes(BUNDLE_SENT) + data,
            gas=200_000,
            fee=10**9,
        )
        chain.add(sign(payload, SECRETS[0]))
    chain.builder.seal()
    return hashes


def _words(bundle: InteropBundle) -> tuple[object, ...]:
    ((decoded,)) = abi.decode(f"({BUNDLE_TYPE})", bundle.encode())
    return tuple(decoded)


def _chain(chain_id: int, codes: dict[Address, str], *, funds: int) -> Chain:
    contracts = {
        address: GenesisAccount(code=bytes.fromhex(code), nonce=1)
        for address, code in codes.items()
    }
    genesis = Genesis.development(chain_id, [ALICE, BOB], funds, contracts)
    chain = Chain.open(None, ChainRules.layer_2(chain_id), genesis)
    if chain_id != DESTINATION:
        chain.schedule.seal_on_request()
    return chain

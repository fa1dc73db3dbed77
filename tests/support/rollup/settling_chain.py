"""An L2 chain that sends messages and executes deposits on request."""

from __future__ import annotations

from pathlib import Path

import msgspec

from entresol.chain.base_fee import FeePolicy
from entresol.chain.chain import Chain
from entresol.chain.clock import Clock
from entresol.chain.genesis.genesis import Genesis, GenesisAccount
from entresol.chain.rules import ChainRules
from entresol.contracts import artifact
from entresol.primitives.interop_roots import ROOT_STORAGE
from entresol.primitives.l2_to_l1_logs import L1_MESSAGE_SENT, L1_MESSENGER
from entresol.primitives.transactions import PriorityTransaction, sign
from entresol.primitives.values import Address, Hash32
from tests.support.chain.block_production import ETHER, GWEI, secret, sender
from tests.support.chain.dev_chain import fee_market, priority_transaction

CHAIN_ID = 270
USER = 1
RECEIVER = Address(b"\x5e" * 20)

# Emits that its caller sent the first word of the input, as often as the second word says.
_MESSENGER = bytes.fromhex(
    f"602035 5b 5f35 33 7f{L1_MESSAGE_SENT.hex()} 5f5fa3 60019003 80 6003 57"
)
_ROOTS = bytes(artifact("L2InteropRootStorage").runtime)

GENESIS = Genesis.development(
    CHAIN_ID,
    [sender(USER)],
    10**6 * ETHER,
    {
        L1_MESSENGER: GenesisAccount(code=_MESSENGER, nonce=1),
        ROOT_STORAGE: GenesisAccount(code=_ROOTS, nonce=1),
    },
)


class SettlingChain(Chain):
    """A chain that seals on request; its blocks are a second apart."""

    @classmethod
    def begin(
        cls,
        path: Path | None = None,
        genesis: Genesis = GENESIS,
        fees: FeePolicy | None = None,
        *,
        publishes: bool = False,
        chain_id: int = CHAIN_ID,
    ) -> SettlingChain:
        rules = msgspec.structs.replace(ChainRules.layer_2(chain_id), publishes=publishes)
        if fees is not None:
            rules = msgspec.structs.replace(rules, fees=fees)
        chain = cls.open(path, rules, genesis, durable=False, clock=Clock(lambda: 1_000.0))
        chain.schedule.seal_on_request()
        return chain

    def send_message(self, message: int = 1, *, times: int = 1) -> Hash32:
        return self.call_contract(L1_MESSENGER, message.to_bytes(32) + times.to_bytes(32))

    def transfer(self) -> Hash32:
        return self.call_contract(RECEIVER, b"")

    def deposit(self) -> Hash32:
        queued = len(self.filler.priority)
        return self.enqueue(deposit(self.blocks.next_priority_id() + queued))

    def seal_messages(self, *messages: int) -> None:
        for message in messages:
            self.send_message(message)
        self.builder.seal()

    def call_contract(self, to: Address, data: bytes, gas: int = 1_000_000) -> Hash32:
        payload = fee_market(
            self.pool.next_nonce(sender(USER)),
            to,
            chain_id=self.rules.chain_id,
            data=data,
            gas=gas,
            fee=GWEI,
        )
        transaction = sign(payload, secret(USER))
        self.add(transaction)
        return transaction.hash


def deposit(
    number: int, *, value: int = 1, data: bytes = b"", to: Address = RECEIVER, gas: int = 300_000
) -> PriorityTransaction:
    return priority_transaction(
        number,
        sender=b"\xde" * 20,
        to=to,
        value=value,
        data=data,
        gas_limit=gas,
        fee=GWEI,
        refund_recipient=b"\xdf" * 20,
    )

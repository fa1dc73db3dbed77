"""A chain whose blocks are published: with prices of L1, and with everything that a block can have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from entresol.chain.base_fee import L2BaseFee
from entresol.chain.chain import Chain
from entresol.chain.clock import Clock
from entresol.chain.edits import BlockSettings
from entresol.chain.fees import FeeModel
from entresol.chain.rules import ChainRules
from entresol.primitives.base_token import BaseToken
from entresol.primitives.published.body import BatchHeader
from entresol.primitives.transactions import FeeMarketTransaction, impersonate, sign
from entresol.primitives.values import Address, Hash32
from entresol.rollup.publication.publication import BodyBuilder, RulesInForce, published_block
from entresol.rollup.system_contracts import system_genesis
from tests.support.chain.varied_chain import SECRETS, SENDERS, VariedChain, varied_genesis
from tests.support.contracts.accounts import fill, paymaster_code
from tests.support.contracts.layer_two import FEE, L1_ASSET_ROUTER, L1_CHAIN_ID
from tests.support.published.values import DEVELOPMENT_RULES

if TYPE_CHECKING:
    from entresol.chain.genesis.genesis import Genesis
    from entresol.primitives.published.body import PublishedBlock
    from entresol.primitives.published.rules import BlockRules

PAYMASTER: Final = Address(b"\xb1" * 20)
EDITED: Final = Address(b"\xb2" * 20)
STRANGER: Final = Address(b"\xb3" * 20)
"""Somebody who is impersonated."""


def publishing_genesis() -> Genesis:
    """Return the genesis of the chain: contracts of every ending, and the system contracts."""
    genesis = varied_genesis(270)
    system = system_genesis(
        l1_chain_id=L1_CHAIN_ID,
        l1_asset_router=L1_ASSET_ROUTER,
        base_token=BaseToken(),
        l1_takes_l2_tokens=True,
    )
    return msgspec.structs.replace(genesis, alloc={**genesis.alloc, **system})


class PublishingChain:
    """A chain with an empty block 1, every type of transaction in block 2, and more that a test asks for."""

    def __init__(self) -> None:
        self.fees = FeeModel()
        rules = msgspec.structs.replace(ChainRules.layer_2(), fees=L2BaseFee(self.fees))
        self._now = 1_000.0
        self.chain = Chain.open(None, rules, publishing_genesis(), clock=Clock(lambda: self._now))
        self.varied = VariedChain(rules, self.chain)

    def close(self) -> None:
        """Close it."""
        self.varied.close()

    def seal(self, seconds: int = 1) -> int:
        """Seal a block some seconds later, and return its number."""
        self._now += seconds
        self.chain.builder.seal()
        return self.chain.number

    def seal_everything(self) -> None:
        """Seal blocks with edits, impersonation, a paymaster, other settings and other prices, and empty ones."""
        self.seal()
        code = bytes.fromhex(paymaster_code())
        self.chain.edit(PAYMASTER, lambda state: state.set_code(PAYMASTER, code))
        self.chain.edit(PAYMASTER, lambda state: state.set_balance(PAYMASTER, 10**18))
        self.chain.edit(EDITED, lambda state: state.set_balance(EDITED, 5))
        self.chain.edit(EDITED, lambda state: state.set_slot(EDITED, bytes(32), b"\1" * 32))
        self.chain.edit(STRANGER, lambda state: state.set_balance(STRANGER, 10**18))
        self.seal()
        self._send_sponsored()
        self._impersonate()
        self.seal()
        for _ in range(5):
            self.seal(3)
        self._delete()
        self.fees.observe(3 * 10**9)
        self.chain.configure(
            BlockSettings(
                gas_limit=40_000_000,
                beneficiary=EDITED,
                base_fee=7,
                prevrandao=Hash32(b"\x07" * 32),
            )
        )
        self.seal(0)
        self.seal(100)

    def blocks(
        self, first: int, last: int, rules: BlockRules = DEVELOPMENT_RULES
    ) -> list[PublishedBlock]:
        """Return what is published of consecutive blocks of one batch."""
        found, before = [], RulesInForce(rules=rules)
        for number in range(first, last + 1):
            record, parent = self.chain.ledger.record(number), self.chain.ledger.header(number - 1)
            prices = self.chain.prices.at(number)
            assert prices is not None
            block = published_block(record, parent, prices, rules, before)
            before = RulesInForce(rules=rules, prices=block.prices or before.prices)
            found.append(block)
        return found

    def body(self, first: int, last: int) -> bytes:
        """Return the body of a batch."""
        header = BatchHeader(
            number=1,
            first_block=first,
            parent_hash=self.chain.ledger.header(first - 1).hash(),
            rules_hash=DEVELOPMENT_RULES.hash(),
        )
        builder = BodyBuilder(header)
        for block in self.blocks(first, last):
            builder.add(block)
        return builder.finish(self.chain.ledger.header(last).hash())

    def _delete(self) -> None:
        """Seal blocks whose edits delete code, storage and an account."""
        self.chain.edit(PAYMASTER, lambda state: state.set_code(PAYMASTER, b""))
        self.chain.edit(EDITED, lambda state: state.set_slot(EDITED, bytes(32), bytes(32)))
        self.seal()
        self.chain.edit(EDITED, lambda state: state.set_account(EDITED, None))
        self.seal()

    def _send_sponsored(self) -> None:
        sender = SENDERS[4]
        account = self.chain.latest.account(sender)
        assert account is not None
        payload = fill(sender, nonce=account.nonce, paymaster=PAYMASTER, factory_deps=(bytes(32),))
        self.chain.add(sign(payload, SECRETS[4]))

    def _impersonate(self) -> None:
        payload = FeeMarketTransaction(
            chain_id=270, nonce=0, max_priority_fee_per_gas=0, max_fee_per_gas=FEE,
            gas_limit=21_000, to=EDITED, value=1,
        )  # fmt: skip
        self.chain.add(impersonate(payload, STRANGER))

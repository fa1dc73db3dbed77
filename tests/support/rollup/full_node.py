"""A node in this process that holds as much as it allows: long blocks, a full batch and a full pool."""

from __future__ import annotations

import asyncio
from functools import partial

from entresol._native import TRANSACTION_GAS as TRANSFER_GAS
from entresol._native import Overlay, keccak256
from entresol.chain.mempool import PoolConfig
from entresol.chain.mempool.validation import GasSchedule
from entresol.node.build_node import build_node
from entresol.node.config.schema import ChainConfig, L1Config, NodeConfig
from entresol.node.config.settlement import SettlementSettings
from entresol.node.dev_features import development_accounts
from entresol.primitives.batches import SettlementStep, SettlementTransaction
from entresol.primitives.bytecode import eravm_hash
from entresol.primitives.l2_to_l1_logs import L1_MESSENGER
from entresol.primitives.transactions import Transaction, ZkTransaction, sign
from entresol.primitives.values import Address, Hash32
from entresol.rollup.message_tree import CAPACITY
from entresol.rpc.types.log_filter import LogFilter
from entresol.server.config import ServerConfig
from tests.support.chain.dev_chain import fee_market
from tests.support.coroutines import completed
from tests.support.evm.assembler import assemble

FEE = 1_000_000_000
TRANSACTION_GAS = 2**24
FACTORY_DEP_WORDS = 2**16 - 1
FILTER_BLOCKS = 10_000
MESSAGES_PER_TRANSACTION = 1_024

EMITTER, LOOPER, MESSENGER, RECEIVER = (
    Address(bytes([number]) * 20) for number in (0xC1, 0xC2, 0xC3, 0xC4)
)
_SEND_TO_L1 = keccak256(b"sendToL1(bytes)")[:4]
CODES = {
    # Emits empty logs until the gas is nearly spent.
    EMITTER: assemble("again: 0 0 log0 10000 gas gt @again jumpi stop"),
    LOOPER: assemble("again: @again jump"),
    # Sends as many messages to L1 as the call data says.
    MESSENGER: assemble(
        f"0x{_SEND_TO_L1.hex()} 0xe0 shl 0 mstore 32 4 mstore 0 calldataload "
        f"again: 0 0 68 0 0 0x{L1_MESSENGER.hex()} gas call pop 1 swap1 sub dup1 @again jumpi stop"
    ),
}


def _set_code(address: Address, code: bytes, state: Overlay) -> None:
    state.set_code(address, code)


def largest_factory_deps(gas: int) -> list[bytes]:
    """Return as much bytecode as a transaction can publish with this gas: zeros, which cost least, the longest first."""
    words = (gas - TRANSFER_GAS) // GasSchedule().floor_token // 32
    dependencies = []
    while words:
        length = min(words, FACTORY_DEP_WORDS)
        # An even number of words is not bytecode.
        length -= 1 - length % 2
        dependencies.append(bytes(32 * length))
        words -= length
    return dependencies


class FullNode:
    """A node that seals on request and settles nothing; its first account has sent everything in its blocks."""

    def __init__(self) -> None:
        self.accounts = development_accounts(ChainConfig())
        self.alice = str(self.accounts[0].address)
        self.node = build_node(
            NodeConfig(
                chain=ChainConfig(mining=False),
                l1=L1Config(l1_port=0),
                settlement=SettlementSettings(settle=False),
                server=ServerConfig(port=0),
            )
        )
        self.chain = self.node.chain
        self.api = self.node.layer_two.api
        for address, code in CODES.items():
            self.chain.edit(address, partial(_set_code, address, code))
        self.transfers = self._seal_transfers()
        self.logs = self._seal(self.transaction(to=EMITTER, gas=TRANSACTION_GAS))
        dependencies = largest_factory_deps(self.chain.rules.gas_limit)
        self.dependency_hash = eravm_hash(dependencies[0])
        self.factory_deps = self._seal(self._zk_transaction(*dependencies))
        self.long_blocks = range(1, self.number + 1)
        self.message = self._seal_messages()
        self.message_block = self.number
        filters = self.api.filters
        self.log_filter = hex(filters.new_log_filter(LogFilter(from_block=0)))
        self.block_filter = hex(filters.new_block_filter())
        self.pending_filter = hex(filters.new_pending_filter())
        for _ in range(FILTER_BLOCKS):
            self.chain.builder.seal()

    # Transactions

    def transaction(
        self,
        to: Address = RECEIVER,
        *,
        by: int = 0,
        gas: int = 21_000,
        data: bytes = b"",
        tip: int = 0,
        nonce: int | None = None,
    ) -> Transaction:
        account = self.accounts[by]
        payload = fee_market(
            self.chain.pool.next_nonce(account.address) if nonce is None else nonce,
            to,
            chain_id=self.chain.rules.chain_id,
            data=data,
            gas=gas,
            fee=FEE + tip,
            tip=tip,
        )
        return sign(payload, account.secret)

    def _zk_transaction(self, *dependencies: bytes) -> Transaction:
        sender = self.accounts[0].address
        payload = ZkTransaction(
            nonce=self.chain.pool.next_nonce(sender),
            max_priority_fee_per_gas=0,
            max_fee_per_gas=FEE,
            gas_limit=self.chain.rules.gas_limit,
            to=RECEIVER,
            value=0,
            data=b"",
            chain_id=self.chain.rules.chain_id,
            sender=sender,
            gas_per_pubdata_limit=50_000,
            factory_deps=dependencies,
        )
        return self.node.keyring.sign(payload, sender)

    # Blocks

    @property
    def number(self) -> int:
        return self.chain.number

    def _seal(self, *transactions: Transaction) -> Transaction:
        for transaction in transactions:
            self.chain.add(transaction)
        self.chain.builder.seal()
        assert all(result.succeeded for result in self.chain.blocks.record(self.number).results)
        return transactions[-1]

    def _seal_transfers(self) -> Transaction:
        nonce = self.chain.pool.next_nonce(self.accounts[0].address)
        count = self.chain.rules.gas_limit // 21_000
        return self._seal(*(self.transaction(nonce=nonce + n) for n in range(count)))

    def _seal_messages(self) -> Transaction:
        data = MESSAGES_PER_TRANSACTION.to_bytes(32)
        for _ in range(CAPACITY // MESSAGES_PER_TRANSACTION):
            sent = self._seal(self.transaction(MESSENGER, gas=TRANSACTION_GAS, data=data))
        rollup = self.node.rollup
        assert rollup is not None
        batch = completed(rollup.batcher.seal(0.0))
        assert batch is not None
        assert batch.logs == CAPACITY
        for step in SettlementStep:
            by = SettlementTransaction(Hash32(bytes([step + 1]) * 32), 7, 1_700_000_000)
            self.chain.batches.settle([batch.number], step, by)
        return sent

    # Pool

    def fill_pool(self) -> None:
        """Fill the pool: the next block is full of computation, and the rest are transfers."""
        looping = [
            self.transaction(LOOPER, by=by, gas=TRANSACTION_GAS - 10_000_000 * by, tip=1 + by)
            for by in range(2)
        ]
        for transaction in looping:
            self.chain.add(transaction)
        left = PoolConfig().limit - len(looping)
        nonces = [self.chain.pool.next_nonce(account.address) for account in self.accounts[:10]]
        for n in range(left):
            by = n % 10
            self.chain.add(self.transaction(by=by, nonce=nonces[by] + n // 10))
        assert len(self.chain.pool) == PoolConfig().limit

    def close(self) -> None:
        asyncio.run(self.node.stop())

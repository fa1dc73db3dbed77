"""A development chain with three rich accounts and a contract that logs; transactions and deposits for it."""

from __future__ import annotations

from pathlib import Path

from entresol._native import address_of, public_key
from entresol.chain.chain import Chain
from entresol.chain.clock import Clock
from entresol.chain.genesis.genesis import Genesis, GenesisAccount
from entresol.chain.ledger import Ledger
from entresol.chain.rules import ChainRules
from entresol.chain.sealing.block_filler import INLINE_GAS
from entresol.execution.block_executor import BlockExecutor, ExecutedBlock
from entresol.primitives.transactions import (
    FeeMarketTransaction,
    PriorityTransaction,
    Transaction,
    sign,
)
from entresol.primitives.values import Address
from tests.support.chain.priority_transactions import priority_transaction

SECRETS = [bytes([number]) * 32 for number in (1, 2, 3)]
ALICE, BOB, CAROL = (Address(address_of(public_key(secret))) for secret in SECRETS)
NOBODY = Address(b"\xee" * 20)
LOGGER = Address(b"\xaa" * 20)
BLAKE2F = Address(bytes(19) + b"\x09")
ETHER = 10**18
FEE = 100_000_000
# Logs the call data with the caller for topic.
LOG_CODE = bytes.fromhex("365f5f37 33365fa1")
RULES = ChainRules.layer_2()
GENESIS = Genesis.development(
    270, [ALICE, BOB, CAROL], 100 * ETHER, {LOGGER: GenesisAccount(code=LOG_CODE, nonce=1)}
)


def transaction(
    nonce: int,
    *,
    by: int = 0,
    to: Address = NOBODY,
    wei: int = 1,
    data: bytes = b"",
    tip: int = 0,
    gas: int = 100_000,
) -> Transaction:
    """Return a transaction signed by the account of this index."""
    payload = FeeMarketTransaction(
        chain_id=270,
        nonce=nonce,
        max_priority_fee_per_gas=tip,
        max_fee_per_gas=FEE + tip,
        gas_limit=gas,
        to=to,
        value=wei,
        data=data,
    )
    return sign(payload, SECRETS[by])


def long_transaction(nonce: int, *, by: int = 0, wei: int = 0) -> Transaction:
    """Return a transaction of little gas that takes five times as long: almost all of it is for rounds of BLAKE2."""
    rounds = INLINE_GAS - 1_000_000
    data = rounds.to_bytes(4) + bytes(64 + 128 + 16) + b"\1"
    gas = INLINE_GAS - 500_000
    return transaction(nonce, by=by, to=BLAKE2F, wei=wei, data=data, gas=gas)


def deposit(number: int, *, wei: int = ETHER, gas_limit: int = 100_000) -> PriorityTransaction:
    """Return a transaction from L1 that mints its value and its fee."""
    return priority_transaction(
        number, sender=CAROL, to=NOBODY, value=wei, gas_limit=gas_limit, fee=FEE
    )


def open_chain(path: Path | None = None) -> Chain:
    return Chain.open(path, RULES, GENESIS, clock=Clock(lambda: 1_000.0))


def execute_block(ledger: Ledger, *transactions: Transaction) -> ExecutedBlock:
    env = ledger.next_block_env(timestamp=ledger.head.timestamp + 1)
    executor = BlockExecutor(ledger.rules.evm_rules(), ledger.latest, env, ledger.parent)
    for sent in transactions:
        executor.run(sent)
    return executor.finish(ledger.trie)


def seal_block(ledger: Ledger, *transactions: Transaction) -> ExecutedBlock:
    executed = execute_block(ledger, *transactions)
    ledger.append(executed, ledger.rules.fees.prices())
    return executed


def balance(chain: Chain | Ledger, address: Address, block: int | None = None) -> int:
    state = chain.latest if block is None else chain.state_after(block)
    account = state.account(address)
    return 0 if account is None else account.balance

"""A development chain with three rich accounts; transactions, deposits and imported roots for it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from entresol._native import address_of, keccak256, public_key
from entresol.chain.chain import Chain
from entresol.chain.clock import Clock
from entresol.chain.genesis.genesis import Genesis, GenesisAccount
from entresol.chain.ledger import Ledger
from entresol.chain.rules import ChainRules
from entresol.chain.sealing.block_filler import INLINE_GAS
from entresol.contracts import artifact
from entresol.execution.block_executor import BlockExecutor, ExecutedBlock
from entresol.primitives.interop_roots import ROOT_STORAGE, InteropRoot
from entresol.primitives.transactions import (
    FeeMarketTransaction,
    PriorityTransaction,
    Transaction,
    sign,
)
from entresol.primitives.transactions.system import SYSTEM_SENDER
from entresol.primitives.values import Address, Hash32

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


def fee_market(
    nonce: int,
    to: Address | None,
    *,
    chain_id: int = 270,
    value: int = 0,
    data: bytes = b"",
    gas: int = 21_000,
    fee: int = 10**9,
    tip: int = 0,
) -> FeeMarketTransaction:
    """Return a transaction of type 2 that is not signed yet."""
    return FeeMarketTransaction(
        chain_id=chain_id,
        nonce=nonce,
        max_priority_fee_per_gas=tip,
        max_fee_per_gas=fee,
        gas_limit=gas,
        to=to,
        value=value,
        data=data,
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
    payload = fee_market(nonce, to, value=wei, data=data, gas=gas, fee=FEE + tip, tip=tip)
    return sign(payload, SECRETS[by])


def long_transaction(nonce: int, *, by: int = 0, wei: int = 0) -> Transaction:
    """Return a transaction of little gas that takes five times as long: almost all of it is for rounds of BLAKE2."""
    rounds = INLINE_GAS - 1_000_000
    data = rounds.to_bytes(4) + bytes(64 + 128 + 16) + b"\1"
    gas = INLINE_GAS - 500_000
    return transaction(nonce, by=by, to=BLAKE2F, wei=wei, data=data, gas=gas)


def deposit(number: int, *, wei: int = ETHER, gas_limit: int = 100_000) -> PriorityTransaction:
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


L1_CHAIN_ID = 31337
GENESIS_NONCE = 1
"""The address of the bootloader, as of every contract of the genesis."""
ROOT_CONTRACT = GenesisAccount(code=bytes(artifact("L2InteropRootStorage").runtime), nonce=1)
_BOOTLOADER = GenesisAccount(code=bytes(artifact("Bootloader").runtime), nonce=GENESIS_NONCE)
IMPORTING = msgspec.structs.replace(
    GENESIS, alloc={**GENESIS.alloc, ROOT_STORAGE: ROOT_CONTRACT, SYSTEM_SENDER: _BOOTLOADER}
)


def root(number: int) -> InteropRoot:
    value = Hash32(keccak256(b"root" + number.to_bytes(8)))
    return InteropRoot.of(L1_CHAIN_ID, number, 1_000 + number, value)


def roots(count: int, first: int = 1) -> list[InteropRoot]:
    return [root(number) for number in range(first, first + count)]


def open_importing(path: Path | None = None, *, gas_limit: int | None = None) -> Chain:
    rules = RULES if gas_limit is None else msgspec.structs.replace(RULES, gas_limit=gas_limit)
    return Chain.open(path, rules, IMPORTING, clock=Clock(lambda: 1_000.0))


def stored_root(chain: Chain, number: int) -> Hash32:
    """Return the root of a block of L1 that the chain has imported, or zero."""
    outer = keccak256(L1_CHAIN_ID.to_bytes(32) + bytes(32))
    slot = keccak256(number.to_bytes(32) + outer)
    return Hash32(chain.latest.slot(ROOT_STORAGE, slot))


def system_nonce(chain: Chain) -> int:
    account = chain.latest.account(SYSTEM_SENDER)
    assert account is not None
    return account.nonce


GAS_PER_PUBDATA = 800


def priority_transaction(
    nonce: int = 0,
    *,
    sender: bytes,
    to: bytes,
    value: int = 0,
    data: bytes = b"",
    gas_limit: int = 100_000,
    fee: int = 0,
    to_mint: int | None = None,
    refund_recipient: bytes | None = None,
) -> PriorityTransaction:
    """Return a transaction from L1, which by default mints its value and its fee and refunds its sender."""
    return PriorityTransaction(
        sender=Address(sender),
        to=Address(to),
        gas_limit=gas_limit,
        gas_per_pubdata_limit=GAS_PER_PUBDATA,
        max_fee_per_gas=fee,
        nonce=nonce,
        value=value,
        to_mint=value + gas_limit * fee if to_mint is None else to_mint,
        refund_recipient=Address(sender if refund_recipient is None else refund_recipient),
        data=data,
    )

"""What a block costs the node for transactions that it rejects or lets fail, beside what their senders pay."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from typing import Final, NamedTuple

from entresol._native import Overlay, address_of, public_key
from entresol.errors import InvalidTransaction, PoolRejection
from entresol.primitives.l2_to_l1_logs import BOOTLOADER
from entresol.primitives.transactions import PriorityTransaction, Transaction, sign
from entresol.primitives.values import Address
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.chain.dev_chain import priority_transaction
from tests.support.contracts.accounts import (
    ASK_PAYMASTER,
    PAYS,
    POST,
    SELECTORS,
    Call,
    ScriptedWorld,
    approval_based,
    fill,
    pay,
)
from tests.support.contracts.layer_two import ETHER, FEE

GAS: Final = 10_000_000
BURN: Final = f"63{GAS * 9 // 10:08x}60e01b5f525f5f60d55f5f60095af150fe"
"""A precompile (BLAKE2F) with a round for nine tenths of the gas, and the end."""


class World(ScriptedWorld):
    """An L2 that seals on request, and keys without ether."""

    def __init__(self) -> None:
        super().__init__()
        self.chain.schedule.seal_on_request()

    def paymaster_at(self, at: int, code: str) -> Address:
        """Put a paymaster with ether at an address."""
        paymaster = self.put(code, at=at)
        self.chain.edit(paymaster, lambda it: it.set_balance(paymaster, 10**6 * ETHER))
        self.chain.builder.seal()
        return paymaster

    def fund(self, senders: list[Address]) -> None:
        """Let keys have ether."""
        self.set_balances(senders, ETHER)
        self.chain.builder.seal()

    def set_balances(self, accounts: list[Address], wei: int) -> None:
        """Edit balances; the pool does not see it, since the edit is in the name of another."""

        def change(overlay: Overlay) -> None:
            for account in accounts:
                overlay.set_balance(account, wei)

        self.chain.edit(BOOTLOADER, change)

    def accounts(self, count: int) -> list[Address]:
        """Deploy contract accounts that agree to a transaction, and pay for it."""
        self.chain.schedule.seal_at_once()
        deployed = [self.account(fee=GAS * FEE, is_logged=False) for _ in range(count)]
        self.chain.schedule.seal_on_request()
        return deployed

    def paymaster_that_posts(self, *calls: Call) -> Address:
        """Deploy a paymaster that pays, and makes calls in the end, which may fail."""
        self.chain.schedule.seal_at_once()
        paymaster = self.contract(ether=ETHER)
        self.script(paymaster, ASK_PAYMASTER, pay(GAS * FEE), output=PAYS, is_logged=False)
        self.script(paymaster, POST, *calls, is_logged=False, may_fail=True)
        self.chain.schedule.seal_on_request()
        return paymaster

    def replace_all(self, addresses: list[Address], code: str) -> None:
        """Let addresses have other code, in the name of another, so that the pool does not see it."""

        def change(overlay: Overlay) -> None:
            for address in addresses:
                overlay.set_code(address, bytes.fromhex(code))

        self.chain.edit(BOOTLOADER, change)

    def replace(self, address: Address, code: str) -> None:
        """Let an address have other code, which the pool does not see."""
        self.chain.edit(address, lambda it: it.set_code(address, bytes.fromhex(code)))


def _secret(number: int) -> bytes:
    return (1_000 + number).to_bytes(32)


def _sender(number: int) -> Address:
    return Address(address_of(public_key(_secret(number))))


def _signed(number: int, **fields: object) -> Transaction:
    return sign(fill(_sender(number), **{"gas_limit": GAS, **fields}), _secret(number))


def paying(before: str = "", magic: bytes = SELECTORS[ASK_PAYMASTER]) -> str:
    """Return the code of a paymaster that does something, pays, and returns a magic."""
    return (
        before + f"63{magic.hex()}60e01b5f526040602052"
        f"5f5f5f5f6a{GAS * FEE:022x}73{BOOTLOADER.hex()}5af15060605ff3"
    )


class Prepared(NamedTuple):
    """Transactions, and what happens between the pool and the block."""

    transactions: list[Transaction]
    between: Callable[[], None] = lambda: None


def gas_reading(world: World, count: int) -> Prepared:
    """Keys without ether, and a paymaster that burns its gas if it has much."""
    # If there are more than a million gas, it goes to byte 12.
    after = 12 + 1 + len(BURN) // 2
    code = f"620f42405a11600c5760{after:02x}565b{BURN}5b"
    paymaster = world.paymaster_at(0x51, paying(code))
    return Prepared([_signed(n, paymaster=paymaster) for n in range(count)])


def own_paymaster(world: World, count: int) -> Prepared:
    """Keys that are delegated to code that burns gas, and name themselves as their paymasters."""
    delegation = bytes.fromhex("ef0100") + world.put(BURN)
    senders = [_sender(n) for n in range(count)]

    def delegate(overlay: Overlay) -> None:
        for sender in senders:
            overlay.set_code(sender, delegation)

    world.chain.edit(BOOTLOADER, delegate)
    world.fund(senders)
    return Prepared([_signed(n, paymaster=_sender(n)) for n in range(count)])


def changing(world: World, count: int) -> Prepared:
    """Keys without ether, and a paymaster that agrees in the pool and burns its gas in the block."""
    paymaster = world.paymaster_at(0x52, paying())
    sent = [_signed(n, paymaster=paymaster) for n in range(count)]
    return Prepared(sent, lambda: world.replace(paymaster, BURN))


def wrong_magic(world: World, count: int) -> Prepared:
    """Keys without ether, and a paymaster that returns another magic in the block."""
    paymaster = world.paymaster_at(0x53, paying())
    sent = [_signed(n, paymaster=paymaster) for n in range(count)]
    return Prepared(sent, lambda: world.replace(paymaster, paying(magic=b"\1\2\3\4")))


def own_token(world: World, count: int) -> Prepared:
    """Keys without ether, an honest paymaster, and a token that burns its gas in the block."""
    token = world.put("7f" + "ff" * 32 + "5f5260205ff3", at=0x61)
    asks = f"5f5f5f5f5f73{token.hex()}5af150"
    paymaster = world.paymaster_at(0x54, paying(asks))
    message = approval_based(token, 1)
    sent = [_signed(n, paymaster=paymaster, paymaster_input=message) for n in range(count)]
    return Prepared(sent, lambda: world.replace(token, BURN))


def unfunded(world: World, count: int) -> Prepared:
    """Keys that pay for themselves, and have no ether any more in the block."""
    senders = [_sender(n) for n in range(count)]
    world.fund(senders)
    sent = [_signed(n) for n in range(count)]
    return Prepared(sent, lambda: world.set_balances(senders, 1))


def changing_account(world: World, count: int) -> Prepared:
    """Contract accounts that agree in the pool and burn their gas in the block."""
    accounts = world.accounts(count)
    sent = [world.from_contract(account, gas_limit=GAS) for account in accounts]
    return Prepared(sent, lambda: world.replace_all(accounts, BURN))


def out_of_gas(world: World, count: int) -> Prepared:
    """Keys with a paymaster that pays, and an execution that uses up its gas."""
    paymaster, target = world.paymaster_at(0x55, paying()), world.put(BURN, at=0x62)
    return Prepared([_signed(n, paymaster=paymaster, to=target) for n in range(min(count, 3))])


def burning_post(world: World, count: int) -> Prepared:
    """Keys with a paymaster that pays, and burns in `postTransaction` what is left."""
    paymaster = world.paymaster_that_posts((world.put(BURN, at=0x65), 0, b""))
    return Prepared([_signed(n, paymaster=paymaster) for n in range(min(count, 3))])


def _requests(count: int, to: Address, to_mint: int) -> Prepared:
    """Return priority transactions as L1 sends them."""
    requests = (
        priority_transaction(n, sender=_sender(n), to=to, gas_limit=GAS, fee=FEE, to_mint=to_mint)
        for n in range(min(count, 3))
    )
    return Prepared([Transaction.from_l1(request) for request in requests])


def burning_request(world: World, count: int) -> Prepared:
    """Priority transactions that use up their gas."""
    return _requests(count, world.put(BURN, at=0x66), GAS * FEE)


def unstarted_request(world: World, count: int) -> Prepared:
    """Priority transactions that mint less than they pay."""
    return _requests(count, world.put(BURN, at=0x66), 0)


WAYS: Final = {
    "a paymaster that reads its gas": gas_reading,
    "delegated keys that are their own paymasters": own_paymaster,
    "a paymaster that burns its gas in the block": changing,
    "a wrong magic of the paymaster": wrong_magic,
    "a token of one's own that burns gas": own_token,
    "a sender that has no ether any more": unfunded,
    "contract accounts that burn their gas in the block": changing_account,
    "an execution that uses up its gas": out_of_gas,
    "an execution whose postTransaction burns what is left": burning_post,
    "an execution of a priority transaction that burns its gas": burning_request,
    "an execution of a priority transaction that cannot start": unstarted_request,
}


class Cost(NamedTuple):
    """What transactions have cost: milliseconds in the pool and in the block, and wei that were paid."""

    pool_ms: float
    block_ms: float
    paid: int


def measure(way: Callable[[World, int], Prepared], count: int) -> Cost:
    """Send transactions, seal one block, and return what that has cost the node and whoever paid."""
    with closing(World()) as world:
        prepared = way(world, count)
        start = time.thread_time()
        for transaction in prepared.transactions:
            try:
                if isinstance(transaction.payload, PriorityTransaction):
                    world.chain.enqueue(transaction.payload)
                else:
                    InlineSequencer(world.chain).submit(transaction.raw)
            except (InvalidTransaction, PoolRejection):
                continue
        pool_seconds = time.thread_time() - start
        prepared.between()
        start = time.thread_time()
        header = world.chain.builder.seal()
        block_seconds = time.thread_time() - start
        return Cost(pool_seconds * 1e3, block_seconds * 1e3, header.gas_used * FEE)

"""Calls and transactions in the engine, from Python to Python."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterable
from typing import Final

from benchmarks.harness import Peer, Row, Target, best_seconds
from entresol._native import (
    Account,
    BlockEnv,
    Overlay,
    Rules,
    Snapshot,
    TxEnv,
    address_of,
    call,
    execute,
    public_key,
)
from entresol.cli import SWITCH_SECONDS
from entresol.execution.evm_env import tx_env_of
from entresol.primitives.transactions import FeeMarketTransaction, decode, sign
from entresol.primitives.values import Address
from tests.support.anvil import running_anvil
from tests.support.evm.in_memory_state import ALICE, BOB, CONTRACT, EMPTY_CODE, ETHER, InMemoryState
from tests.support.hex_data import word

RULES: Final = Rules(31337)
BLOCK: Final = BlockEnv(number=1, timestamp=1, gas_limit=30_000_000)

# `balanceOf(address)` of an ERC-20 whose balances are at slot 0: check the selector, hash, load, return.
BALANCE_OF: Final = "5f 35 60e0 1c 6370a08231 14 6011 57 5f 5f fd 5b 6004 35 5f 52 5f 6020 52 6040 5f 20 54 5f 52 6020 5f f3"
# Sums the slots 1 to 1,000.
THOUSAND_SLOTS: Final = "5f 6103e8 5b 80 54 90 91 01 90 6001 90 03 80 6004 57 50 5f 52 6020 5f f3"
# Multiplies, adds and hashes until the gas is used up.
BURN: Final = "5f 5b 6003 02 6007 01 80 5f 52 6020 5f 20 50 6001 56"
BURN_GAS: Final = 30_000_000
TRANSFERS: Final = 2_000
RICH: Final = Account(0, ETHER, EMPTY_CODE)


def rows() -> Iterable[Row]:
    """Measure the engine."""
    yield from balance_of()
    yield transfers()
    yield raw_gas()
    yield beside_a_busy_loop()


def balance_of() -> Iterable[Row]:
    """Measure the most common call, with nothing cached and with everything."""
    world = InMemoryState.with_contract(BALANCE_OF)
    data = bytes.fromhex("70a08231") + bytes(12) + ALICE
    message = TxEnv(sender=BOB, to=CONTRACT, data=data, gas_limit=1_000_000)
    warm = Snapshot(world)
    assert call(warm, RULES, BLOCK, message).status == "success"
    yield Row(
        what="call balanceOf, cold",
        value=best_seconds(lambda: call(Snapshot(world), RULES, BLOCK, message)) * 1e6,
        unit="µs",
        target=Target(15, "at most"),
    )
    yield Row(
        what="call balanceOf, warm",
        value=best_seconds(lambda: call(warm, RULES, BLOCK, message)) * 1e6,
        unit="µs",
        target=Target(6, "at most"),
    )


def transfers() -> Row:
    """Measure transfers from their raw bytes to an outcome that is applied."""
    secrets = [number.to_bytes(32) for number in range(1, TRANSFERS + 1)]
    raws = [sign(transfer(), secret).raw for secret in secrets]
    snapshot = Snapshot(InMemoryState(dict.fromkeys(map(address_of_secret, secrets), RICH)))

    def block() -> None:
        overlay = Overlay(snapshot)
        for raw in raws:
            transaction = decode(raw)
            overlay.apply(execute(overlay, RULES, BLOCK, tx_env_of(transaction)))

    return Row(
        what="transfers, one by one from raw bytes to an applied outcome",
        value=TRANSFERS / best_seconds(block, calls=1),
        unit="/s",
        target=Target(15_000, "at least"),
    )


def transfer() -> FeeMarketTransaction:
    """Return an unsigned transfer."""
    return FeeMarketTransaction(
        chain_id=RULES.chain_id,
        nonce=0,
        max_priority_fee_per_gas=0,
        max_fee_per_gas=1,
        gas_limit=21_000,
        to=Address(BOB),
        value=1,
    )


def address_of_secret(secret: bytes) -> bytes:
    """Return the address of a secret key."""
    return address_of(public_key(secret))


def raw_gas() -> Row:
    """Measure the bare interpreter on the same program as anvil."""
    snapshot = Snapshot(InMemoryState.with_contract(BURN))
    message = TxEnv(sender=ALICE, to=CONTRACT, gas_limit=BURN_GAS)
    ours = best_seconds(lambda: call(snapshot, RULES, BLOCK, message), calls=1)
    with running_anvil("--gas-limit", str(BURN_GAS), "--hardfork", "osaka") as anvil:
        code = "0x" + bytes.fromhex(BURN).hex()
        anvil("anvil_setCode", "0x" + CONTRACT.hex(), code)
        request = {"to": "0x" + CONTRACT.hex(), "gas": hex(BURN_GAS)}
        theirs = best_seconds(lambda: anvil.batch([("eth_call", [request])]), calls=1)
    return Row(
        what="raw execution",
        value=BURN_GAS / ours / 1e6,
        unit="Mgas/s",
        peer=Peer("anvil", BURN_GAS / theirs / 1e6),
    )


def beside_a_busy_loop() -> Row:
    """Measure a call that reads from Python 1,000 times, on a thread, while an event loop is never idle."""
    world = InMemoryState.with_contract(THOUSAND_SLOTS)
    for number in range(1, 1_001):
        world.slots[CONTRACT, word(number)] = word(number)
    message = TxEnv(sender=ALICE, to=CONTRACT, gas_limit=BURN_GAS)

    def cold_call() -> float:
        snapshot = Snapshot(world)
        start = time.perf_counter()
        outcome = call(snapshot, RULES, BLOCK, message)
        assert outcome.output == word(500_500)
        return time.perf_counter() - start

    async def measure() -> list[float]:
        loop = asyncio.get_running_loop()
        spinning = asyncio.create_task(spin())
        times = [await loop.run_in_executor(None, cold_call) for _ in range(30)]
        spinning.cancel()
        return times

    default = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    times = asyncio.run(measure())
    sys.setswitchinterval(default)
    return Row(
        what="call with 1,000 slot reads beside a busy loop (worst of 30)",
        value=max(times) * 1e3,
        unit="ms",
        target=Target(25, "at most"),
    )


async def spin() -> None:
    """Keep the event loop busy."""
    while True:
        sum(range(1_000))
        await asyncio.sleep(0)

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence

import pytest

from entresol.chain.chain import Chain
from entresol.chain.genesis.accounts import DEVELOPMENT_MNEMONIC, derive
from entresol.chain.genesis.genesis import Genesis
from entresol.chain.rules import ChainRules
from entresol.contracts.abi_registry import AbiRegistry
from entresol.dev.reverts import Reverts
from entresol.primitives.transactions import FeeMarketTransaction, sign
from entresol.primitives.values import Address, Hash32
from entresol.sequencer.sequencer import InlineSequencer
from entresol.terminal.details import LogDetails
from entresol.terminal.formats import TextLogFormat
from entresol.terminal.transactions import TransactionLog
from entresol.terminal.writer import FormatText
from tests.support.evm.console import console_call, logging_code
from tests.support.evm.in_memory_state import BOB
from tests.support.polling import eventually

(ALICE,) = derive(DEVELOPMENT_MNEMONIC, 1)
STOPS = bytes.fromhex("60015ff3")
HALTS = b"\xfe"


def says_no() -> bytes:
    """Return a program that reverts with `Error("no")`."""
    data = bytes.fromhex("08c379a0") + (32).to_bytes(32) + (2).to_bytes(32) + b"no".ljust(32, b"\0")
    words = [data[start : start + 32].ljust(32, b"\0") for start in range(0, len(data), 32)]
    stores = [b"\x7f" + word + bytes([0x60, 32 * n, 0x52]) for n, word in enumerate(words)]
    return b"".join(stores) + bytes([0x60, len(data), 0x5F, 0xFD])


@pytest.fixture
def chain() -> Iterator[Chain]:
    genesis = Genesis.development(270, [ALICE.address], 10**20)
    chain = Chain.open(None, ChainRules.layer_2(), genesis)
    yield chain
    chain.close()


def send(chain: Chain, nonce: int, data: bytes = b"", to: bytes | None = None) -> Hash32:
    payload = FeeMarketTransaction(
        chain_id=270,
        nonce=nonce,
        to=None if to is None else Address(to),
        data=data,
        gas_limit=200_000,
        max_fee_per_gas=10**10,
        max_priority_fee_per_gas=0,
    )
    return InlineSequencer(chain).submit(sign(payload, ALICE.secret).raw)


def logged(chain: Chain, work: Callable[[], object]) -> list[str]:
    """Return what is logged of what `work` does, one iteration of the loop later."""
    lines: list[str] = []

    async def run() -> None:
        log = TransactionLog(
            chain.events,
            chain.blocks,
            TextLogFormat(colours=False),
            lines.append,
            details=LogDetails(AbiRegistry()),
        )
        work()
        assert lines == []
        await asyncio.sleep(0)
        log.close()

    asyncio.run(run())
    return lines


def formatted_later(
    chain: Chain, work: Callable[[], object], hidden: Sequence[Address] = ()
) -> tuple[list[str], list[str | None]]:
    """Return what is logged at once of what `work` does, and what is left to be formatted elsewhere."""
    lines: list[str] = []
    later: list[FormatText] = []

    async def run() -> None:
        log = TransactionLog(
            chain.events,
            chain.blocks,
            TextLogFormat(colours=False),
            lines.append,
            hidden=hidden,
            write_later=lambda format_text, _size: later.append(format_text),
        )
        work()
        log.close()

    asyncio.run(run())
    return lines, [it() for it in later]


def test_successful_transactions_of_a_block_are_formatted_later(chain: Chain) -> None:
    chain.schedule.seal_on_request()

    def work() -> None:
        send(chain, 0, to=BOB)
        send(chain, 1, STOPS)
        chain.builder.seal()

    lines, later = formatted_later(chain, work)
    assert lines == []
    (text,) = later
    assert text is not None
    assert text.count("Gas used") == 2
    assert "Contract created" in text


def test_a_failed_transaction_is_formatted_at_once(chain: Chain) -> None:
    (block,), later = formatted_later(chain, lambda: send(chain, 0, says_no()))
    assert "Failed            execution reverted: no" in block
    assert later == []


def test_nothing_is_formatted_later_of_a_hidden_sender(chain: Chain) -> None:
    _, later = formatted_later(chain, lambda: send(chain, 0, to=BOB), hidden=[ALICE.address])
    assert later == [None]


def test_a_block_that_is_reverted_after_its_turn_is_logged_all_the_same(chain: Chain) -> None:
    reverts = Reverts(chain)
    checkpoint = reverts.checkpoint()
    later: list[FormatText] = []

    async def run() -> None:
        log = TransactionLog(
            chain.events,
            chain.blocks,
            TextLogFormat(colours=False),
            pytest.fail,
            write_later=lambda format_text, _size: later.append(format_text),
        )
        send(chain, 0, to=BOB)
        await asyncio.sleep(0)
        reverts.restore(checkpoint)
        send(chain, 0, STOPS)
        log.close()

    asyncio.run(run())
    first, second = (it() or "" for it in later)
    assert Address(BOB).checksummed() in first
    assert "Contract created" in second


def test_a_transaction_is_logged_after_its_request(chain: Chain) -> None:
    (block,) = logged(chain, lambda: send(chain, 0, to=BOB))
    assert f"From              {ALICE.address.checksummed()}" in block
    assert f"To                {Address(BOB).checksummed()}" in block
    assert "Gas used          21,000" in block
    assert "Block number      1\n" in block
    assert f"Block hash        {chain.head.hash()}" in block
    assert "Block time        20" in block
    assert "Failed" not in block


def test_a_created_contract_is_named(chain: Chain) -> None:
    (block,) = logged(chain, lambda: send(chain, 0, STOPS))
    assert "Contract created  0x5FbDB2315678afecb367f032d93F642f64180aa3" in block


@pytest.mark.parametrize(
    ("program", "reason"), [(says_no(), "execution reverted: no"), (HALTS, "invalid 0xFE opcode")]
)
def test_a_failure_is_logged_with_its_reason(chain: Chain, program: bytes, reason: str) -> None:
    (block,) = logged(chain, lambda: send(chain, 0, program))
    assert f"Failed            {reason}" in block


def test_the_transactions_of_a_block_are_logged_in_order(chain: Chain) -> None:
    chain.schedule.seal_on_request()
    hashes: list[Hash32] = []

    def work() -> None:
        hashes.extend([send(chain, 0, STOPS), send(chain, 1, says_no()), send(chain, 2, to=BOB)])
        chain.builder.seal()

    blocks = logged(chain, work)
    assert [block.split()[1] for block in blocks] == [str(it) for it in hashes]
    assert ["Failed" in block for block in blocks] == [False, True, False]


def test_an_empty_block_is_not_logged(chain: Chain) -> None:
    assert logged(chain, chain.builder.seal) == []


def test_a_reverted_block_is_not_logged(chain: Chain) -> None:
    def work() -> None:
        reverts = Reverts(chain)
        checkpoint = reverts.checkpoint()
        send(chain, 0, to=BOB)
        assert reverts.restore(checkpoint)

    assert logged(chain, work) == []


def test_a_block_that_replaces_another_is_logged_once(chain: Chain) -> None:
    def work() -> None:
        reverts = Reverts(chain)
        checkpoint = reverts.checkpoint()
        send(chain, 0, to=BOB)
        reverts.restore(checkpoint)
        send(chain, 0, STOPS)

    (block,) = logged(chain, work)
    assert "Contract created" in block


def test_console_log_is_logged_with_its_transaction(chain: Chain) -> None:
    code = logging_code(console_call("log(string)", "one\ntwo\x1b[2J"))
    (block,) = logged(chain, lambda: send(chain, 0, code))
    assert block.endswith("    console.log       one\n                      two\\x1b[2J\n")


def test_only_wanted_transactions_are_traced(chain: Chain) -> None:
    chain.schedule.seal_on_request()

    def work() -> None:
        send(chain, 0, STOPS)
        send(chain, 1, says_no())
        chain.builder.seal()

    async def traced() -> list[str]:
        lines: list[str] = []
        log = TransactionLog(
            chain.events,
            chain.blocks,
            TextLogFormat(colours=False),
            lines.append,
            details=LogDetails(AbiRegistry(), 3),
            ledger=chain.ledger,
        )
        work()
        await asyncio.sleep(0)
        await asyncio.to_thread(lambda: eventually(lambda: len(lines) == 2))
        log.close()
        return lines

    succeeded, failed = asyncio.run(traced())
    assert "Traces" not in succeeded
    assert "← [Revert] no" in failed

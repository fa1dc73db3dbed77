"""Transactions in the log."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator

import pytest

from entresol.chain.chain import Chain
from entresol.chain.genesis.accounts import DEVELOPMENT_MNEMONIC, derive
from entresol.chain.genesis.genesis import Genesis
from entresol.chain.rules import ChainRules
from entresol.contracts.abi_registry import AbiRegistry
from entresol.primitives.transactions import sign
from entresol.primitives.values import Address, Hash32
from entresol.rpc.jsonrpc.errors import JSON_RPC
from entresol.sequencer.sequencer import InlineSequencer
from entresol.server.handler import LocalConnection
from entresol.server.responses import DocumentRejections, HttpResponse
from entresol.terminal import transactions
from entresol.terminal.formats import TextLogFormat
from entresol.terminal.log_details import LogDetails
from entresol.terminal.transactions import (
    MAX_LOGGED_REJECTIONS,
    OpenSends,
    RejectionLog,
    TransactionLog,
)
from entresol.terminal.writer import FormatText
from tests.support.chain.dev_chain import fee_market
from tests.support.chain.steering import revert
from tests.support.evm.in_memory_state import BOB
from tests.support.polling import eventually

(ALICE,) = derive(DEVELOPMENT_MNEMONIC, 1)
STOPS = bytes.fromhex("60015ff3")
HALTS = b"\xfe"

SEND = b'{"method":"eth_sendRawTransaction"}'

REJECTIONS = DocumentRejections(JSON_RPC, body_limit=1_000)


def says_no() -> bytes:
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
    payload = fee_market(
        nonce, None if to is None else Address(to), data=data, gas=200_000, fee=10**10
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


def formatted_later(chain: Chain, work: Callable[[], object]) -> tuple[list[str], list[str | None]]:
    """Return what is logged at once of what `work` does, and what is left to be formatted elsewhere."""
    lines: list[str] = []
    later: list[FormatText] = []

    async def run() -> None:
        log = TransactionLog(
            chain.events,
            chain.blocks,
            TextLogFormat(colours=False),
            lines.append,
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


def test_a_transaction_is_logged_after_its_request(chain: Chain) -> None:
    (block,) = logged(chain, lambda: send(chain, 0, to=BOB))
    assert f"From              {ALICE.address.checksummed()}" in block
    assert f"To                {Address(BOB).checksummed()}" in block
    assert "Gas used          21,000" in block
    assert "Block number      1\n" in block
    assert f"Block hash        {chain.head.hash()}" in block
    assert "Block time        20" in block
    assert "Failed" not in block


@pytest.mark.parametrize(
    ("program", "reason"), [(says_no(), "execution reverted: no"), (HALTS, "invalid 0xFE opcode")]
)
def test_a_failure_is_logged_with_its_reason(chain: Chain, program: bytes, reason: str) -> None:
    (block,) = logged(chain, lambda: send(chain, 0, program))
    assert f"Failed            {reason}" in block


def test_a_block_that_replaces_another_is_logged_once(chain: Chain) -> None:
    def work() -> None:
        checkpoint = chain.history.mark()
        send(chain, 0, to=BOB)
        revert(chain, checkpoint)
        send(chain, 0, STOPS)

    (block,) = logged(chain, work)
    assert "Contract created" in block


async def test_only_wanted_transactions_are_traced(chain: Chain) -> None:
    chain.schedule.seal_on_request()

    def work() -> None:
        send(chain, 0, STOPS)
        send(chain, 1, says_no())
        chain.builder.seal()

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
    succeeded, failed = lines
    assert "Traces" not in succeeded
    assert "← [Revert] no" in failed


def lines_of(work: Callable[[OpenSends, list[str]], Awaitable[None]]) -> list[str]:
    """Return the lines that `work` has written by the time the event loop has nothing more to do."""
    lines: list[str] = []

    async def run() -> None:
        await work(OpenSends(), lines)
        for _ in range(3):
            await asyncio.sleep(0)

    asyncio.run(run())
    return lines


def test_a_block_follows_the_requests_that_were_open_when_it_was_sealed() -> None:
    async def work(sends: OpenSends, lines: list[str]) -> None:
        with sends.holding(SEND):
            with sends.holding(SEND):
                sends.after(lambda: lines.append("block"))
                await asyncio.sleep(0)
                lines.append("first")
            await asyncio.sleep(0)
            lines.append("second")

    assert lines_of(work) == ["first", "second", "block"]


def test_a_block_does_not_wait_for_requests_that_came_after_it() -> None:
    async def work(sends: OpenSends, lines: list[str]) -> None:
        first, second = sends.holding(SEND), sends.holding(SEND)
        with first:
            sends.after(lambda: lines.append("block"))
            second.__enter__()
        await asyncio.sleep(0)
        lines.append("second")
        second.__exit__(None, None, None)

    assert lines_of(work) == ["block", "second"]


def test_a_block_is_not_held_back_for_a_sender_that_waits_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transactions, "MAX_HELD_SECONDS", 0.0)

    async def work(sends: OpenSends, lines: list[str]) -> None:
        written = asyncio.Event()
        with sends.holding(SEND):
            sends.after(written.set)
            await written.wait()
            lines.append("block")

    assert lines_of(work) == ["block"]


class Recorded:
    """A rejection log, its lines, and a clock that is moved by hand."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.now = 1_000.0
        self.summary = asyncio.Event()
        self.log = RejectionLog(TextLogFormat(colours=False), self._write)

    def _write(self, line: str) -> None:
        self.lines.append(line)
        if line.endswith(" more"):
            self.summary.set()

    def reject(self, times: int = 1, response: HttpResponse = REJECTIONS.wrong_method) -> None:
        for _ in range(times):
            self.log(response, LocalConnection())


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Recorded:
    recorded = Recorded()
    monkeypatch.setattr(transactions, "monotonic", lambda: recorded.now)
    return recorded


async def test_a_flood_that_ends_is_counted_too(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transactions, "REJECTION_WINDOW_SECONDS", 0.01)
    recorded.reject(MAX_LOGGED_REJECTIONS + 3)
    async with asyncio.timeout(20):
        await recorded.summary.wait()
    assert recorded.lines[MAX_LOGGED_REJECTIONS:] == ["(rejected) 3 more"]

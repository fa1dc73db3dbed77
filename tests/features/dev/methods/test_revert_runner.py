"""Long reverts leave the event loop, whatever happens to the chain meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from threading import Event

import msgspec
import pytest

from entresol.errors import ChainReplaced
from entresol.features.dev.checkpoint import QUICK_BLOCKS, NodeRevertPlan
from entresol.features.dev.methods import revert_runner as module
from entresol.server.handler import LocalConnection
from tests.support.chain.api_client import ApiClient, send
from tests.support.chain.dev_chain import ALICE
from tests.support.polling import PATIENCE_SECONDS

LONG = QUICK_BLOCKS + 1


@pytest.mark.parametrize(
    ("request_", "result"),
    [
        (b'"evm_revert","params":["0x1"]', b"true"),
        (b'"anvil_rollback","params":[17]', b"null"),
        (b'"anvil_reset","params":[]', b"null"),
        (b'"hardhat_reset","params":[]', b"true"),
    ],
)
def test_a_long_revert_leaves_the_event_loop(
    client: ApiClient, request_: bytes, result: bytes
) -> None:
    client("evm_snapshot")
    for nonce in range(LONG):
        send(client, nonce)

    async def revert() -> bytes:
        body = b'{"jsonrpc":"2.0","id":1,"method":%b}' % request_
        response = client.api.dispatcher.handle(body, LocalConnection())
        assert not isinstance(response, bytes | None)
        assert client.chain.number == LONG
        return await response or b""

    assert b'"result":%b' % result in asyncio.run(revert())
    assert client.chain.number == 0
    assert client("eth_getTransactionCount", str(ALICE), "latest") == "0x0"


@pytest.mark.parametrize("disturbances", [1, module.ATTEMPTS + 1])
def test_blocks_that_are_sealed_meanwhile_are_reverted_too(
    client: ApiClient, monkeypatch: pytest.MonkeyPatch, disturbances: int
) -> None:
    checkpoint = client("evm_snapshot")
    for nonce in range(LONG):
        send(client, nonce)
    left = [disturbances]
    prepare: Callable[[NodeRevertPlan], None] = NodeRevertPlan.prepare

    def disturbed(plan: NodeRevertPlan) -> None:
        prepare(plan)
        if left[0]:
            left[0] -= 1
            client.chain.builder.seal()

    monkeypatch.setattr(NodeRevertPlan, "prepare", disturbed)
    assert client("evm_revert", checkpoint) is True
    assert client.chain.number == 0


def test_of_two_long_reverts_to_one_snapshot_one_succeeds(client: ApiClient) -> None:
    client("evm_snapshot")
    for nonce in range(LONG):
        send(client, nonce)

    async def both() -> list[bytes | None]:
        body = b'{"jsonrpc":"2.0","id":1,"method":"evm_revert","params":["0x1"]}'
        responses = [client.api.dispatcher.handle(body, LocalConnection()) for _ in range(2)]
        return await asyncio.gather(*responses)  # type: ignore[arg-type]

    results = [b"true" in (response or b"") for response in asyncio.run(both())]
    assert sorted(results) == [False, True]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("evm_revert", ["0x1"]),
        ("anvil_revert", ["0x1"]),
        ("anvil_rollback", [1]),
        ("anvil_reorg", [1, []]),
        ("anvil_reset", []),
        ("hardhat_reset", []),
        ("anvil_loadState", ["dump"]),
    ],
)
@pytest.mark.parametrize("is_patient", [True, False])
def test_a_chain_is_replaced_once_nothing_runs_on_it_or_what_runs_has_had_its_time(
    client: ApiClient,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    params: list[object],
    is_patient: bool,
) -> None:
    client("evm_snapshot")
    dump = client("anvil_dumpState")
    send(client, 0)
    given = [dump if param == "dump" else param for param in params]
    if not is_patient:
        monkeypatch.setattr(module, "WAIT_SECONDS", 0.0)
    go_on, reading = Event(), Event()

    def read() -> int:
        reading.set()
        go_on.wait(PATIENCE_SECONDS)
        return client.chain.number

    async def race() -> tuple[bytes, object]:
        work = asyncio.ensure_future(client.api.services.threads.run(read))
        await asyncio.to_thread(reading.wait, PATIENCE_SECONDS)
        body = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": method, "params": given})
        response = client.api.dispatcher.handle(body, LocalConnection())
        assert not isinstance(response, bytes | None)
        replacing = asyncio.ensure_future(response)
        if is_patient:
            await asyncio.sleep(0)
            assert client.chain.number == 1
            go_on.set()
        done = await replacing
        go_on.set()
        (read_number,) = await asyncio.gather(work, return_exceptions=True)
        return done or b"", read_number

    replaced, number = asyncio.run(race())
    assert b'"result"' in replaced
    assert number == 1 if is_patient else isinstance(number, ChainReplaced)

"""Long reverts leave the event loop, whatever happens to the chain meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from entresol.chain.dev.revert_plan import QUICK_BLOCKS, PairRevertPlan
from entresol.rpc.jsonrpc.connection import LocalConnection
from entresol.rpc.namespaces.dev import revert_runner as module
from tests.support.chain.api_client import ApiClient, send
from tests.support.chain.dev_chain import ALICE

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
    prepare: Callable[[PairRevertPlan], None] = PairRevertPlan.prepare

    def disturbed(plan: PairRevertPlan) -> None:
        prepare(plan)
        if left[0]:
            left[0] -= 1
            client.chain.seal()

    monkeypatch.setattr(PairRevertPlan, "prepare", disturbed)
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

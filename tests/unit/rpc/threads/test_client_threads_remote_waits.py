"""Requests that wait for the remote of a fork."""

from __future__ import annotations

import asyncio

import msgspec

from entresol.rpc.threads.client_threads import MAX_QUEUED_CALLS
from entresol.server.handler import LocalConnection, completed
from tests.support.chain.dev_chain import GENESIS, RULES
from tests.support.fork.running_fork import RunningApi, open_fork, remote_of, running_api


def test_a_client_that_sends_without_end_is_rejected_while_the_remote_is_silent() -> None:
    """Another client is not, and those that were not rejected have their responses in the end."""
    with remote_of(GENESIS) as remote, running_api(open_fork(remote, RULES)) as client:

        async def flood() -> tuple[list[bytes], bytes]:
            connection = LocalConnection()
            with remote.held():
                sent = [asyncio.ensure_future(ask(client, connection, n)) for n in range(510)]
                rejected, _ = await asyncio.wait(sent, return_when=asyncio.FIRST_COMPLETED)
                other = asyncio.ensure_future(ask(client, LocalConnection(), 0))
                await asyncio.sleep(0)
                assert rejected
                assert not other.done()
            return await asyncio.gather(*sent), await other

        responses, other = client.run(flood())
        codes = [
            msgspec.json.decode(response).get("error", {}).get("code") for response in responses
        ]
        assert codes == [None] * MAX_QUEUED_CALLS + [-32005] * 10
        assert msgspec.json.decode(other)["result"] == "0x0"


async def ask(client: RunningApi, connection: LocalConnection, number: int) -> bytes:
    """Ask for the balance of one of many accounts."""
    address = f"0x{number + 1_000:040x}"
    request = {"jsonrpc": "2.0", "id": 1, "method": "eth_getBalance", "params": [address, "latest"]}
    response = client.api.dispatcher.handle(msgspec.json.encode(request), connection)
    handled = await completed(response)
    assert isinstance(handled, bytes)
    return handled

"""Blocks with what their transactions returned."""

from __future__ import annotations

import pytest

from entresol.rpc.namespaces.dev.mine_detailed import MineDetailed
from entresol.rpc.services.rendered_chain import RenderedChain, Result
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.chain.api_client import REVERT, TARGET, ApiClient
from tests.support.chain.dev_chain import ALICE, open_chain
from tests.support.rpc_client import NamespaceClient, RpcError

RETURNS_7 = "0x60075f5260205ff3"


@pytest.mark.parametrize("prefix", ["evm", "anvil"])
@pytest.mark.parametrize(
    ("code", "output", "reason"), [(RETURNS_7, "0x" + "00" * 31 + "07", None), (REVERT, None, "no")]
)
def test_a_transaction_has_its_output_and_the_reason_of_a_revert(
    client: ApiClient, prefix: str, code: str, output: str | None, reason: str | None
) -> None:
    client("anvil_setCode", TARGET, code)
    client("evm_setAutomine", False)
    sent = client("eth_sendTransaction", {"from": str(ALICE), "to": TARGET, "gas": 100_000})
    (block,) = client(f"{prefix}_mine_detailed")
    (transaction,) = block["transactions"]
    assert block["number"] == "0x1"
    assert transaction["hash"] == sent
    assert transaction.get("revertReason") == reason
    assert output in {None, transaction["output"]}


def test_several_blocks_are_sealed(client: ApiClient) -> None:
    blocks = client("evm_mine_detailed", {"blocks": 3, "timestamp": 9_000})
    assert [block["number"] for block in blocks] == ["0x1", "0x2", "0x3"]
    assert blocks[0]["timestamp"] == hex(9_000)


def test_too_many_blocks_are_rejected(client: ApiClient) -> None:
    with pytest.raises(RpcError, match="one request seals at most 1000 blocks"):
        client("evm_mine_detailed", {"blocks": 1_001})


class Reverting(RenderedChain):
    """Finds no block 2, as if it had been reverted since it was sealed."""

    def block(self, number: int, *, full: bool) -> Result:
        return None if number == 2 else super().block(number, full=full)


def test_a_block_that_was_reverted_meanwhile_is_left_out() -> None:
    chain = open_chain()
    rendered = Reverting(270, chain.blocks, chain.pool, chain.builder.pending_block)
    client = NamespaceClient(MineDetailed("evm", chain, InlineSequencer(chain), rendered))
    try:
        blocks = client("evm_mine_detailed", {"blocks": 3})
    finally:
        client.close()
        chain.close()
    assert [block["number"] for block in blocks] == ["0x1", "0x3"]

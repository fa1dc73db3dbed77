"""An L2 to add, as a client describes it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from entresol.features.adding.methods import EntresolChains, NewChainFields
from entresol.primitives.values import Address
from entresol.rpc.models.chain_entry import ChainEntry, ChainToken
from tests.support.rpc_client import NamespaceClient

METHOD = "entresol_addChain"
TOKEN = ChainToken(l1_address=Address(b"\1" * 20), name="Zoo", symbol="ZOO", decimals=18, ratio="1")


class Additions:
    """Adds every chain."""

    def __init__(self) -> None:
        self.added: list[NewChainFields] = []

    async def add_chain(self, chain: NewChainFields) -> ChainEntry:
        self.added.append(chain)
        return ChainEntry(
            chain_id=int(chain.chain_id),
            http_url="http://127.0.0.1:1",
            ws_url="ws://127.0.0.1:1",
            data_dir=None,
            contract=Address(b"\2" * 20),
            base_token=TOKEN,
        )


@pytest.fixture
def additions() -> Additions:
    return Additions()


@pytest.fixture
def client(additions: Additions) -> Iterator[NamespaceClient]:
    opened = NamespaceClient(EntresolChains(additions))
    yield opened
    opened.close()


@pytest.mark.parametrize("chain_id", [300, "300", "0x12c"])
def test_an_id_is_taken_in_any_format_of_numbers(
    client: NamespaceClient, additions: Additions, chain_id: object
) -> None:
    found = client(METHOD, {"chainId": chain_id, "baseToken": None})
    assert found["chain_id"] == additions.added[0].chain_id == 300
    assert found["contract"] == "0x" + "02" * 20
    assert found["base_token"]["symbol"] == "ZOO"


@pytest.mark.parametrize(
    "chain",
    [
        *(None, 300, [], {}, {"chainId": None}, {"chainId": -1}, {"chainId": 1.5}),
        *({"chainId": 2**64}, {"chainId": 1, "port": "x"}, {"chainId": 1, "baseToken": 5}),
        *({"chainId": 1, "baseTokenRatio": []}, {"chainId": 1, "name": "x"}),
        {"chainId": 1, "x" * 100_000: 1},
    ],
)
def test_what_is_no_chain_is_rejected_with_what_is_wrong(
    client: NamespaceClient, additions: Additions, chain: object
) -> None:
    caught = client.error(METHOD, chain)
    assert caught.code == -32602
    assert len(caught.message) < 300
    assert additions.added == []

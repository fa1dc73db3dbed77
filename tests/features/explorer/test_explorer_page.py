from __future__ import annotations

import json
from typing import Any

import msgspec

from entresol.features.explorer.explorer_page import INFO_PATH, ExplorerPage, House
from entresol.node.settlement.settlement_layer import development_contracts
from entresol.primitives.base_token import ETHER_TOKEN, BaseToken
from entresol.primitives.values import Address

MILL = BaseToken(l1_address=Address(b"\x11" * 20), name="Mill", symbol="MILL", decimals=6)


class Listening:
    """A service that listens."""

    def __init__(self, port: int) -> None:
        self.port = port


def info(page: ExplorerPage, *houses: House) -> Any:
    response = page.info_page(houses)() if houses else page.pages()[INFO_PATH]()
    assert isinstance(response, tuple)
    status, _, body = response
    assert status == 200
    return json.loads(body)


def test_each_layer_of_a_pair_names_the_path_to_the_other() -> None:
    assert info(ExplorerPage(layer=2, other="here"))["other"] == "/explorer/l1"
    assert info(ExplorerPage(layer=1, other="here"))["other"] == "/explorer/l2"


def houses_on_one_ground() -> list[House]:
    pages = [
        ExplorerPage(
            layer=2,
            other="here",
            chain_id=270 + index,
            contracts=development_contracts(index),
            base_token=MILL if index else ETHER_TOKEN,
        )
        for index in range(2)
    ]
    return [House(page, Listening(3050 + index)) for index, page in enumerate(pages)]


def test_each_chain_of_several_is_listed_with_its_path_its_port_and_its_token() -> None:
    first, second = info(ExplorerPage(layer=1, other="here"), *houses_on_one_ground())["chains"]
    assert (first["id"], first["path"], first["port"], first["first"]) == (
        270,
        "/explorer/270",
        3050,
        True,
    )
    assert first["token"]["symbol"] == "ETH"
    assert (second["id"], second["name"], second["first"]) == (271, "Mill", False)
    assert second["contract"] == str(development_contracts(1).chain)
    assert second["token"] == {
        "name": "Mill",
        "symbol": "MILL",
        "decimals": 6,
        "address": "0x" + "11" * 20,
    }


def test_every_port_has_the_names_of_all_chains_contracts() -> None:
    houses = houses_on_one_ground()
    for page in (*(house.page for house in houses), ExplorerPage(layer=1, other="here")):
        names = info(page, *houses)["l1"]
        contracts = development_contracts()
        assert names[str(contracts.asset_router)] == "L1AssetRouter"
        assert names[str(contracts.legacy_bridge)] == "L1ERC20Bridge"
        assert {names[str(development_contracts(index).chain)] for index in range(2)} == {"ZKChain"}


def test_the_page_says_of_each_chain_whether_it_publishes_and_for_whom_it_is() -> None:
    page = ExplorerPage(layer=2, other="here", chain_id=270)
    checked = msgspec.structs.replace(page, publishes=True, is_development=False)
    houses = [House(it, Listening(3050)) for it in (page, checked)]
    found = [(it["publishes"], it["development"]) for it in info(page, *houses)["chains"]]
    assert found == [(False, True), (True, False)]

from __future__ import annotations

import json
from typing import Any

from entresol.node.explorer.explorer_page import INFO_PATH, ExplorerPage
from entresol.node.settlement.settlement_layer import development_contracts


def info(page: ExplorerPage) -> Any:
    response = page.pages()[INFO_PATH]()
    assert isinstance(response, tuple)
    status, _, body = response
    assert status == 200
    return json.loads(body)


def test_a_layer_alone_has_no_other() -> None:
    found = info(ExplorerPage(layer=1))
    assert (found["layer"], found["other"], found["l1"]) == (1, None, {})


def test_each_layer_of_a_pair_names_the_path_to_the_other() -> None:
    assert info(ExplorerPage(layer=2, other="here"))["other"] == "/explorer/l1"
    assert info(ExplorerPage(layer=1, other="here"))["other"] == "/explorer/l2"


def test_a_remote_layer_is_only_read() -> None:
    assert info(ExplorerPage(layer=2, other="remote"))["remote"] is True


def test_contracts_of_both_layers_have_names() -> None:
    contracts = development_contracts()
    found = info(ExplorerPage(layer=2, other="here", contracts=contracts))
    assert found["l1"][str(contracts.bridgehub)] == "Bridgehub"
    assert found["l2"]["0x0000000000000000000000000000000000008008"] == "L1Messenger"

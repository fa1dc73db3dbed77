"""Whose storage a step reads and writes, where that is not told by a frame's account."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest

from tests.support.chain.api_client import ApiClient, running_api
from tests.support.features.debugger.debugged_contracts import call, create, ran

OTHER: Final = "0x" + "88" * 20
REVERT: Final = "5f5ffd"


@pytest.fixture(scope="module")
def client() -> Iterator[ApiClient]:
    with running_api() as api:
        yield api


def test_contracts_that_are_never_created_have_storages_of_their_own(client: ApiClient) -> None:
    inner = f"5f545060075f55{REVERT}"
    outer = f"60095f55{create(inner)}5f5450{REVERT}"
    words = [outer[at : at + 64].ljust(64, "0") for at in range(0, len(outer), 64)]
    stored = "".join(f"7f{word}60{32 * at:02x}52" for at, word in enumerate(words))
    sent = ran(client, f"{stored}60{len(outer) // 2:02x}5f5ff05000")
    steps = client("entresol_getExecutionSteps", sent, 0, 100)["steps"]
    changes = [
        (step["change"]["before"], step["change"]["after"]) for step in steps if step["change"]
    ]
    assert changes == [(f"0x{0:064x}", f"0x{value:064x}") for value in (9, 7)]
    read = [number for number, it in enumerate(steps) if it["op"] == "SLOAD"]
    states = [client("entresol_getExecutionStep", sent, it + 1) for it in read]
    assert [state["storage"][0]["value"] for state in states] == [
        f"0x{value:064x}" for value in (0, 9)
    ]
    assert [state["stack"][-1] for state in states] == ["0x0", "0x9"]


def test_writes_of_frames_that_are_left_out_are_of_their_own_accounts(client: ApiClient) -> None:
    client("anvil_setCode", OTHER, "0x5f546001015f5500")
    client("anvil_setStorageAt", OTHER, "0x0", f"0x{0:064x}")
    sent = ran(client, f"6117705b{call(OTHER)}600190038060035700")
    overview = client("entresol_getExecution", sent)
    assert (len(overview["frames"]), overview["omittedFrames"]) == (5_000, 1_001)
    page = client("entresol_getExecutionSteps", sent, overview["steps"] - 100, 100)["steps"]
    changes = [it["change"] for it in page if it["change"]]
    assert {change["address"] for change in changes} == {OTHER}
    assert changes[-1]["after"] == f"0x{6_000:064x}"

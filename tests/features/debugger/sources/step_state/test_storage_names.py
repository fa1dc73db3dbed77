"""Slots by the names of their variables, beside the source of the contract."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from entresol._native import keccak256
from entresol.features.debugger.sources.compiler_json import (
    StorageLayout,
    StoredType,
    StoredVariable,
)
from entresol.features.debugger.sources.step_state.storage_names import (
    MAX_NAME,
    MAX_WORK,
    StorageNames,
)
from tests.support.chain.api_client import ApiClient, running_api
from tests.support.features.debugger.debugged_contracts import DebuggedContract

ALICE = bytes(19) + b"A"
ALICES = "0x0000000000000000000000000000000000000041"
WORD = StoredType(label="uint256", encoding="inplace", number_of_bytes="32")


@pytest.fixture(scope="module")
def client() -> Iterator[ApiClient]:
    with running_api() as api:
        yield api


def named(contract: DebuggedContract, sent: str) -> dict[str, str | None]:
    """Return the values of the variables that a transaction has used, by their names."""
    last = len(contract.steps(sent)) - 1
    slots = contract.state(sent, last)["storage"]
    return {it["name"]: it["value"] for slot in slots for it in slot["variables"]}


@pytest.mark.parametrize("settings", ["plain", "optimized"])
def test_variables_mappings_structs_and_arrays_have_their_names(
    client: ApiClient, settings: str
) -> None:
    contract = DebuggedContract(client, settings)
    signature = "open(address,uint256,string,uint256[])"
    contract.send(signature, ALICE, 7, "Alice", [3])
    long_name = "a name of thirty-two bytes or so…"
    account = f"accounts[{ALICES}][9]"
    found = named(contract, contract.send(signature, ALICE, 9, long_name, [3, 4]))
    assert found == {
        f"{account}.amount": "5",
        f"{account}.open": "true",
        f"{account}.name.length": str(len(long_name.encode())),
        f"{account}.name[0…31]": f"0x{long_name.encode()[:32].hex()}",
        f"{account}.name[32…63]": f"0x{long_name.encode()[32:].hex():0<64}",
        f"{account}.history.length": "2",
        f"{account}.history[0]": "6",
        f"{account}.history[1]": "8",
        "values.length": "2",
        "values[0]": "7",
        "values[1]": "9",
        "marks[2]": f"0x{keccak256(long_name.encode()).hex()}",
    }


@pytest.mark.parametrize("settings", ["plain", "optimized"])
def test_variables_that_share_a_slot_are_told_apart(client: ApiClient, settings: str) -> None:
    contract = DebuggedContract(client, settings)
    found = named(contract, contract.deployment)
    created = found.pop("counted")
    assert created is not None
    assert created.startswith("0x")
    assert str(found.pop("owner")).lower() == contract.sender
    assert found == {"kind": "0", "offset": "-7", "title": '"a vault"'}
    paid = named(contract, contract.send("deposit(address,uint128)", ALICE, 100))
    assert (paid["total"], paid["paused"], paid["kind"]) == ("100", "false", "1")
    assert paid[f"balances[{ALICES}]"] == "100"


def test_a_slot_of_another_contract_has_no_names() -> None:
    names = StorageNames(StorageLayout(), {}, {1: 5})
    assert names.of(1, 5) == []


def test_a_key_that_is_text_is_quoted() -> None:
    mapping = StoredType(encoding="mapping", key="string", value="word")
    layout = StorageLayout(
        [StoredVariable("ages", "4", 0, "ages")],
        {"ages": mapping, "string": StoredType(label="string"), "word": WORD},
    )
    preimage = b"Alice" + (4).to_bytes(32)
    place = int.from_bytes(keccak256(preimage))
    [found] = StorageNames(layout, {place: preimage}, {}).of(place, 30)
    assert found == ('ages["Alice"]', "uint256", "30")


def test_a_type_that_contains_itself_ends() -> None:
    member = [StoredVariable("again", "0", 0, "self")] * 50
    layout = StorageLayout(
        [StoredVariable("first", "0", 0, "self")],
        {"self": StoredType(encoding="inplace", number_of_bytes="32", members=member)},
    )
    assert StorageNames(layout, {}, {}).of(0, 1) == []


def test_many_variables_are_looked_at_up_to_a_limit_and_long_names_are_cut() -> None:
    many = [StoredVariable("n" * 10_000, "0", 0, "word")] * (2 * MAX_WORK)
    found = StorageNames(StorageLayout(many, {"word": WORD}), {}, {}).of(0, 1)
    assert len(found) == 32
    assert len(found[0].name) == MAX_NAME + 1


@pytest.mark.parametrize(
    "variable",
    [
        StoredVariable("a", "-1", 0, "word"),
        StoredVariable("a", "9" * 5_000, 0, "word"),
        StoredVariable("a", "0", -(2**62), "word"),
        StoredVariable("a", "0", 2**62, "word"),
        StoredVariable("a", "0", 0, "missing"),
        StoredVariable("a", "0", 0, "odd"),
    ],
)
def test_a_malformed_layout_names_nothing_wrongly_and_does_not_fail(
    variable: StoredVariable,
) -> None:
    odd = StoredType(label="uint999", encoding="inplace", number_of_bytes="-3", base="odd")
    layout = StorageLayout([variable], {"word": WORD, "odd": odd})
    assert len(StorageNames(layout, {}, {0: 1}).of(0, 2**256 - 1)) <= 1

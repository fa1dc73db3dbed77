"""Recorded executions beside their struct logs, where the codes and the storages of accounts change meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from entresol._native import address_of, keccak256, public_key, rlp_encode
from entresol._native import sign as sign_digest
from entresol.execution.call_frames import CallFrame
from entresol.features.debugger.sources.registry import SourceRegistry
from entresol.features.debugger.sources.steps import Step, StepsTooLong
from entresol.features.debugger.sources.walk import Walker
from entresol.primitives.transactions import Authorization, SetCodeTransaction, sign
from entresol.primitives.values import Address
from tests.support.chain.api_client import ACCOUNTS, TARGET, ApiClient, running_api
from tests.support.chain.dev_chain import SECRETS
from tests.support.features.debugger.debugged_contracts import call, create, ran
from tests.support.hex_data import hexed

OTHER: Final = "0x" + "88" * 20
THIRD: Final = "0x" + "99" * 20
RETURN_BYTE: Final = "60aa5f5360205ff3"
"""Returns a word that begins with 0xaa."""
REVERT: Final = "5f5ffd"
SIGNER: Final = b"\x09" * 32
"""Signs an authorization, and sends nothing."""


@pytest.fixture(scope="module")
def client() -> Iterator[ApiClient]:
    with running_api() as api:
        yield api


def salted(creator: str, code: str) -> str:
    hashed = keccak256(bytes.fromhex(code))
    return f"0x{keccak256(bytes.fromhex('ff' + creator[2:]) + bytes(32) + hashed)[12:].hex()}"


def authorization_to(address: Address) -> Authorization:
    """Return the authorization of the signer's account to delegate to a contract."""
    chain_id = 270
    digest = keccak256(b"\x05" + rlp_encode([chain_id.to_bytes(2), address, b""]))
    signature = sign_digest(digest, SIGNER)
    r, s = int.from_bytes(signature[:32]), int.from_bytes(signature[32:64])
    return Authorization(chain_id, address, 0, signature[64], r, s)


def copy_code(account: str, target: int) -> str:
    return f"60205f60{target:02x}73{account[2:]}3c"


def compare(client: ApiClient, sent: str) -> list[dict[str, Any]]:
    """Compare frames, stack and memory of each step with the struct logs; return the frames."""
    logs = client("debug_traceTransaction", sent, {"enableMemory": True})["structLogs"]
    overview = client("entresol_getExecution", sent)
    frames: list[dict[str, Any]] = overview["frames"]
    assert overview["steps"] == len(logs)
    for number, log in enumerate(logs):
        state = client("entresol_getExecutionStep", sent, number)
        assert frames[state["frame"]]["depth"] == log["depth"]
        assert state["stack"] == log["stack"]
        assert state["memory"] == "0x" + "".join(it[2:] for it in log.get("memory", []))
    return frames


def with_steps(frames: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return types and accounts of the frames that have steps."""
    return [(frame["type"], frame["to"]) for frame in frames if frame["firstStep"] is not None]


def test_the_code_of_an_account_is_another_once_it_is_created(client: ApiClient) -> None:
    account = salted(TARGET, RETURN_BYTE)
    create_it = create(RETURN_BYTE, salt=True)
    sent = ran(client, copy_code(account, 64) + create_it + copy_code(account, 96) + "5f5000")
    compare(client, sent)


def test_a_contract_has_no_code_until_its_creation_has_ended(client: ApiClient) -> None:
    client("anvil_setCode", OTHER, "0x5f5000")
    # The constructor copies its own code, calls itself, then another contract.
    constructor = f"60205f5f303c5f5f5f5f5f305af150{call(OTHER)}{RETURN_BYTE}"
    words = [constructor[at : at + 64].ljust(64, "0") for at in range(0, len(constructor), 64)]
    stored = "".join(f"7f{word}60{32 * at:02x}52" for at, word in enumerate(words))
    sent = ran(client, f"{stored}60{len(constructor) // 2:02x}5f5ff05000")
    frames = compare(client, sent)
    assert [kind for kind, _ in with_steps(frames)] == ["CALL", "CREATE", "CALL"]
    assert with_steps(frames)[-1] == ("CALL", OTHER)


def test_a_contract_whose_creation_is_undone_has_no_code(client: ApiClient) -> None:
    created = salted(OTHER, RETURN_BYTE)
    client("anvil_setCode", OTHER, f"0x{create(RETURN_BYTE, salt=True)}{REVERT}")
    client("anvil_setCode", THIRD, "0x5f5000")
    code = f"{call(OTHER)}{call(created)}{call(THIRD)}{copy_code(created, 0)}5f5000"
    frames = compare(client, ran(client, code))
    accounts = [("CALL", TARGET), ("CALL", OTHER), ("CREATE2", created), ("CALL", THIRD)]
    assert with_steps(frames) == accounts


def test_authorizations_of_a_transaction_apply_before_it_runs(client: ApiClient) -> None:
    account = str(Address(address_of(public_key(SIGNER))))
    client("anvil_setCode", OTHER, "0x5f5000")
    client("anvil_setCode", TARGET, f"0x{call(account)}{call(OTHER)}{copy_code(account, 0)}5f5000")
    payload = SetCodeTransaction(
        chain_id=270,
        nonce=int(client("eth_getTransactionCount", str(ACCOUNTS[0].address)), 16),
        max_priority_fee_per_gas=0,
        max_fee_per_gas=10**10,
        gas_limit=1_000_000,
        to=Address.parse(TARGET),
        authorizations=(authorization_to(Address.parse(OTHER)),),
    )
    raw = sign(payload, SECRETS[0]).raw
    frames = compare(client, client("eth_sendRawTransaction", hexed(raw)))
    assert with_steps(frames) == [("CALL", TARGET), ("CALL", account), ("CALL", OTHER)]


def test_steps_that_do_not_reach_to_the_end_are_forgotten_in_every_open_frame() -> None:
    def cut() -> Iterator[Step]:
        yield Step(0, "JUMPDEST", 1)
        yield Step(1, "CALL", 1)
        yield Step(0, "JUMPDEST", 2)
        raise StepsTooLong

    inner = CallFrame(type="CALL", sender=TARGET, to=OTHER)
    outermost = CallFrame(type="CALL", sender=THIRD, to=TARGET, calls=[inner])
    walk = Walker(SourceRegistry(), lambda _: b"\x5b\xf1").walk(outermost, cut())
    assert walk.child is not None
    kept = [[*it.last, *it.call_last, *it.functions] for it in (walk, walk.child)]
    assert kept == [[], []]

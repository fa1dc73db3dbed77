"""Recorded executions of any code agree with its struct logs: steps, frames, stack, memory, and slots that are read."""

from __future__ import annotations

from random import Random
from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st

from entresol._native import keccak256
from tests.support.chain.api_client import TARGET, ApiClient, running_api
from tests.support.run.examples import examples

OTHERS: Final = ["0x" + digits * 20 for digits in ("c2", "c3", "c4")]
INIT: Final = "60aa5f5360205ff3"
CREATED: Final = [
    "0x" + keccak256(b"\xff" + bytes.fromhex(other[2:]) + bytes(32) + keccak256(bytes.fromhex(INIT)))[12:].hex()
    for other in (TARGET, *OTHERS)
]  # fmt: skip
"""Where accounts create a contract with the salt 0, if they do."""
PRECOMPILES: Final = [f"0x{number:040x}" for number in (1, 2, 4, 5)]
ACCOUNTS: Final = [TARGET, *OTHERS, *CREATED, *PRECOMPILES, "0x" + "ee" * 20]
PLACES: Final = (0, 1, 31, 32, 33, 100, 1_000)
SIZES: Final = (0, 0, 1, 4, 32, 33, 100)


@settings(max_examples=examples(10), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_recordings_agree_with_struct_logs(seed: int) -> None:
    random = Random(seed)
    with running_api() as client:
        for account in (TARGET, *OTHERS):
            client("anvil_setCode", account, f"0x{code(random, random.randrange(1, 12))}")
            client("anvil_setBalance", account, "0x10")
        fields = {"from": client("eth_accounts")[0], "to": TARGET, "data": "0x0102030405"}
        gas = hex(random.choice([100_000, 1_000_000]))
        check(client, client("eth_sendTransaction", {**fields, "gas": gas}), random)


def check(client: ApiClient, sent: str, random: Random) -> None:
    """Compare an overview, and some of the steps."""
    logs = client("debug_traceTransaction", sent, {"enableMemory": True})["structLogs"]
    overview = client("entresol_getExecution", sent)
    assert overview["steps"] == len(logs)
    assert sum(it["count"] for it in overview["recorded"]) == min(len(logs), 20_000)
    numbers = range(min(len(logs), 10_000))
    for number in sorted(random.sample(numbers, min(100, len(numbers)))):
        log, state = logs[number], client("entresol_getExecutionStep", sent, number)
        assert (state["pc"], state["op"], state["gas"]) == (log["pc"], log["op"], log["gas"])
        assert overview["frames"][state["frame"]]["depth"] == log["depth"]
        assert state["stack"] == log["stack"]
        memory = "0x" + "".join(it[2:] for it in log.get("memory", []))
        assert state["memory"] == memory[: 2 + 2 * 16_384]
        if number and logs[number - 1]["depth"] == log["depth"]:
            check_read(logs[number - 1], state)


def check_read(before: dict[str, Any], state: dict[str, Any]) -> None:
    """Check that a slot which the step before has read has the value that is on the stack."""
    if before["op"] not in ("SLOAD", "TLOAD") or "error" in before:
        return
    slot = f"0x{int(before['stack'][-1], 16):064x}"
    is_transient = before["op"] == "TLOAD"
    [found] = [
        it for it in state["storage"] if (it["slot"], it["transient"]) == (slot, is_transient)
    ]
    assert int(found["value"], 16) == int(state["stack"][-1], 16)


def push(number: int) -> str:
    digits = f"{number:x}"
    digits = "" if number == 0 else digits.zfill(len(digits) + len(digits) % 2)
    return f"{0x5F + len(digits) // 2:02x}{digits}"


def code(random: Random, parts: int, depth: int = 0) -> str:
    return "".join(part(random, depth) for _ in range(parts))


def part(random: Random, depth: int) -> str:
    """Return some instructions that leave the stack as it is, or end the frame."""
    place, size = push(random.choice(PLACES)), push(random.choice(SIZES))
    account = f"73{random.choice(ACCOUNTS)[2:]}"
    slot, word = push(random.randrange(3)), push(random.getrandbits(random.choice([8, 256])))
    kind = random.randrange(12)
    if kind == 0:
        return random.choice([f"{word}{place}52", f"{word}{place}53", f"{place}5150"])
    if kind == 1:
        return size + push(random.choice(PLACES)) + place + random.choice(["37", "39", "5e"])
    if kind == 2:
        return f"3d5f{place}3e"
    if kind == 3:
        return f"{size}5f{place}{account}3c"
    if kind in (4, 5, 6):
        call = random.choice(["f1", "f2", "f4", "fa"])
        value = push(random.choice([0, 0, 1, 10**30])) if call in ("f1", "f2") else ""
        gas = push(random.choice([0, 100, 5_000, 200_000]))
        return f"{size}{place}{size}{place}{value}{account}{gas}{call}50"
    if kind == 7:
        return create(random, depth)
    if kind == 8:
        return word + slot + random.choice(["55", "5d"])
    if kind == 9:
        return slot + random.choice(["5450", "5c50"])
    if kind == 10:
        return size + place + random.choice(["2050", "a0"])
    end = random.choice([f"{size}{place}f3", f"{size}{place}fd", "fe", "0c", "50", "33ff"])
    return end if random.random() < 0.2 else "5a50"


def create(random: Random, depth: int) -> str:
    """Return code that creates a contract, which may fail."""
    init = INIT
    if depth < 2 and random.random() < 0.6:
        init = code(random, 3, depth + 1) + random.choice(["60205ff3", "60205ffd", "00", "0c"])
    data = bytes.fromhex(init)
    words = [data[at : at + 32].ljust(32, b"\0").hex() for at in range(0, len(data), 32)]
    stored = "".join(f"7f{it}{push(32 * number)}52" for number, it in enumerate(words))
    has_salt = random.random() < 0.7
    made = "5f" * has_salt + push(len(data)) + "5f" + push(random.choice([0, 0, 1, 10**30]))
    return stored + made + ("f5" if has_salt else "f0") + "50"

"""`entresol anvil` beside a real anvil that is started by the same function, with the same flags."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from entresol.chain.genesis.accounts import DevAccount
from entresol.primitives.values import Hash32
from tests.support.anvil import Anvil, running_anvil
from tests.support.inprocess_node import inprocess_anvil, run_command
from tests.support.node_process import ENTRESOL
from tests.support.rpc_client import RpcError

GENESIS_SECONDS = 1_700_000_000
DEPLOYER = "0x4e59b44847b379578588920ca78fbf26c0b4956c"
STRANGER = "0x00000000000000000000000000000000000000aa"


Start: TypeAlias = Callable[..., AbstractContextManager[Anvil]]


def ours(*flags: str) -> AbstractContextManager[Anvil]:
    """Start `entresol anvil`."""
    return inprocess_anvil("anvil", *flags)


def as_anvil(*flags: str) -> AbstractContextManager[Anvil]:
    """Start `entresol anvil` as a script would start anvil."""
    return running_anvil(*flags, program=(*ENTRESOL, "anvil"))


@contextmanager
def both(*flags: str) -> Iterator[tuple[Anvil, Anvil]]:
    with ours(*flags) as node, running_anvil(*flags) as anvil:
        yield node, anvil


def pay(client: Anvil, count: int = 1) -> list[str]:
    """Send `count` payments, and return their hashes."""
    sender = client("eth_accounts")[0]
    payment = {"from": sender, "to": STRANGER, "value": "0x1", "gas": "0x5208"}
    return [client("eth_sendTransaction", payment) for _ in range(count)]


def facts(client: Anvil) -> dict[str, Any]:
    """Return what a fresh chain tells about itself."""
    block = client("eth_getBlockByNumber", "0x0", False)
    accounts = client("eth_accounts")
    info = client("anvil_nodeInfo")
    return {
        "accounts": accounts,
        "balances": [client("eth_getBalance", account, "latest") for account in accounts],
        "chain": client("eth_chainId"),
        "deployer": client("eth_getCode", DEPLOYER, "latest"),
        "environment": {key: info["environment"][key] for key in ("chainId", "gasLimit")},
        # Anvil's latest fork differs from Osaka by parameters of blobs only.
        "fork": info["hardFork"].lower().replace("bpo1", "osaka"),
        "header": {key: block[key] for key in ("number", "gasLimit", "baseFeePerGas")},
        "order": info["transactionOrder"],
        "tip": client("eth_maxPriorityFeePerGas"),
    }


def numbered(client: Anvil) -> dict[str, Any]:
    """Return what a chain whose genesis is block 100 responds, before and after a block."""
    result: dict[str, Any] = {}
    for step in ("genesis", "mined", "rolled back", "reset"):
        if step == "mined":
            client("anvil_mine", 2)
        elif step == "rolled back":
            client("anvil_rollback", 1)
        elif step == "reset":
            client("anvil_reset")
        blocks = [
            client("eth_getBlockByNumber", name, False) for name in ("0x0", "0x63", "earliest")
        ]
        result[step] = {
            "head": client("eth_blockNumber"),
            "blocks": [block and (block["number"], block["parentHash"]) for block in blocks],
            "balance": client("eth_getBalance", client("eth_accounts")[0], "0x64"),
            "logs": client("eth_getLogs", {"fromBlock": "earliest", "toBlock": "latest"}),
        }
        if result[step]["head"] != "0x64":
            # Ours rejects to trace a genesis.
            result[step]["traces"] = client("debug_traceBlockByNumber", "latest")
    return result


@pytest.mark.peer
def test_the_genesis_has_the_number_of_the_flag() -> None:
    with both("--number", "100") as (node, anvil):
        assert numbered(node) == numbered(anvil)
        for method in ("eth_getBalance", "eth_getCode"):
            with pytest.raises(RpcError, match="doesn't exist"):
                node(method, STRANGER, "0x63")


@pytest.mark.peer
@pytest.mark.parametrize(
    "flags",
    [
        (),
        ("-a", "3", "--balance", "7", "--chain-id", "1234", "--mnemonic-seed-unsafe", "7"),
        (
            *("-m", "abandon " * 11 + "about", "--derivation-path", "m/44'/60'/1'/0/"),
            *("--gas-limit", "12345678", "--base-fee", "77", "--order", "fifo"),
            *("--hardfork", "prague", "--no-create2"),
        ),
    ],
    ids=lambda flags: " ".join(flags) or "no flags",
)
def test_a_fresh_chain_is_that_of_anvil(flags: tuple[str, ...]) -> None:
    with both(*flags) as (node, anvil):
        assert facts(node) == facts(anvil)


@pytest.mark.peer
def test_blocks_and_fees_go_on_as_those_of_anvil() -> None:
    with both("--timestamp", str(GENESIS_SECONDS)) as clients:
        seen = []
        for client in clients:
            pay(client, 2)
            blocks = [client("eth_getBlockByNumber", hex(number), False) for number in range(3)]
            assert client("eth_getBalance", STRANGER, "latest") == "0x2"
            fields = ("number", "baseFeePerGas", "gasUsed", "gasLimit", "miner")
            seen.append([{key: block[key] for key in fields} for block in blocks[1:]])
            assert int(blocks[0]["timestamp"], 16) == GENESIS_SECONDS
            assert int(blocks[1]["timestamp"], 16) - GENESIS_SECONDS < 60
        assert seen[0] == seen[1]


def test_without_a_priority_fee_the_gas_price_is_the_base_fee() -> None:
    with ours("--no-priority-fee") as node:
        assert node("eth_maxPriorityFeePerGas") == "0x0"
        fee = node("eth_getBlockByNumber", "pending", False)["baseFeePerGas"]
        assert node("eth_gasPrice") == fee


def test_the_genesis_is_made_now() -> None:
    with ours() as node:
        made = int(node("eth_getBlockByNumber", "0x0", False)["timestamp"], 16)
        assert abs(time.time() - made) < 60


def test_the_file_has_the_keys_of_anvils(tmp_path: Path) -> None:
    written = {}
    starts: dict[str, Start] = {"node": ours, "anvil": running_anvil}
    for name, start in starts.items():
        path = tmp_path / f"{name}.json"
        with start("--config-out", str(path), "--timestamp", "5"):
            written[name] = json.loads(path.read_text(encoding="utf-8"))
    same = written["anvil"].keys() - {"gas_price", "gas_limit"}
    assert {key: written["node"][key] for key in same} == {
        key: written["anvil"][key] for key in same
    }
    assert written["anvil"].keys() <= written["node"].keys()


def test_a_random_mnemonic_is_another_each_time() -> None:
    accounts = []
    for _ in range(2):
        with ours("--mnemonic-random", "15", "-a", "1") as node:
            accounts += node("eth_accounts")
    assert len(set(accounts)) == 2


def test_a_block_has_no_more_transactions_than_the_flag_allows() -> None:
    with ours("--no-mining", "--max-transactions", "2") as node:
        pay(node, 5)
        for expected in ("0x2", "0x2", "0x1"):
            node("evm_mine")
            assert node("eth_getBlockTransactionCountByNumber", "latest") == expected


def test_without_mining_blocks_are_sealed_on_request_only() -> None:
    with ours("--no-mining") as node:
        (sent,) = pay(node)
        assert node("eth_blockNumber") == "0x0"
        node("evm_mine")
        assert node.receipt(sent)["blockNumber"] == "0x1"


def test_every_account_is_impersonated_if_the_flag_says_so() -> None:
    with ours("--auto-impersonate", "--slots-in-an-epoch", "1") as node:
        node("anvil_setBalance", STRANGER, hex(10**18))
        sent = node("eth_sendTransaction", {"from": STRANGER, "to": DEPLOYER, "gas": "0x30d40"})
        assert node.receipt(sent)["from"] == STRANGER
        node("anvil_mine", 5)
        assert node("eth_getBlockByNumber", "safe", False)["number"] == "0x5"
        assert node("eth_getBlockByNumber", "finalized", False)["number"] == "0x4"


@pytest.mark.peer
def test_anvil_and_the_command_continue_each_others_chain(tmp_path: Path) -> None:
    path = str(tmp_path / "state.json")
    starts: tuple[Start, ...] = (ours, running_anvil, ours)
    for expected, start in enumerate(starts, 1):
        with start("--state", path) as client:
            client.receipt(pay(client)[0])
            assert int(client("eth_getBalance", STRANGER, "latest"), 16) == expected
            assert int(client("eth_blockNumber"), 16) == expected


@pytest.mark.peer
def test_a_genesis_file_is_started_from(tmp_path: Path) -> None:
    path = tmp_path / "genesis.json"
    signer = DevAccount.from_secret(Hash32(b"\x77" * 32))
    alloc = {
        STRANGER: {"balance": "0x11"},
        str(signer.address): {"balance": hex(10**18), "secretKey": str(signer.secret)},
    }
    genesis = {"config": {"chainId": 99}, "gasLimit": "0x1312d00", "alloc": alloc}
    path.write_text(json.dumps(genesis), encoding="utf-8")
    starts: tuple[Start, ...] = (as_anvil, running_anvil)
    for start in starts:
        with start("--init", str(path)) as node:
            assert node("eth_chainId") == "0x63"
            assert node("eth_getBalance", STRANGER, "latest") == "0x11"
            accounts = node("eth_accounts")
            assert len(accounts) == 11
            assert str(signer.address) in accounts
            sent = node("eth_sendTransaction", {"from": str(signer.address), "to": STRANGER})
            assert node.receipt(sent)["status"] == "0x1"


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        (("anvil", "--fork-block-number=5"), "--fork-block-number: it needs --fork-url"),
        (
            ("anvil", "-f", "ws://localhost:1"),
            "--fork-url: ws://localhost:1 should begin with http",
        ),
        (("--rpc-url", "http://a", "--number", "1"), "--number: a fork starts from a block"),
        (("--timeout", "1000"), "--timeout: say --fork-timeout, which is in seconds"),
        (("anvil", "--network", "optimism"), "--network: "),
        (("anvil", "--mixed-mining"), "--mixed-mining: it needs --block-time"),
        (("anvil", "--no-mining", "-b", "1"), "--no-mining: it cannot be combined"),
        (("anvil", "-m", "a b", "--mnemonic-random"), "--mnemonic-random: it cannot be combined"),
        (("anvil", "--mnemonic-random", "13"), "--mnemonic-random: a mnemonic is 12"),
        (("anvil", "--derivation-path", "44"), "--derivation-path: it starts with m"),
        (("anvil", "--prot", "1"), "did you mean --port?"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_flags_are_rejected_by_name(flags: tuple[str, ...], problem: str) -> None:
    ended = run_command(*flags)
    assert ended.returncode == 2
    assert problem in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("command", [("anvil",), ("--no-l1",)])
@pytest.mark.parametrize("flag", ["--state", "--load-state", "--dump-state"])
def test_a_chain_starts_from_a_genesis_file_or_a_state_file(
    tmp_path: Path, command: tuple[str, ...], flag: str
) -> None:
    path = tmp_path / "genesis.json"
    path.write_text('{"config": {"chainId": 99}, "gasLimit": 30000000, "alloc": {}}', "utf-8")
    ended = run_command(*command, "--init", str(path), flag, str(tmp_path / "state.json"))
    assert ended.returncode == 2
    assert f"--init: it cannot be combined with {flag}, as in anvil" in ended.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have one loopback address")
def test_it_listens_on_each_host() -> None:
    with ours("--host", "127.0.0.2") as node:
        other = Anvil(node.url.replace("127.0.0.1", "127.0.0.2"), node.pid)
        assert other("eth_chainId") == node("eth_chainId")
        other.close()

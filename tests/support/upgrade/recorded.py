"""A data directory of an earlier version: made once by a node of it, packed, and kept with digests of its responses.

`python -m tests.support.upgrade.recorded NAME PROGRAM…` records one by the node that the words start.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from entresol._native import address_of, public_key
from entresol.primitives.transactions import Paymaster, ZkTransaction
from entresol.primitives.values import Address
from tests.support.contracts.accounts import TOKEN, approval_based, sign_by
from tests.support.contracts.layer_two import artifact_for_tests, calldata, encode
from tests.support.hex_data import hexed
from tests.support.node_process import running_node
from tests.support.rollup.pair import RECEIVER, USER, Pair
from tests.support.rpc_client import RpcClient

FOLDER = Path(__file__).parent
ETHER = 10**18
SECRET = b"\x21" * 32
PAYER = Address(address_of(public_key(SECRET)))
EDITED = "0x" + "ac" * 20

_LEFT_OUT = ("LOG", "OPTIONS-", "LOCK")
"""Files of RocksDB that nothing reads."""


def unpack(name: str, folder: Path) -> tuple[Path, dict[str, Any]]:
    """Unpack a recorded directory, and return it with what is known of it."""
    with tarfile.open(FOLDER / f"{name}.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder / "data", json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def digests(pair: Pair) -> dict[str, str]:
    """Return a digest of what each method says of all blocks: encodings that later versions may not change."""
    found: dict[str, str] = {}
    for name, layer in (("l1", pair.l1), ("l2", pair.l2)):
        hashes: dict[str, Any] = {}
        for method, params in _calls(layer, is_l2=name == "l2"):
            result = msgspec.json.encode(layer(method, *params), order="sorted")
            hashes.setdefault(f"{name} {method}", hashlib.sha256()).update(result)
        found |= {method: it.hexdigest()[:16] for method, it in hashes.items()}
    return found


def _calls(layer: RpcClient, *, is_l2: bool) -> Iterator[tuple[str, tuple[object, ...]]]:
    head = int(layer("eth_blockNumber"), 16)
    for number in range(head + 1):
        block = hex(number)
        for method in ("debug_getRawBlock", "debug_getRawHeader", "debug_getRawReceipts"):
            yield method, (block,)
        for address in (EDITED, str(USER), str(RECEIVER), str(PAYER)):
            yield "eth_getBalance", (address, block)
            yield "eth_getTransactionCount", (address, block)
            yield "eth_getProof", (address, ["0x3"], block)
        for sent in layer("eth_getBlockByNumber", block, False)["transactions"]:
            yield "eth_getRawTransactionByHash", (sent,)
            if is_l2:
                yield "zks_getL2ToL1LogProof", (sent, 0)
    yield "eth_getLogs", ({"fromBlock": "0x0", "toBlock": hex(head)},)
    if is_l2:
        for batch in range(int(layer("zks_L1BatchNumber"), 16) + 1):
            yield "zks_getL1BatchBlockRange", (batch,)


class _Recording:
    """What users do: each kind of transaction once, settled and unsettled."""

    def __init__(self, pair: Pair) -> None:
        self._pair = pair
        self._alice = pair.l2("eth_accounts")[0]

    def settled(self) -> dict[str, str]:
        """Deposit, deploy, pay by a paymaster, edit, revert, withdraw and claim; return what to go on with."""
        pair = self._pair
        token = pair.create_token()
        for deposit in (pair.deposit(ETHER), pair.deposit_token(token, 100)):
            assert pair.arrived(deposit)["status"] == "0x1"
        self._pay_by_paymaster()
        for layer in (pair.l1, pair.l2):
            layer("anvil_setCode", EDITED, "0x60016000f3")
            layer("anvil_setStorageAt", EDITED, "0x3", "0x" + "11" * 32)
            layer("evm_increaseTime", 60)
            layer("evm_mine")
        claimed, open_ = pair.withdraw(3), pair.withdraw_token(token, 2)
        pair.settled()
        snapshot = pair.l2("evm_snapshot")
        self._send(to=str(RECEIVER), value="0x5")
        assert pair.l2("evm_revert", snapshot)
        self._send(to=str(RECEIVER), value="0x6")
        assert pair.l1.receipt(pair.claim(claimed))["status"] == "0x1"
        pair.settled()
        return {"claimed": claimed, "claimable": open_, "token": str(token)}

    def unsettled(self) -> dict[str, str]:
        """Withdraw and deposit while nothing is settled."""
        sent = self._pair.withdraw(11)
        self._pair.arrived(self._pair.deposit(21))
        return {"unsettled": sent}

    def _pay_by_paymaster(self) -> None:
        token = self._deploy(TOKEN.bytecode + encode("(string,string,uint8)", "Crown", "CRWN", 18))
        code = artifact_for_tests("TokenPaymaster").bytecode
        paymaster = self._deploy(code + encode("(address)", token))
        for address in (paymaster, PAYER):
            self._send(to=str(address), value=hex(ETHER))
        self._send(to=str(token), data=hexed(calldata("mint(address,uint256)", PAYER, 50)))
        payload = ZkTransaction(
            nonce=0,
            max_priority_fee_per_gas=0,
            max_fee_per_gas=10**9,
            gas_limit=3_000_000,
            to=RECEIVER,
            chain_id=270,
            sender=PAYER,
            gas_per_pubdata_limit=50_000,
            factory_deps=(bytes(32),),
            paymaster=Paymaster(paymaster, approval_based(token, 1)),
        )
        raw = hexed(sign_by(payload, SECRET).encode())
        sent = self._pair.l2("eth_sendRawTransaction", raw)
        assert self._pair.l2.receipt(sent)["status"] == "0x1"

    def _deploy(self, code: bytes) -> Address:
        return Address.parse(self._send(data=hexed(code))["contractAddress"])

    def _send(self, **fields: str) -> dict[str, Any]:
        sent = self._pair.l2("eth_sendTransaction", {"from": self._alice, **fields})
        receipt = self._pair.l2.receipt(sent)
        assert receipt["status"] == "0x1"
        return receipt


def record(name: str, program: tuple[str, ...]) -> None:
    """Make a data directory by a program, and keep it."""
    with TemporaryDirectory() as folder:
        data, info = Path(folder) / "data", Path(folder) / "info.json"
        known: dict[str, Any] = {}
        for flags in ((), ("--no-settle",)):
            info.unlink(missing_ok=True)
            given = ("--data-dir", str(data), "--config-out", str(info), *flags)
            with running_node(*given, info=info, command=program) as node:
                pair = Pair.connect(info)
                recording = _Recording(pair)
                known |= recording.unsettled() if flags else recording.settled()
                known["digests"] = digests(pair)
                pair.close()
                assert node.stop() == 0
        with tarfile.open(FOLDER / f"{name}.tar.xz", "w:xz") as archive:
            archive.add(data, "data", filter=_kept)
    text = json.dumps(known, indent=1, sort_keys=True)
    (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def _kept(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return None if Path(entry.name).name.startswith(_LEFT_OUT) else entry


if __name__ == "__main__":
    record(sys.argv[1], tuple(sys.argv[2:]))

"""An L2 with scripted accounts and paymasters, and transactions of type 0x71 that a block includes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec

from entresol._native import sign as sign_digest
from entresol.contracts import artifact
from entresol.execution.block_executor import BlockExecutor
from entresol.execution.tracing import TraceBudget, TraceLimits, trace_transaction
from entresol.primitives.l2_to_l1_logs import BOOTLOADER
from entresol.primitives.records import TransactionResult
from entresol.primitives.transactions import Paymaster, Transaction, ZkTransaction, sign
from entresol.primitives.transactions import decode as decode_transaction
from entresol.primitives.values import Address
from entresol.rollup.system_contracts import CONTRACT_DEPLOYER, NONCE_HOLDER
from tests.support.contracts.layer_two import (
    ALICE,
    BOB,
    CHAIN_ID,
    ETHER,
    FEE,
    SECRETS,
    LayerTwo,
    Log,
    artifact_for_tests,
    calldata,
    decode,
    encode,
    topic,
)
from tests.support.rpc_client import RpcClient

T = (
    "(uint256,uint256,uint256,uint256,uint256,uint256,uint256,uint256,uint256,uint256,uint256[4],"
    "bytes,bytes,bytes32[],bytes,bytes)"
)
VALIDATE = "validateTransaction"
PAY = "payForTransaction"
PREPARE = "prepareForPaymaster"
EXECUTE = "executeTransaction"
ASK_PAYMASTER = "validateAndPayForPaymasterTransaction"
POST = "postTransaction"
SELECTORS = {
    VALIDATE: bytes.fromhex("202bcce7"),
    PAY: bytes.fromhex("e2f318e3"),
    PREPARE: bytes.fromhex("a28c1aee"),
    EXECUTE: bytes.fromhex("df9c1589"),
    ASK_PAYMASTER: bytes.fromhex("038a24bc"),
    POST: bytes.fromhex("817b17f0"),
}
RETURN, REVERT, INVALID, EAT_GAS = range(4)
CALLED = topic("Called(bytes4,address,address,uint256,uint256,bytes)")
APPROVAL = topic("Approval(address,address,uint256)")
GAS = 500_000
NOBODY = Address(b"\x99" * 20)

TOKEN = artifact("TestERC20")
GENERAL = calldata("general(bytes)", b"")

Call = tuple[Address, int, bytes]


def word(value: bytes) -> bytes:
    return value.ljust(32, b"\0")


AGREES = word(SELECTORS[VALIDATE])
PAYS = encode("(bytes4,bytes)", SELECTORS[ASK_PAYMASTER], b"")


def approval_based(token: Address, amount: int) -> bytes:
    return calldata("approvalBased(address,uint256,bytes)", token, amount, b"")


def use_nonce(nonce: int) -> Call:
    return NONCE_HOLDER, 0, calldata("incrementMinNonceIfEquals(uint256)", nonce)


def pay(wei: int) -> Call:
    return BOOTLOADER, wei, b""


class ScriptedWorld(LayerTwo):
    """An L2 with contracts that do what a test tells them to."""

    def contract(self, *, ether: int = 0) -> Address:
        address = self.deploy(artifact_for_tests("ScriptedContract"))
        if ether:
            assert self.send(address, b"", value=ether).succeeded
        return address

    def script(
        self,
        contract: Address,
        function: str | bytes,
        *calls: Call,
        ending: int = RETURN,
        output: bytes = b"",
        is_logged: bool = True,
        may_fail: bool = False,
    ) -> None:
        selector = SELECTORS[function] if isinstance(function, str) else function
        data = calldata(
            "script(bytes4,(address,uint256,bytes,bool)[],uint8,bytes,bool)",
            selector,
            [(*call, may_fail) for call in calls],
            ending,
            output,
            is_logged,
        )
        assert self.send(contract, data).succeeded

    def do(self, contract: Address, *calls: Call) -> TransactionResult:
        self.script(contract, b"do!!", *calls)
        return self.send(contract, b"do!!")

    def account(
        self, *, ether: int = ETHER, fee: int = GAS * FEE, nonce: int = 0, is_logged: bool = True
    ) -> Address:
        """Deploy a contract account that agrees to a transaction with this nonce, and pays for it.

        What it logs contains the origin, which a pool does not allow while it validates.
        """
        account = self.contract(ether=ether)
        self.set_version(account, 1)
        self.script(account, VALIDATE, use_nonce(nonce), output=AGREES, is_logged=is_logged)
        self.script(account, PAY, pay(fee), is_logged=is_logged)
        self.script(account, PREPARE, is_logged=is_logged)
        self.script(account, EXECUTE, is_logged=is_logged)
        return account

    def put(self, code: str, *, at: int = 0x77) -> Address:
        address = Address(bytes([at]) * 20)
        self.chain.edit(address, lambda it: it.set_code(address, bytes.fromhex(code)))
        self.chain.builder.seal()
        return address

    def set_version(self, account: Address, version: int) -> TransactionResult:
        call = (CONTRACT_DEPLOYER, 0, calldata("updateAccountVersion(uint8)", version))
        return self.do(account, call)

    def paymaster(
        self, *, ether: int = ETHER, fee: int = GAS * FEE, output: bytes = PAYS
    ) -> Address:
        paymaster = self.contract(ether=ether)
        self.script(paymaster, ASK_PAYMASTER, pay(fee), output=output)
        self.script(paymaster, POST)
        return paymaster

    def multisig(self, *owners: Address, threshold: int = 2) -> Address:
        artifact = artifact_for_tests("MultisigAccount")
        account = self.deploy(
            artifact, "(address[],uint256)", list(owners) or [ALICE, BOB], threshold
        )
        assert self.send(account, b"", value=ETHER).succeeded
        return account

    def token(self, owner: Address = ALICE, amount: int = 1_000) -> Address:
        token = self.deploy(TOKEN, "(string,string,uint8)", "Crown", "CRWN", 18)
        assert self.send(token, calldata("mint(address,uint256)", owner, amount)).succeeded
        return token

    def include(self, transaction: Transaction) -> TransactionResult:
        """Seal a block with a transaction, whatever the pool says; a replay gives the same block."""
        executor = self.open()
        executor.run(transaction)
        executed = executor.finish(self.chain.ledger.trie)
        self.chain.import_block(executed.record, execute=True)
        return self.last()

    def open(self) -> BlockExecutor:
        return self.chain.filler.open(self.chain.head.timestamp + 1)

    def nonce(self, address: Address) -> int:
        account = self.chain.latest.account(address)
        return 0 if account is None else account.nonce

    def min_nonce(self, account: Address) -> int:
        nonce: int = self.read(NONCE_HOLDER, "getMinNonce(address)(uint256)", account)
        return nonce

    def from_contract(
        self, sender: Address, signature: bytes = b"signature", **fields: object
    ) -> Transaction:
        payload = fill(sender, custom_signature=signature, **fields)
        return decode_transaction(payload.encode())

    def from_key(self, by: int = 0, **fields: object) -> Transaction:
        sender = (ALICE, BOB)[by]
        fields.setdefault("nonce", self.nonce(sender))
        return sign(fill(sender, **fields), SECRETS[by])

    def is_signed(self, account: Address, digest: bytes, signature: bytes) -> bool:
        function = "isValidSignature(bytes32,bytes)(bytes4)"
        magic: bytes = self.read(account, function, digest, signature)
        return magic == bytes.fromhex("1626ba7e")

    def supply(self) -> int:
        state = self.chain.latest
        known = map(state.account, self.chain.ledger.store.state_keys.addresses())
        return sum(account.balance for account in known if account is not None)

    def trace(self, options: bytes = b'{"tracer":"callTracer"}') -> dict[str, Any]:
        block = self.chain.ledger.sealed_block(self.chain.number)
        ran = trace_transaction(block, 0, options, TraceBudget(TraceLimits()))
        trace: dict[str, Any] = json.loads(ran.trace or b"{}")
        return trace


def fill(sender: Address, **fields: object) -> ZkTransaction:
    paymaster = fields.pop("paymaster", None)
    message = fields.pop("paymaster_input", GENERAL)
    payload = ZkTransaction(
        nonce=0,
        max_priority_fee_per_gas=0,
        max_fee_per_gas=FEE,
        gas_limit=GAS,
        to=NOBODY,
        chain_id=CHAIN_ID,
        sender=sender,
        gas_per_pubdata_limit=50_000,
        paymaster=None if paymaster is None else Paymaster(paymaster, message),  # type: ignore[arg-type]
    )
    return msgspec.structs.replace(payload, **fields)


def paymaster_code(fee: int = GAS * FEE) -> str:
    """Return the code of a paymaster that pays, and returns the magic and an empty context."""
    return f"63{SELECTORS[ASK_PAYMASTER].hex()}60e01b5f5260406020525f5f5f5f6a{fee:022x}73{BOOTLOADER.hex()}5af15060605ff3"


def sign_by(payload: ZkTransaction, *secrets: bytes) -> ZkTransaction:
    parts = [sign_digest(payload.signing_hash(), secret) for secret in secrets]
    signature = b"".join(part[:64] + bytes([27 + part[64]]) for part in parts)
    return msgspec.structs.replace(payload, custom_signature=signature)


def sign_message(l2: LayerTwo, account: Address, digest: bytes, *secrets: bytes) -> bytes:
    """Return the signatures of all keys for the hash of a message to an example account (ERC-1271)."""
    bound: bytes = l2.read(account, "replaySafeHash(bytes32)(bytes32)", digest)
    parts = [sign_digest(bound, secret) for secret in secrets]
    return b"".join(part[:64] + bytes([27 + part[64]]) for part in parts)


class Called(msgspec.Struct, frozen=True):
    """A call of a scripted contract, as it has logged it."""

    contract: bytes
    function: str
    caller: bytes
    origin: bytes
    gas_price: int
    balance: int
    data: bytes


def calls_of(result: TransactionResult) -> list[Called]:
    return [_called(log) for log in result.logs if log[1][:1] == (CALLED,)]


def _called(log: Log) -> Called:
    contract, topics, data = log
    names: dict[bytes, str] = {selector: name for name, selector in SELECTORS.items()}
    gas_price, balance, calldata_ = decode("(uint256,uint256,bytes)", data)
    selector = topics[1][:4]
    return Called(
        contract,
        names.get(selector, selector.hex()),
        topics[2][12:],
        topics[3][12:],
        gas_price,
        balance,
        calldata_,
    )


def functions(result: TransactionResult) -> Sequence[str]:
    return [called.function for called in calls_of(result)]


_SCRIPT: Final = "script(bytes4,(address,uint256,bytes,bool)[],uint8,bytes,bool)"
_RESOLVE: Final = b"say!"


class Script(NamedTuple):
    """The acts of an account in a function: calls, how it ends, and whether it logs, which reads the origin."""

    calls: tuple[Call, ...] = ()
    ending: int = RETURN
    output: bytes = b""
    is_logged: bool = False


def deploy_account(client: RpcClient, scripts: dict[str, Script]) -> Address:
    code = artifact_for_tests("ScriptedContract").bytecode
    account = Address.parse(_send(client, data=code)["contractAddress"])
    version = (CONTRACT_DEPLOYER, 0, calldata("updateAccountVersion(uint8)", 1))
    set_scripts(client, account, scripts)
    _set_script(client, account, _RESOLVE, Script((version,)))
    _send(client, to=str(account), data=_RESOLVE)
    _send(client, to=str(account), value=hex(ETHER))
    return account


def set_scripts(client: RpcClient, account: Address, scripts: dict[str, Script]) -> None:
    for name, script in scripts.items():
        _set_script(client, account, SELECTORS[name], script)


def _set_script(client: RpcClient, account: Address, selector: bytes, script: Script) -> None:
    calls = [(*call, False) for call in script.calls]
    data = calldata(_SCRIPT, selector, calls, script.ending, script.output, script.is_logged)
    _send(client, to=str(account), data=data)


def _send(client: RpcClient, *, data: bytes = b"", **fields: str) -> dict[str, Any]:
    sender = client("eth_accounts")[0]
    call = {"from": sender, "data": "0x" + data.hex(), **fields}
    receipt: dict[str, Any] = client.receipt(client("eth_sendTransaction", call))
    assert receipt["status"] == "0x1"
    return receipt

"""Deploy a scripted account through a node."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from entresol.primitives.values import Address
from entresol.rollup.system_contracts import CONTRACT_DEPLOYER
from tests.support.contracts.accounts import RETURN, SELECTORS, Call
from tests.support.contracts.layer_two import ETHER, artifact_for_tests, calldata
from tests.support.rpc_client import RpcClient

_SCRIPT: Final = "script(bytes4,(address,uint256,bytes,bool)[],uint8,bytes,bool)"
_RESOLVE: Final = b"say!"


class Script(NamedTuple):
    """The acts of an account in a function: calls, how it ends, and whether it logs, which reads the origin."""

    calls: tuple[Call, ...] = ()
    ending: int = RETURN
    output: bytes = b""
    is_logged: bool = False


def deploy_account(client: RpcClient, scripts: dict[str, Script]) -> Address:
    """Deploy an account with an ether that does what the scripts say."""
    code = artifact_for_tests("ScriptedContract").bytecode
    account = Address.parse(_send(client, data=code)["contractAddress"])
    version = (CONTRACT_DEPLOYER, 0, calldata("updateAccountVersion(uint8)", 1))
    set_scripts(client, account, scripts)
    _set_script(client, account, _RESOLVE, Script((version,)))
    _send(client, to=str(account), data=_RESOLVE)
    _send(client, to=str(account), value=hex(ETHER))
    return account


def set_scripts(client: RpcClient, account: Address, scripts: dict[str, Script]) -> None:
    """Let an account do what the scripts say."""
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

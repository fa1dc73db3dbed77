"""Deploy a scripted account through a node."""

from __future__ import annotations

from typing import Final, NamedTuple

from entresol.primitives.values import Address
from entresol.rollup.system_contracts import CONTRACT_DEPLOYER
from tests.support.contracts.accounts import RETURN, SELECTORS, Call
from tests.support.contracts.layer_two import ETHER, artifact_for_tests, calldata
from tests.support.rpc_client import RpcClient

_SCRIPT: Final = "script(bytes4,(address,uint256,bytes,bool)[],uint8,bytes,bool)"
_RESOLVE: Final = b"say!"


class Script(NamedTuple):
    """What an account does in a function: calls, how it ends, and whether it logs, which reads the origin."""

    calls: tuple[Call, ...] = ()
    ending: int = RETURN
    output: bytes = b""
    is_logged: bool = False


def deploy_account(client: RpcClient, scripts: dict[str, Script]) -> Address:
    """Deploy an account with an ether that does what the scripts say."""
    sender = client("eth_accounts")[0]

    def send(**fields: str) -> str:
        receipt = client.receipt(client("eth_sendTransaction", {"from": sender, **fields}))
        assert receipt["status"] == "0x1"
        return str(receipt["contractAddress"])

    account = send(data="0x" + artifact_for_tests("ScriptedContract").bytecode.hex())
    version = (CONTRACT_DEPLOYER, 0, calldata("updateAccountVersion(uint8)", 1))
    functions = {SELECTORS[name]: script for name, script in scripts.items()}
    for selector, script in {**functions, _RESOLVE: Script((version,))}.items():
        calls = [(*call, False) for call in script.calls]
        data = calldata(_SCRIPT, selector, calls, script.ending, script.output, script.is_logged)
        send(to=account, data="0x" + data.hex())
    send(to=account, data="0x" + _RESOLVE.hex())
    send(to=account, value=hex(ETHER))
    return Address.parse(account)

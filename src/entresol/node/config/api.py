"""Settings of the RPC methods, and the limits of requests and results."""

from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct

from entresol.server.config import MIB

PRESETS: Final[dict[str, dict[str, Any]]] = {
    "anvil": {"chain.chain_id": 31337, "l1.l1_chain_id": 1337},
    "hardhat": {"chain.chain_id": 31337, "l1.l1_chain_id": 1337, "api.hardhat_errors": True},
    "zksync-os": {
        "chain.chain_id": 6565,
        # As on the official server, whose clients know the last block for some seconds, a transaction takes a moment.
        # The time of a block is later than that before it, so that a chain with shorter ones would run ahead.
        "chain.block_time": 1.0,
        "server.port": 3050,
        "ecosystem.chains": ["2"],
        "l1.l1_chain_id": 31337,
        "l1.l1_port": 8545,
        "l1.l1_extra_port": 3052,
    },
}
"""Defaults of each `--preset`, by key; the client version follows from it, too."""


class ApiConfig(Struct, frozen=True, kw_only=True):
    """The RPC methods that are served, and to which clients."""

    dev_methods: Annotated[
        bool | None,
        Meta(
            description="Serve the development namespaces evm_, anvil_ and hardhat_; by default unless "
            "there is an --l1-url, or the node listens on an address that other machines can reach."
        ),
    ] = None
    expose_unlocked_accounts: Annotated[
        bool,
        Meta(
            description="Sign for the development accounts, and allow impersonation, even if there is "
            "an --l1-url, or the node listens on an address that other machines can reach."
        ),
    ] = False
    preset: Annotated[
        Literal["anvil", "hardhat", "zksync-os"] | None,
        Meta(
            description="Other defaults, weaker than whatever else is set. anvil, hardhat: be recognised as a "
            "development node by tools that know them, by --client-version, --chain-id (31337) and --l1-chain-id (1337), "
            "with hardhat also by --hardhat-errors. zksync-os: the local ecosystem that the ZK Stack's guides and SDK "
            "expect, chain 6565 at port 3050, 6566 at 3051, and the L1, 31337, at 8545 and at 3052, with a block each "
            "second (--block-time).",
            extra={"short": "defaults as of anvil, hardhat or zksync-os"},
        ),
    ] = None
    client_version: Annotated[
        Annotated[str, Meta(min_length=1, max_length=128)] | None,
        Meta(
            title="TEXT",
            description="What web3_clientVersion returns, by which tools recognise a development node, instead of the "
            "node's own.",
        ),
    ] = None
    hardhat_errors: Annotated[
        bool,
        Meta(
            description="Respond to eth_sendTransaction and eth_sendRawTransaction with Hardhat's error if the "
            "transaction has failed in its block. Further, evm_setIntervalMining takes milliseconds and leaves automine "
            "as it is, evm_setNextBlockTimestamp rejects the timestamp of the last block, and a transaction that its "
            "sender cannot pay for has an estimate, as in Hardhat."
        ),
    ] = False
    hardhat_call_failures: Annotated[
        bool,
        Meta(
            description="Respond to eth_call with an error if the call fails; with false, with what it returned, as "
            "Hardhat does for projects that set throwOnCallFailures or bailOnCallFailure to false.",
            extra={"without_value": "true"},
        ),
    ] = True
    receipt_seconds: Annotated[
        float,
        Meta(
            gt=0, description="Longest time that eth_sendRawTransactionSync waits for the receipt."
        ),
    ] = 60.0
    auto_impersonate: Annotated[
        bool,
        Meta(
            description="Send transactions of every account from the start, as anvil_autoImpersonateAccount does.",
            extra={"aliases": ("--auto-unlock",), "short": "send from any address without a key"},
        ),
    ] = False


class LimitsConfig(Struct, frozen=True, kw_only=True):
    """Limits of requests and results."""

    batch_limit: Annotated[
        int, Meta(ge=1, description="Maximum number of calls in a JSON-RPC batch.")
    ] = 500
    answer_limit_bytes: Annotated[
        int,
        Meta(
            ge=1,
            description="Maximum size of a response, and of all responses of a batch together.",
        ),
    ] = 24 * MIB
    trace_limit_bytes: Annotated[
        int,
        Meta(
            ge=1,
            description="Maximum size of the traces of a request, with the memory it takes to make them. They do "
            "not count towards --answer-limit-bytes.",
        ),
    ] = 256 * MIB
    call_gas_cap: Annotated[
        int,
        Meta(
            ge=21_000,
            description="Maximum gas of a call, or of all calls of a simulation together.",
        ),
    ] = 50_000_000
    call_seconds: Annotated[
        float, Meta(gt=0, description="Time limit of a call, an estimate or a simulation.")
    ] = 5.0
    log_limit: Annotated[
        int,
        Meta(
            ge=1, description="Maximum number of logs in a response; a single block may have more."
        ),
    ] = 10_000
    log_block_limit: Annotated[
        int, Meta(ge=0, description="Maximum block range of a log query; 0 is no limit.")
    ] = 0
    filter_limit_bytes: Annotated[
        int,
        Meta(
            ge=1,
            description="Maximum memory of all filters and subscriptions together; more are rejected.",
        ),
    ] = 64 * MIB

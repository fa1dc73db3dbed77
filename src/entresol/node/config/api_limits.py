"""Settings of the API's limits."""

from typing import Annotated

from msgspec import Meta, Struct

from entresol.rpc.types.log_filter import MAX_ALTERNATIVES
from entresol.server.config import MIB


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
    log_filter_limit: Annotated[
        int,
        Meta(
            ge=1,
            le=MAX_ALTERNATIVES,
            description="Maximum number of addresses in a log filter, and of topics at one position.",
        ),
    ] = 1_000
    override_account_limit: Annotated[
        int, Meta(ge=0, description="Maximum number of accounts in a state override.")
    ] = 1_000
    override_slot_limit: Annotated[
        int, Meta(ge=0, description="Maximum number of storage slots in a state override.")
    ] = 20_000
    slot_limit: Annotated[
        int,
        Meta(
            ge=1,
            description="Maximum number of storage slots in eth_getProof, zks_getProof and "
            "eth_getStorageValues.",
        ),
    ] = 1_024
    call_limit: Annotated[
        int,
        Meta(
            ge=1,
            description="Maximum number of calls in eth_callMany, eth_simulateV1, debug_traceCallMany and "
            "trace_callMany.",
        ),
    ] = 10_000
    load_state_limit_bytes: Annotated[
        int,
        Meta(
            ge=1,
            description="Maximum memory that a state file may take which anvil_loadState sends: its bytes, unpacked, and "
            "128 for each of its values. --load-state takes larger ones.",
        ),
    ] = 128 * MIB
    long_call_limit: Annotated[
        int,
        Meta(
            ge=1,
            description="Maximum number of calls of a connection that wait for a thread, since they take too long for "
            "the event loop; more are rejected. All connections together may have 20 times as many.",
        ),
    ] = 500
    filter_limit: Annotated[
        int,
        Meta(
            ge=1, description="Maximum number of filters; the least recently used one is evicted."
        ),
    ] = 10_000
    filter_limit_bytes: Annotated[
        int,
        Meta(
            ge=1,
            description="Maximum memory of all filters and subscriptions together; more are rejected.",
        ),
    ] = 64 * MIB
    subscription_limit: Annotated[
        int, Meta(ge=0, description="Maximum number of subscriptions of a connection.")
    ] = 1_024

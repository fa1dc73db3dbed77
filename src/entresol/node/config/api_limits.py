"""Settings of the API's limits."""

from typing import Annotated

from msgspec import Meta, Struct

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
    load_state_limit_bytes: Annotated[
        int,
        Meta(
            ge=1,
            description="Maximum memory that a state file may take which anvil_loadState sends: its bytes, unpacked, and "
            "128 for each of its values. --load-state takes larger ones.",
        ),
    ] = 128 * MIB
    filter_limit_bytes: Annotated[
        int,
        Meta(
            ge=1,
            description="Maximum memory of all filters and subscriptions together; more are rejected.",
        ),
    ] = 64 * MIB

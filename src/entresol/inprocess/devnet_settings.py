"""The settings of a devnet by name, for type checkers; `make docs` writes this module."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, TypedDict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

SettingValue: TypeAlias = (
    "str | float | bool | Path | Sequence[str | int] | Sequence[Mapping[str, SettingValue]] | None"
)
"""The value of a setting, as the configuration has it; text is converted as from a flag. `chains` may have the settings
of each chain, as tables `[[chains]]` of a file do."""


class DevnetSettings(TypedDict, total=False):
    """The settings of the configuration (docs/config.md)."""

    data_dir: SettingValue
    chain_id: SettingValue
    hardfork: SettingValue
    genesis: SettingValue
    init: SettingValue
    timestamp: SettingValue
    number: SettingValue
    accounts: SettingValue
    balance: SettingValue
    base_token: SettingValue
    base_token_ratio: SettingValue
    base_token_decimals: SettingValue
    mnemonic: SettingValue
    mnemonic_file: SettingValue
    derivation_path: SettingValue
    gas_limit: SettingValue
    gas_price: SettingValue
    block_time: SettingValue
    mining: SettingValue
    mixed_mining: SettingValue
    max_transactions: SettingValue
    fee_recipient: SettingValue
    order: SettingValue
    pool_limit_bytes: SettingValue
    disable_validation_rules: SettingValue
    chains: SettingValue
    l1_hardfork: SettingValue
    code_size_limit: SettingValue
    disable_code_size_limit: SettingValue
    enable_tx_gas_limit: SettingValue
    disable_default_create2_deployer: SettingValue
    l1: SettingValue
    l1_url: SettingValue
    l1_port: SettingValue
    l1_extra_port: SettingValue
    l1_ipc: SettingValue
    l1_chain_id: SettingValue
    l1_init: SettingValue
    l1_delay: SettingValue
    l1_confirmations: SettingValue
    l1_finality: SettingValue
    bridgehub: SettingValue
    bridgehub_owner_key: SettingValue
    bridgehub_owner_key_file: SettingValue
    deploy_l1: SettingValue
    operator_key: SettingValue
    operator_key_file: SettingValue
    prove_key: SettingValue
    prove_key_file: SettingValue
    execute_key: SettingValue
    execute_key_file: SettingValue
    operator_low_balance: SettingValue
    l1_max_fee_gwei: SettingValue
    l1_fee_multiplier: SettingValue
    l1_number: SettingValue
    l1_gas_limit: SettingValue
    l1_base_fee: SettingValue
    l1_block_time: SettingValue
    l1_slots_in_an_epoch: SettingValue
    l1_tip: SettingValue
    settle: SettingValue
    settle_interval: SettingValue
    batch_blocks: SettingValue
    data_availability: SettingValue
    production: SettingValue
    change_rules: SettingValue
    l1_development: SettingValue
    host: SettingValue
    port: SettingValue
    ipc: SettingValue
    allowed_hosts: SettingValue
    cors_origins: SettingValue
    body_limit_bytes: SettingValue
    request_limit_bytes: SettingValue
    connection_limit: SettingValue
    requests_per_second: SettingValue
    header_seconds: SettingValue
    body_seconds: SettingValue
    idle_seconds: SettingValue
    stop_seconds: SettingValue
    unsent_limit_bytes: SettingValue
    dev_methods: SettingValue
    expose_unlocked_accounts: SettingValue
    preset: SettingValue
    client_version: SettingValue
    hardhat_errors: SettingValue
    hardhat_call_failures: SettingValue
    receipt_seconds: SettingValue
    auto_impersonate: SettingValue
    batch_limit: SettingValue
    answer_limit_bytes: SettingValue
    trace_limit_bytes: SettingValue
    call_gas_cap: SettingValue
    call_seconds: SettingValue
    log_limit: SettingValue
    log_block_limit: SettingValue
    filter_limit_bytes: SettingValue
    silent: SettingValue
    log_level: SettingValue
    json_logs: SettingValue
    disable_console_log: SettingValue
    verbosity: SettingValue
    print_traces: SettingValue
    abi: SettingValue
    config_out: SettingValue
    fork_url: SettingValue
    fork_block_number: SettingValue
    fork_block_hash: SettingValue
    fork_transaction_hash: SettingValue
    fork_chain_id: SettingValue
    fork_header: SettingValue
    fork_retries: SettingValue
    fork_timeout: SettingValue
    fork_retry_backoff: SettingValue
    compute_units_per_second: SettingValue
    no_rate_limit: SettingValue
    no_storage_caching: SettingValue
    fork_cache: SettingValue
    fork_cache_size: SettingValue
    offline: SettingValue
    fork_verify: SettingValue
    fork_state_by_number: SettingValue
    l1_fork_url: SettingValue
    l1_fork_block_number: SettingValue
    l1_fork_block_hash: SettingValue
    l1_fork_transaction_hash: SettingValue
    l1_fork_chain_id: SettingValue
    l1_fork_header: SettingValue
    l1_fork_retries: SettingValue
    l1_fork_timeout: SettingValue
    l1_fork_retry_backoff: SettingValue
    l1_compute_units_per_second: SettingValue
    l1_no_rate_limit: SettingValue
    l1_no_storage_caching: SettingValue
    l1_fork_cache: SettingValue
    l1_fork_cache_size: SettingValue
    l1_offline: SettingValue
    l1_fork_verify: SettingValue
    l1_fork_state_by_number: SettingValue
    state: SettingValue
    load_state: SettingValue
    dump_state: SettingValue
    state_interval: SettingValue
    preserve_historical_states: SettingValue
    l1_state: SettingValue
    l1_load_state: SettingValue
    l1_dump_state: SettingValue
    load_state_limit_bytes: SettingValue
    sources: SettingValue
    explorer: SettingValue
    relay: SettingValue
    finalize_withdrawals: SettingValue
    relay_max_gas: SettingValue
    workers: SettingValue
    worker_silence_seconds: SettingValue
    cluster: SettingValue
    advertise_url: SettingValue
    lease_seconds: SettingValue
    takeover: SettingValue
    max_lag: SettingValue
    forward_seconds: SettingValue

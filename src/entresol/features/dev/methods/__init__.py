"""The namespaces of development nodes: `evm_`, `hardhat_`, `anvil_`."""

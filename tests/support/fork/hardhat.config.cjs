// Hardhat's configuration for a chain that tests fork.

module.exports = { networks: { hardhat: { chainId: 31999 } } };

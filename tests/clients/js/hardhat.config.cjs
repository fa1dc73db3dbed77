// Hardhat's configuration for the checks of its plugins: the node of the test is its network.

require("@nomicfoundation/hardhat-ethers");
require("@nomicfoundation/hardhat-chai-matchers");

module.exports = {
  solidity: "0.8.30",
  defaultNetwork: "node",
  networks: { node: { url: process.env.NODE_URL } },
};

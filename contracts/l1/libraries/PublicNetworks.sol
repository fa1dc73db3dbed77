// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice The chain ids of public networks on which a chain could settle: what people deposit there is worth
/// something, or, on test networks, others may rely on it.
library PublicNetworks {
    /// @notice Whether a chain id is that of a public network.
    function contains(uint256 chainId) internal pure returns (bool) {
        return
            _isEthereum(chainId) ||
            _isSideChain(chainId) ||
            _isOptimisticRollup(chainId) ||
            _isZkRollup(chainId);
    }

    /// @dev Mainnet, Sepolia, Holesky, Hoodi.
    function _isEthereum(uint256 id) private pure returns (bool) {
        return id == 1 || id == 11155111 || id == 17000 || id == 560048;
    }

    /// @dev Gnosis, BNB, Polygon, Avalanche, Fantom, Sonic, Celo, Cronos, Berachain, HyperEVM, and test networks.
    function _isSideChain(uint256 id) private pure returns (bool) {
        return
            (id == 100 || id == 10200) ||
            (id == 56 || id == 97 || id == 204) ||
            (id == 137 || id == 80002) ||
            (id == 43114 || id == 43113) ||
            (id == 250 || id == 146) ||
            (id == 42220 || id == 44787) ||
            (id == 25 || id == 80094 || id == 999);
    }

    /// @dev Arbitrum (One, Nova), Optimism, Base, Mantle, Blast, Mode, Unichain, Ink, World, and test networks.
    function _isOptimisticRollup(uint256 id) private pure returns (bool) {
        return
            (id == 42161 || id == 42170 || id == 421614) ||
            (id == 10 || id == 11155420) ||
            (id == 8453 || id == 84532) ||
            (id == 5000 || id == 81457 || id == 34443) ||
            (id == 130 || id == 57073 || id == 480);
    }

    /// @dev ZKsync Era, ZKsync Gateway, Abstract, Lens, Sophon, Linea, Scroll, Polygon zkEVM, Taiko, and test networks.
    function _isZkRollup(uint256 id) private pure returns (bool) {
        return
            (id == 324 || id == 300) ||
            (id == 9075 || id == 32657) ||
            (id == 2741 || id == 11124) ||
            (id == 232 || id == 50104) ||
            (id == 59144 || id == 59141) ||
            (id == 534352 || id == 534351) ||
            (id == 1101 || id == 167000);
    }
}

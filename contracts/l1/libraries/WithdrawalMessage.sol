// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {L2_ASSET_ROUTER, L2_BASE_TOKEN} from "../../shared/Addresses.sol";
import {DataEncoding} from "../../shared/DataEncoding.sol";
import {IAssetRouterBase} from "../../shared/IAssetRouterBase.sol";
import {FINALIZE_ERC20_WITHDRAWAL, FINALIZE_ETH_WITHDRAWAL} from "../../shared/LegacySelectors.sol";

/// @notice The messages of withdrawals from an L2, in three encodings.
library WithdrawalMessage {
    error L2WithdrawalMessageWrongLength(uint256 length);
    error InvalidSelector(bytes4 selector);
    error WrongMessageChainId(uint256 expected, uint256 actual);

    /// @notice Decode a message.
    /// @return sender The only account that may send such a message on L2.
    /// @return assetId The asset that is withdrawn.
    /// @return mintData Receiver and amount, as the vault takes them.
    function read(
        bytes calldata message,
        uint256 chainId,
        uint256 l1ChainId,
        bytes32 baseTokenAssetId
    ) internal pure returns (address sender, bytes32 assetId, bytes memory mintData) {
        if (message.length < 4) revert L2WithdrawalMessageWrongLength(message.length);
        bytes4 selector = bytes4(message);
        if (selector == FINALIZE_ETH_WITHDRAWAL) {
            return (L2_BASE_TOKEN, baseTokenAssetId, _readBaseToken(message));
        }
        if (selector == IAssetRouterBase.finalizeDeposit.selector) {
            if (message.length < 68) revert L2WithdrawalMessageWrongLength(message.length);
            uint256 actual = uint256(bytes32(message[4:36]));
            if (actual != chainId) revert WrongMessageChainId(chainId, actual);
            return (L2_ASSET_ROUTER, bytes32(message[36:68]), message[68:]);
        }
        if (selector == FINALIZE_ERC20_WITHDRAWAL) {
            (assetId, mintData) = _readToken(message, l1ChainId);
            return (L2_ASSET_ROUTER, assetId, mintData);
        }
        revert InvalidSelector(selector);
    }

    /// @dev Selector, receiver, amount; then, if the withdrawal has a message, at least its sender.
    function _readBaseToken(bytes calldata message) private pure returns (bytes memory) {
        uint256 length = message.length;
        if (length != 56 && length < 76) revert L2WithdrawalMessageWrongLength(length);
        address receiver = address(bytes20(message[4:24]));
        uint256 amount = uint256(bytes32(message[24:56]));
        return DataEncoding.encodeMint(address(0), receiver, address(0), amount, "");
    }

    /// @dev Selector, receiver, L1 token, amount.
    function _readToken(
        bytes calldata message,
        uint256 l1ChainId
    ) private pure returns (bytes32 assetId, bytes memory mintData) {
        if (message.length != 76) revert L2WithdrawalMessageWrongLength(message.length);
        address receiver = address(bytes20(message[4:24]));
        address token = address(bytes20(message[24:44]));
        uint256 amount = uint256(bytes32(message[44:76]));
        assetId = DataEncoding.assetId(l1ChainId, token);
        mintData = DataEncoding.encodeMint(address(0), receiver, token, amount, "");
    }
}

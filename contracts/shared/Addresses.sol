// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @dev Sender of the logs with the status of a priority transaction.
address constant BOOTLOADER = address(0x8001);
address constant L2_NONCE_HOLDER = address(0x8003);
address constant L2_DEPLOYER = address(0x8006);
/// @dev Sender of the logs with the hash of a message.
address constant L2_MESSENGER = address(0x8008);
address constant L2_BASE_TOKEN = address(0x800a);
address constant L2_SYSTEM_CONTEXT = address(0x800b);
address constant L2_CREATE2_FACTORY = address(0x10000);
address constant L2_BRIDGEHUB = address(0x10002);
address constant L2_ASSET_ROUTER = address(0x10003);
address constant L2_NATIVE_TOKEN_VAULT = address(0x10004);
address constant L2_MESSAGE_ROOT = address(0x10005);
address constant L2_INTEROP_ROOT_STORAGE = address(0x10008);
address constant L2_MESSAGE_VERIFICATION = address(0x10009);
address constant L2_INTEROP_CENTER = address(0x1000d);
address constant L2_INTEROP_HANDLER = address(0x1000e);
address constant L2_BASE_TOKEN_HOLDER = address(0x10011);

/// @dev Represents ether where a token address is expected.
address constant ETH_TOKEN = address(1);

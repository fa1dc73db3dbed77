// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice An L2 transaction in the encoding that both layers hash.
/// @dev hash = keccak256(abi.encode(transaction)). In a priority transaction `nonce` is its priority id,
/// `reserved[0]` the minted amount and `reserved[1]` the refund recipient.
struct L2CanonicalTransaction {
    uint256 txType;
    uint256 from;
    uint256 to;
    uint256 gasLimit;
    uint256 gasPerPubdataByteLimit;
    uint256 maxFeePerGas;
    uint256 maxPriorityFeePerGas;
    uint256 paymaster;
    uint256 nonce;
    uint256 value;
    uint256[4] reserved;
    bytes data;
    bytes signature;
    uint256[] factoryDeps;
    bytes paymasterInput;
    bytes reservedDynamic;
}

/// @notice An L2-to-L1 log: 88 bytes when packed in this order, with `sender` before `key`.
struct L2Log {
    uint8 l2ShardId;
    bool isService;
    uint16 txNumberInBatch;
    address sender;
    bytes32 key;
    bytes32 value;
}

/// @notice A message that `sender` sent to L1 through the messenger.
struct L2Message {
    uint16 txNumberInBatch;
    address sender;
    bytes data;
}

/// @notice The status of a priority transaction.
enum TxStatus {
    Failure,
    Success
}

/// @notice A withdrawal message and its proof, as the nullifier takes them.
struct FinalizeL1DepositParams {
    uint256 chainId;
    uint256 l2BatchNumber;
    uint256 l2MessageIndex;
    address l2Sender;
    uint16 l2TxNumberInBatch;
    bytes message;
    bytes32[] merkleProof;
}

// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {L2CanonicalTransaction} from "../../shared/Messaging.sol";

/// @notice Checks that a priority transaction's gas covers the minimum work on L2.
/// @dev An L2 cannot reject a priority transaction, so L1 must.
library TransactionValidator {
    uint256 internal constant SLOT_OVERHEAD = 10_000;
    uint256 internal constant OVERHEAD_PER_BYTE = 10;
    uint256 internal constant INTRINSIC_GAS = 167_157;
    uint256 internal constant MINIMAL_GAS = 173_484;
    uint256 internal constant GAS_PER_544_BYTES = 1_656;
    uint256 internal constant GAS_PER_FACTORY_DEP = 2_473;
    uint256 internal constant INTRINSIC_PUBDATA = 88;
    uint256 internal constant PUBDATA_PER_FACTORY_DEP = 64;
    uint256 internal constant TRANSACTION_GAS = 21_000;
    uint256 internal constant FLOOR_GAS_PER_TOKEN = 10;

    error TooMuchGas();
    error PubdataGreaterThanLimit(uint256 limit, uint256 length);
    error ValidateTxnNotEnoughGas();
    error TxnBodyGasLimitNotEnoughGas();

    /// @notice Revert on a transaction with too little or too much gas.
    /// @param factoryDeps The bytecode that the transaction publishes, which has only its hashes.
    /// @param encodedLength The length of `abi.encode(transaction)`.
    function validate(
        L2CanonicalTransaction memory transaction,
        bytes[] memory factoryDeps,
        uint256 encodedLength,
        uint256 maxGasLimit,
        uint256 maxPubdata
    ) internal pure {
        uint256 overhead = overheadOf(encodedLength);
        if (transaction.gasLimit < overhead) revert TxnBodyGasLimitNotEnoughGas();
        uint256 body = transaction.gasLimit - overhead;
        if (body > maxGasLimit) revert TooMuchGas();
        uint256 pubdata = body / transaction.gasPerPubdataByteLimit;
        if (pubdata > maxPubdata) revert PubdataGreaterThanLimit(maxPubdata, pubdata);
        uint256 needed = minimalGas(
            encodedLength,
            factoryDeps.length,
            transaction.gasPerPubdataByteLimit
        );
        if (body < needed || transaction.gasLimit < calldataFloor(transaction.data, factoryDeps)) {
            revert ValidateTxnNotEnoughGas();
        }
    }

    /// @notice The gas limit below which no L2 starts a transaction with this calldata (EIP-7623): 10 for each
    /// token, of which a zero byte is one and any other byte four. It is never less than the intrinsic gas. What
    /// the transaction publishes costs like calldata.
    function calldataFloor(
        bytes memory data,
        bytes[] memory factoryDeps
    ) internal pure returns (uint256) {
        uint256 tokens = tokensIn(data);
        for (uint256 i = 0; i < factoryDeps.length; ++i) tokens += tokensIn(factoryDeps[i]);
        return TRANSACTION_GAS + FLOOR_GAS_PER_TOKEN * tokens;
    }

    /// @notice The number of tokens in `data`.
    function tokensIn(bytes memory data) internal pure returns (uint256) {
        return 4 * data.length - 3 * zeroBytes(data);
    }

    /// @notice The number of zero bytes in `data`, counted 32 bytes at once.
    function zeroBytes(bytes memory data) internal pure returns (uint256 count) {
        assembly ("memory-safe") {
            let low := 0x7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f
            let ones := 0x0101010101010101010101010101010101010101010101010101010101010101
            let length := mload(data)
            let position := add(data, 32)
            let end := add(position, length)
            for {} lt(position, end) {
                position := add(position, 32)
            } {
                let word := mload(position)
                // Bytes behind the end of the data count as others.
                let left := sub(end, position)
                if lt(left, 32) {
                    word := or(word, shr(mul(8, left), not(0)))
                }
                // The high bit of each byte is set exactly if the byte is not zero; adding 0x7f to the low seven
                // bits never carries into the next byte.
                let nonzero := or(or(word, add(and(word, low), low)), low)
                // One for each zero byte; their sum is the highest byte of the product with `ones`.
                let zeros := shr(7, not(nonzero))
                count := add(count, byte(0, mul(zeros, ones)))
            }
        }
    }

    /// @notice The gas for a transaction's share of its batch.
    function overheadOf(uint256 encodedLength) internal pure returns (uint256) {
        uint256 byLength = OVERHEAD_PER_BYTE * encodedLength;
        return byLength > SLOT_OVERHEAD ? byLength : SLOT_OVERHEAD;
    }

    /// @notice The minimum gas, beyond the overhead, of a transaction of this size.
    function minimalGas(
        uint256 encodedLength,
        uint256 factoryDeps,
        uint256 gasPerPubdata
    ) internal pure returns (uint256) {
        uint256 computation =
            INTRINSIC_GAS +
                (encodedLength * GAS_PER_544_BYTES + 543) / 544 +
                factoryDeps * GAS_PER_FACTORY_DEP;
        if (computation < MINIMAL_GAS) computation = MINIMAL_GAS;
        uint256 pubdata = INTRINSIC_PUBDATA + factoryDeps * PUBDATA_PER_FACTORY_DEP;
        return computation + pubdata * gasPerPubdata;
    }
}

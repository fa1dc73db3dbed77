// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {AddressAliasHelper} from "../../shared/AddressAliasHelper.sol";
import {BOOTLOADER, ETH_TOKEN, L2_MESSENGER} from "../../shared/Addresses.sol";
import {DataEncoding} from "../../shared/DataEncoding.sol";
import {L2CanonicalTransaction, L2Log, L2Message, TxStatus} from "../../shared/Messaging.sol";
import {IBridgehub} from "../interfaces/IBridgehub.sol";
import {IL1AssetRouter} from "../interfaces/IL1AssetRouter.sol";
import {BridgehubL2TransactionRequest, IMailbox} from "../interfaces/IMailbox.sol";
import {FactoryDependencies} from "../libraries/FactoryDependencies.sol";
import {DEFAULT_LEAF, MessageHashing, ProofResult} from "../../shared/MessageHashing.sol";
import {PriorityTree} from "../libraries/PriorityTree.sol";
import {L2Account} from "../libraries/L2Account.sol";
import {TransactionValidator} from "../libraries/TransactionValidator.sol";
import {FacetBase} from "./FacetBase.sol";
import {FeeParams, PubdataPricingMode} from "./ZKChainBase.sol";

/// @notice Accepts transactions for the L2, and checks proofs of its messages.
contract MailboxFacet is FacetBase, IMailbox {
    using PriorityTree for PriorityTree.Tree;

    /// @dev That of all chains that use this facet.
    address private immutable _BRIDGEHUB;
    /// @dev What a request of the registrar may use.
    uint256 private constant SERVICE_GAS = 500_000;

    uint256 internal constant PRIORITY_TX_TYPE = 255;
    uint256 internal constant REQUIRED_GAS_PER_PUBDATA = 800;
    uint256 internal constant L1_GAS_PER_PUBDATA_BYTE = 17;
    uint64 internal constant PRIORITY_EXPIRATION = 3 days;

    error BaseTokenIsNotEther();
    error GasPerPubdataMismatch();
    error MsgValueTooLow(uint256 required, uint256 provided);
    error HashedLogIsDefault();
    error BatchNotExecuted(uint256 batchNumber);
    error LocalRootIsZero();
    error LocalRootMustBeZero();
    error InvalidSettlementLayer(uint256 chainId);

    modifier onlyIfPaidInEther() {
        if (_baseTokenAssetId != DataEncoding.assetId(block.chainid, ETH_TOKEN)) {
            revert BaseTokenIsNotEther();
        }
        _;
    }

    constructor(address bridgehub) {
        _BRIDGEHUB = bridgehub;
    }

    // --- Requests ---

    /// @inheritdoc IMailbox
    function bridgehubRequestL2Transaction(
        BridgehubL2TransactionRequest calldata request
    ) external onlyThroughChain nonReentrant returns (bytes32) {
        if (msg.sender != _BRIDGEHUB) revert Unauthorized(msg.sender);
        return _request(request);
    }

    /// @inheritdoc IMailbox
    function requestL2Transaction(
        address contractL2,
        uint256 l2Value,
        bytes calldata l2Calldata,
        uint256 l2GasLimit,
        uint256 l2GasPerPubdataByteLimit,
        bytes[] calldata factoryDeps,
        address refundRecipient
    ) external payable onlyThroughChain onlyIfPaidInEther nonReentrant returns (bytes32) {
        BridgehubL2TransactionRequest memory request;
        request.sender = msg.sender;
        request.contractL2 = contractL2;
        request.mintValue = msg.value;
        request.l2Value = l2Value;
        request.l2Calldata = l2Calldata;
        request.l2GasLimit = l2GasLimit;
        request.l2GasPerPubdataByteLimit = l2GasPerPubdataByteLimit;
        request.factoryDeps = factoryDeps;
        request.refundRecipient = L2Account.ofRecipient(refundRecipient, msg.sender);
        _router().bridgehubDepositBaseToken{value: msg.value}(
            _chainId,
            _baseTokenAssetId,
            msg.sender,
            msg.value
        );
        return _request(request);
    }

    function _request(
        BridgehubL2TransactionRequest memory request
    ) private returns (bytes32 canonicalTxHash) {
        if (request.l2GasPerPubdataByteLimit != REQUIRED_GAS_PER_PUBDATA) {
            revert GasPerPubdataMismatch();
        }
        L2CanonicalTransaction memory transaction = _transactionOf(request);
        transaction.maxFeePerGas = _l2GasPrice(tx.gasprice, request.l2GasPerPubdataByteLimit);
        uint256 required = transaction.maxFeePerGas * request.l2GasLimit + request.l2Value;
        if (request.mintValue < required) revert MsgValueTooLow(required, request.mintValue);
        return _push(request, transaction);
    }

    /// @inheritdoc IMailbox
    function requestL2ServiceTransaction(
        address contractL2,
        bytes calldata l2Calldata
    ) external onlyThroughChain nonReentrant returns (bytes32) {
        if (msg.sender != IBridgehub(_BRIDGEHUB).chainRegistrationSender()) {
            revert Unauthorized(msg.sender);
        }
        BridgehubL2TransactionRequest memory request;
        request.sender = msg.sender;
        request.contractL2 = contractL2;
        request.l2Calldata = l2Calldata;
        request.l2GasLimit = SERVICE_GAS;
        request.l2GasPerPubdataByteLimit = REQUIRED_GAS_PER_PUBDATA;
        request.refundRecipient = msg.sender;
        // Nobody pays for it: its price is zero.
        return _push(request, _transactionOf(request));
    }

    function _push(
        BridgehubL2TransactionRequest memory request,
        L2CanonicalTransaction memory transaction
    ) private returns (bytes32 canonicalTxHash) {
        bytes memory encoded = abi.encode(transaction);
        TransactionValidator.validate(
            transaction,
            request.factoryDeps,
            encoded.length,
            _priorityTxMaxGasLimit,
            _feeParams.priorityTxMaxPubdata
        );
        canonicalTxHash = keccak256(encoded);
        _priorityTree.push(canonicalTxHash);

        emit NewPriorityRequestId(transaction.nonce, canonicalTxHash);
        // Clients expect this event to be the last one of this contract that they know.
        emit NewPriorityRequest(
            transaction.nonce,
            canonicalTxHash,
            uint64(block.timestamp) + PRIORITY_EXPIRATION,
            transaction,
            request.factoryDeps
        );
    }

    /// @inheritdoc IMailbox
    function l2TransactionBaseCost(
        uint256 gasPrice,
        uint256 l2GasLimit,
        uint256 l2GasPerPubdataByteLimit
    ) external view onlyThroughChain returns (uint256) {
        return _l2GasPrice(gasPrice, l2GasPerPubdataByteLimit) * l2GasLimit;
    }

    function _transactionOf(
        BridgehubL2TransactionRequest memory request
    ) private view returns (L2CanonicalTransaction memory transaction) {
        // Only an account without code can be both the origin and the caller; contracts act on L2
        // under their alias. An account that delegates to code is no contract.
        // solhint-disable-next-line avoid-tx-origin
        bool isContract = request.sender != tx.origin;
        address from =
            isContract ? AddressAliasHelper.applyL1ToL2Alias(request.sender) : request.sender;

        transaction.txType = PRIORITY_TX_TYPE;
        transaction.from = uint160(from);
        transaction.to = uint160(request.contractL2);
        transaction.gasLimit = request.l2GasLimit;
        transaction.gasPerPubdataByteLimit = request.l2GasPerPubdataByteLimit;
        transaction.nonce = _priorityTree.size;
        transaction.value = request.l2Value;
        transaction.reserved[0] = request.mintValue;
        transaction.reserved[1] = uint160(request.refundRecipient);
        transaction.data = request.l2Calldata;
        transaction.factoryDeps = FactoryDependencies.hashAll(request.factoryDeps);
    }

    /// @dev The higher of the prices by computation and by pubdata, each with its share of a batch's cost on L1. The
    /// minimum is one of ether, and at least a unit of the base token.
    function _l2GasPrice(uint256 l1GasPrice, uint256 gasPerPubdata) private view returns (uint256) {
        FeeParams memory fees = _feeParams;
        uint256 nominator = _multiplierNominator;
        uint256 denominator = _multiplierDenominator;
        uint256 price = (l1GasPrice * nominator) / denominator;
        uint256 minimum = (fees.minimalL2GasPrice * nominator + denominator - 1) / denominator;
        uint256 pubdataPrice =
            fees.pubdataPricingMode == PubdataPricingMode.Rollup
                ? price * L1_GAS_PER_PUBDATA_BYTE
                : 0;
        uint256 batchOverhead = price * fees.batchOverheadL1Gas;
        uint256 byGas = minimum + batchOverhead / fees.maxL2GasPerBatch;
        uint256 byPubdata = pubdataPrice + batchOverhead / fees.maxPubdataPerBatch;
        byPubdata = (byPubdata + gasPerPubdata - 1) / gasPerPubdata;
        return byGas > byPubdata ? byGas : byPubdata;
    }

    // --- Withdrawals ---

    /// @inheritdoc IMailbox
    function finalizeEthWithdrawal(
        uint256 l2BatchNumber,
        uint256 l2MessageIndex,
        uint16 l2TxNumberInBatch,
        bytes calldata message,
        bytes32[] calldata merkleProof
    ) external onlyThroughChain onlyIfPaidInEther {
        _router().finalizeWithdrawal(
            _chainId,
            l2BatchNumber,
            l2MessageIndex,
            l2TxNumberInBatch,
            message,
            merkleProof
        );
    }

    /// @inheritdoc IMailbox
    function isEthWithdrawalFinalized(
        uint256 l2BatchNumber,
        uint256 l2MessageIndex
    ) external view onlyThroughChain returns (bool) {
        return _router().isWithdrawalFinalized(_chainId, l2BatchNumber, l2MessageIndex);
    }

    function _router() private view returns (IL1AssetRouter) {
        return IL1AssetRouter(IBridgehub(_BRIDGEHUB).assetRouter());
    }

    // --- Proofs ---

    /// @inheritdoc IMailbox
    function proveL2MessageInclusion(
        uint256 batchNumber,
        uint256 index,
        L2Message calldata message,
        bytes32[] calldata proof
    ) external view onlyThroughChain returns (bool) {
        L2Log memory log = L2Log({
            l2ShardId: 0,
            isService: true,
            txNumberInBatch: message.txNumberInBatch,
            sender: L2_MESSENGER,
            key: bytes32(uint256(uint160(message.sender))),
            value: keccak256(message.data)
        });
        return _proveLog(batchNumber, index, log, proof);
    }

    /// @inheritdoc IMailbox
    function proveL2LogInclusion(
        uint256 batchNumber,
        uint256 index,
        L2Log calldata log,
        bytes32[] calldata proof
    ) external view onlyThroughChain returns (bool) {
        return _proveLog(batchNumber, index, log, proof);
    }

    /// @inheritdoc IMailbox
    function proveL1ToL2TransactionStatus(
        bytes32 l2TxHash,
        uint256 l2BatchNumber,
        uint256 l2MessageIndex,
        uint16 l2TxNumberInBatch,
        bytes32[] calldata merkleProof,
        TxStatus status
    ) external view onlyThroughChain returns (bool) {
        L2Log memory log = L2Log({
            l2ShardId: 0,
            isService: true,
            txNumberInBatch: l2TxNumberInBatch,
            sender: BOOTLOADER,
            key: l2TxHash,
            value: bytes32(uint256(status))
        });
        return _proveLog(l2BatchNumber, l2MessageIndex, log, merkleProof);
    }

    /// @inheritdoc IMailbox
    function proveL2LeafInclusion(
        uint256 batchNumber,
        uint256 leafProofMask,
        bytes32 leaf,
        bytes32[] calldata proof
    ) external view onlyThroughChain returns (bool) {
        return _proveLeaf(batchNumber, leafProofMask, leaf, proof);
    }

    function _proveLog(
        uint256 batchNumber,
        uint256 index,
        L2Log memory log,
        bytes32[] calldata proof
    ) private view returns (bool) {
        bytes32 leaf = MessageHashing.logLeaf(log);
        if (leaf == DEFAULT_LEAF) revert HashedLogIsDefault();
        return _proveLeaf(batchNumber, index, leaf, proof);
    }

    function _proveLeaf(
        uint256 batchNumber,
        uint256 mask,
        bytes32 leaf,
        bytes32[] calldata proof
    ) private view returns (bool) {
        ProofResult memory result = MessageHashing.follow(batchNumber, mask, leaf, proof);
        bytes32 stored = _l2LogsRootHashes[batchNumber];
        if (result.isFinal) {
            if (batchNumber > _executed) revert BatchNotExecuted(batchNumber);
            if (stored == bytes32(0)) revert LocalRootIsZero();
            return stored == result.batchRoot;
        }
        // A batch settles on one settlement layer only.
        if (stored != bytes32(0)) revert LocalRootMustBeZero();
        uint256 chainId = _chainId;
        IBridgehub hub = IBridgehub(_BRIDGEHUB);
        if (
            !hub.whitelistedSettlementLayers(result.settlementChainId) ||
            result.settlementChainId == chainId
        ) revert InvalidSettlementLayer(result.settlementChainId);
        return
            IMailbox(hub.getZKChain(result.settlementChainId)).proveL2LeafInclusion(
                result.settlementBatchNumber,
                result.settlementMask,
                MessageHashing.chainIdLeaf(result.chainRoot, chainId),
                proof[result.wordsRead:]
            );
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

// Some constants are named as the functions that clients call.
// solhint-disable const-name-snakecase

import {L2_ASSET_ROUTER, L2_NATIVE_TOKEN_VAULT} from "../shared/Addresses.sol";
import {StandardERC20} from "../shared/StandardERC20.sol";
import {IBridgedStandardToken} from "./interfaces/IBridgedStandardToken.sol";

/// @notice The bridged token, on this chain, of a token of another chain.
/// @dev The vault deploys a minimal proxy to this code for each asset, so nothing here is immutable.
contract BridgedStandardERC20 is StandardERC20, IBridgedStandardToken {
    bytes32 private constant DOMAIN_TYPE = keccak256(
        "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
    );
    bytes32 private constant PERMIT_TYPE = keccak256(
        "Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)"
    );
    string private constant VERSION = "1";
    /// @dev Half of the curve's order: of two equivalent signatures, only the one with the lower `s` is valid.
    uint256 private constant HIGHEST_S =
        0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0;

    /// @inheritdoc IBridgedStandardToken
    address public constant l2Bridge = L2_ASSET_ROUTER;
    /// @inheritdoc IBridgedStandardToken
    address public constant nativeTokenVault = L2_NATIVE_TOKEN_VAULT;

    /// @notice The name of the token; empty if it has none on its origin chain.
    string public name;
    /// @notice The symbol of the token; empty if it has none on its origin chain.
    string public symbol;
    /// @notice The number of decimals of an amount.
    uint8 public decimals;
    /// @inheritdoc IBridgedStandardToken
    bytes32 public assetId;
    /// @inheritdoc IBridgedStandardToken
    address public originToken;
    /// @notice The next permit nonce of an owner.
    mapping(address owner => uint256 count) public nonces;

    error Unauthorized(address caller);
    error AlreadyInitialized();
    error PermitExpired(uint256 deadline);
    error InvalidSignature();

    modifier onlyVault() {
        if (msg.sender != L2_NATIVE_TOKEN_VAULT) revert Unauthorized(msg.sender);
        _;
    }

    /// @inheritdoc IBridgedStandardToken
    function bridgeInitialize(
        bytes32 asset,
        address token,
        string calldata tokenName,
        string calldata tokenSymbol,
        uint8 tokenDecimals
    ) external onlyVault {
        if (assetId != bytes32(0)) revert AlreadyInitialized();
        assetId = asset;
        originToken = token;
        name = tokenName;
        symbol = tokenSymbol;
        decimals = tokenDecimals;
        emit BridgeInitialize(token, tokenName, tokenSymbol, tokenDecimals);
    }

    /// @inheritdoc IBridgedStandardToken
    function bridgeMint(address account, uint256 amount) external onlyVault {
        _mint(account, amount);
        emit BridgeMint(account, amount);
    }

    /// @inheritdoc IBridgedStandardToken
    function bridgeBurn(address account, uint256 amount) external onlyVault {
        _burn(account, amount);
        emit BridgeBurn(account, amount);
    }

    /// @notice Approve `spender` to spend `value` of `owner`, by the owner's signature.
    /// @param deadline The last timestamp at which the signature is valid.
    function permit(
        address owner,
        address spender,
        uint256 value,
        uint256 deadline,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        if (block.timestamp > deadline) revert PermitExpired(deadline);
        bytes32 content = keccak256(
            abi.encode(PERMIT_TYPE, owner, spender, value, nonces[owner]++, deadline)
        );
        bytes32 digest = keccak256(abi.encodePacked(hex"1901", DOMAIN_SEPARATOR(), content));
        address signer = uint256(s) > HIGHEST_S ? address(0) : ecrecover(digest, v, r, s);
        if (signer == address(0) || signer != owner) revert InvalidSignature();
        allowance[owner][spender] = value;
        emit Approval(owner, spender, value);
    }

    /// @inheritdoc IBridgedStandardToken
    function l1Address() external view returns (address) {
        return originToken;
    }

    /// @notice The EIP-712 domain of permits, as of ERC-5267.
    /// @return fields Which of the fields are used: the first four.
    function eip712Domain()
        external
        view
        returns (
            bytes1 fields,
            string memory name_,
            string memory version,
            uint256 chainId,
            address verifyingContract,
            bytes32 salt,
            uint256[] memory extensions
        )
    {
        return (0x0f, name, VERSION, block.chainid, address(this), 0, new uint256[](0));
    }

    /// @notice The EIP-712 domain separator of permits.
    function DOMAIN_SEPARATOR() public view returns (bytes32) {
        bytes32 nameHash = keccak256(bytes(name));
        return
            keccak256(
                abi.encode(
                    DOMAIN_TYPE,
                    nameHash,
                    keccak256(bytes(VERSION)),
                    block.chainid,
                    address(this)
                )
            );
    }
}

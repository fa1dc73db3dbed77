// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

// Some constants have the names of the functions that clients call.
// solhint-disable const-name-snakecase

import {L2_ASSET_ROUTER, L2_NATIVE_TOKEN_VAULT} from "../shared/Addresses.sol";
import {StandardERC20} from "../shared/StandardERC20.sol";
import {IBridgedStandardToken} from "./interfaces/IBridgedStandardToken.sol";

/// @notice A token that lives on another chain, as it is on this one.
/// @dev The vault makes a clone of this code for each asset, so that nothing here is immutable.
contract BridgedStandardERC20 is StandardERC20, IBridgedStandardToken {
    bytes32 private constant DOMAIN_TYPE = keccak256(
        "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
    );
    bytes32 private constant PERMIT_TYPE = keccak256(
        "Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)"
    );
    string private constant VERSION = "1";
    /// @dev Half of the curve's order: of two signatures that say the same, only one is taken.
    uint256 private constant HIGHEST_S =
        0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0;

    /// @inheritdoc IBridgedStandardToken
    address public constant l2Bridge = L2_ASSET_ROUTER;
    /// @inheritdoc IBridgedStandardToken
    address public constant nativeTokenVault = L2_NATIVE_TOKEN_VAULT;

    /// @notice The name for people; empty if the token has none where it lives.
    string public name;
    /// @notice The abbreviation for people; empty if the token has none where it lives.
    string public symbol;
    /// @notice How many digits of an amount stand behind the point.
    uint8 public decimals;
    /// @inheritdoc IBridgedStandardToken
    bytes32 public assetId;
    /// @inheritdoc IBridgedStandardToken
    address public originToken;
    /// @notice How many permits of an owner were used.
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

    /// @notice Allow `spender` to take `value` from `owner`, who has signed that.
    /// @param deadline The last second in which the signature counts.
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

    /// @notice The parts of what a signed permit says of this token, in the form of ERC-5267.
    /// @return fields Which of the parts count: the first four.
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

    /// @notice What a signed permit says of this token and this chain.
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

// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;
interface INamed {
    function name() external view returns (string memory);
}

abstract contract Base is INamed {
    uint256 public calls;

    function touch() public virtual returns (uint256) {
        calls += 1;
        return weight();
    }

    function weight() internal view virtual returns (uint256);

    function replaced() public pure virtual returns (uint256) {
        return 1;
    }
}

contract Light is Base {
    function name() external pure override returns (string memory) {
        return "light";
    }

    function weight() internal pure override returns (uint256) {
        return 1;
    }

    function replaced() public pure override returns (uint256) {
        return super.replaced() + 1;
    }
}

contract Heavy is Base {
    function name() external pure override returns (string memory) {
        return "heavy";
    }

    function touch() public override returns (uint256) {
        if (calls > 1) {
            calls = 0;
        }
        return super.touch();
    }

    function weight() internal pure override returns (uint256) {
        return 100;
    }
}

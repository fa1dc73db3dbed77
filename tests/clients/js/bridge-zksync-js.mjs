// The calls of zksync-js between two layers: `zksync-js.mjs` has them, in its order.

import assert from "node:assert/strict";
import { Contract, Interface, ZeroAddress, parseEther } from "ethers";
import { ALICE, check, contracts, run, thrown, url } from "./harness.mjs";
import { ABI, ETH, GAS_PER_PUBDATA, L2_BASE_TOKEN, assetId, connect } from "./zksync-js.mjs";

const ZERO_HASH = "0x" + "0".repeat(64);

const sdk = await connect(url, process.env.L1_URL, ALICE);
const {
  l1, l2, above, below, me, chainId, l1ChainId, bridgehub, nullifier, chain, l2Vault, l2Router, fees, cost, resolve,
  onL2, finalization, finalize,
} = sdk;
const token = await sdk.newToken("Salt and Pepper", "SAP", 9, 1_000_000n);
const address = await token.getAddress();
const depositToken = (amount, to) => sdk.depositToken(address, amount, to);

let somebody = 0xc000;
const stranger = () => "0x" + (++somebody).toString(16).padStart(40, "0");

// In one block, so that the last has an index.
async function inOneBlock(...send) {
  await l2.send("evm_setAutomine", [false]);
  const sent = [];
  for (const it of send) sent.push(await it());
  await l2.send("evm_mine", []);
  await l2.send("evm_setAutomine", [true]);
  return Promise.all(sent.map((it) => it.wait()));
}

check("finds versions, and that there is no wrapped ether", async () => {
  assert.deepEqual([...(await chain.getSemverProtocolVersion())], [0n, 31n, 0n]);
  assert.notEqual(await l1.getCode(await bridgehub.chainTypeManager(chainId)), "0x");
  assert.equal(await l2Vault.L1_CHAIN_ID(), l1ChainId);
  const resolved = await resolve(ETH);
  assert.equal(resolved.assetId, assetId(l1ChainId, ETH));
  assert.equal(resolved.baseAsset, resolved.assetId);
  assert.deepEqual([resolved.wethL1, resolved.wethL2], [ZeroAddress, ZeroAddress]);
  assert.equal(await l2Router.l1TokenAddress(L2_BASE_TOKEN), ZeroAddress);
});

check("deposits ether with the estimate of a priority transaction", async () => {
  const to = stranger();
  assert.equal((await sdk.depositBase(parseEther("1"), to)).status, 1);
  assert.equal(await l2.getBalance(to), parseEther("1"));
});

check("deposits a token that L2 does not know, and then knows, by its address", async () => {
  const to = stranger();
  const before = await resolve(address);
  assert.deepEqual([before.l2, before.assetId, before.originChainId], [ZeroAddress, ZERO_HASH, 0n]);
  const predicted = await l2Vault.calculateCreate2TokenAddress(l1ChainId, address);
  assert.equal(await l2.getCode(predicted), "0x");
  assert.equal((await depositToken(1_000n, to)).status, 1);
  const after = await resolve(address);
  assert.equal(after.l2, predicted);
  assert.deepEqual([after.assetId, after.originChainId], [assetId(l1ChainId, address), l1ChainId]);
  assert.equal(await l2Vault.tokenAddress(after.assetId), predicted);
  assert.equal(await l2Router.l1TokenAddress(predicted), address);
  const bridged = new Contract(predicted, contracts.token.abi, l2);
  assert.deepEqual([await bridged.balanceOf(to), await bridged.symbol()], [1_000n, "SAP"]);
});

check("deposits a token again with the estimate of the exact call", async () => {
  assert.equal((await depositToken(5_000n, me)).status, 1);
  const bridged = new Contract((await resolve(address)).l2, contracts.token.abi, l2);
  assert.equal(await bridged.balanceOf(me), 5_000n);
});

check("withdraws ether, and proves it by the index in the block", async () => {
  const to = stranger();
  const [, , receipt] = await inOneBlock(
    () => below.sendTransaction({ to: stranger(), value: 1n }),
    () => sdk.withdrawBase(7n, stranger()),
    () => sdk.withdrawBase(123n, to),
  );
  assert.equal(receipt.index, 2);
  const { l2TxNumberInBatch } = await finalize(receipt.hash);
  assert.equal(l2TxNumberInBatch, 2);
  assert.equal(await l1.getBalance(to), 123n);
});

check("withdraws a token by its asset id, and proves it the same way", async () => {
  const to = stranger();
  const withdraw = await sdk.withdrawToken(address, 40n, to);
  const [, receipt] = await inOneBlock(() => below.sendTransaction({ to: stranger(), value: 1n }), withdraw);
  assert.equal((await finalize(receipt.hash)).l2TxNumberInBatch, 1);
  assert.equal(await token.balanceOf(to), 40n);
});

check("cannot finalize with the index of another transaction", async () => {
  const { hash } = await (await sdk.withdrawBase(1n, stranger())).wait();
  const params = await finalization(hash);
  await thrown(nullifier.finalizeDeposit.staticCall({
    ...params, l2TxNumberInBatch: params.l2TxNumberInBatch + 1,
  }));
  await finalize(hash);
});

check("deposits, requests and withdraws by the oldest functions as well", async () => {
  const { l1Erc20DefaultBridge } = await l2.send("zks_getBridgeContracts", []);
  const signatures = [
    "function deposit(address,address,uint256,uint256,uint256) payable returns (bytes32)",
    "function deposit(address,address,uint256,uint256,uint256,address) payable returns (bytes32)",
  ];
  const oldest = new Contract(l1Erc20DefaultBridge, signatures, above);
  await (await token.approve(l1Erc20DefaultBridge, 20n)).wait();
  const [receiver, gas, price] = [stranger(), 1_000_000n, await fees()];
  const paid = { value: await cost(price, gas), maxFeePerGas: price };
  const short = oldest["deposit(address,address,uint256,uint256,uint256)"];
  const long = oldest["deposit(address,address,uint256,uint256,uint256,address)"];
  assert.equal((await onL2(await short(receiver, address, 10n, gas, GAS_PER_PUBDATA, paid))).status, 1);
  assert.equal((await onL2(await long(receiver, address, 10n, gas, GAS_PER_PUBDATA, me, paid))).status, 1);
  const bridged = new Contract((await resolve(address)).l2, contracts.token.abi, l2);
  assert.equal(await bridged.balanceOf(receiver), 20n);

  const diamond = new Contract(await chain.getAddress(), [
    "function requestL2Transaction(address,uint256,bytes,uint256,uint256,bytes[],address) payable returns (bytes32)",
    "function finalizeEthWithdrawal(uint256,uint256,uint16,bytes,bytes32[])",
    "function facets() view returns ((address addr,bytes4[] selectors)[])",
  ], above);
  const sent = await diamond.requestL2Transaction(
    receiver, 9n, "0x", gas, GAS_PER_PUBDATA, [], me, { ...paid, value: paid.value + 9n },
  );
  assert.equal((await onL2(sent)).status, 1);
  assert.equal(await l2.getBalance(receiver), 9n);
  const { hash } = await (await sdk.withdrawBase(77n, receiver)).wait();
  const { l2BatchNumber, l2MessageIndex, l2TxNumberInBatch, message, merkleProof } = await finalization(hash);
  const claim = [l2BatchNumber, l2MessageIndex, l2TxNumberInBatch, message, merkleProof];
  await (await diamond.finalizeEthWithdrawal(...claim)).wait();
  assert.equal(await l1.getBalance(receiver), 77n);
  await thrown(diamond.finalizeEthWithdrawal.staticCall(...claim));
  const [facet] = await diamond.facets();
  assert.equal(facet.addr, await chain.getAddress());
  const selector = new Interface(ABI.chain).getFunction("getSemverProtocolVersion").selector;
  assert.ok(facet.selectors.includes(selector));
});

await run();

// What users do with viem/zksync on chains of one L1: one whose gas is paid in ether, and those with a token of their own.

import assert from "node:assert/strict";
import {
  createPublicClient, createWalletClient, defineChain, parseEther,
  zeroAddress,
} from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { zksyncLocalNode } from "viem/chains";
import {
  eip712WalletActions, getL2HashFromPriorityOp, legacyEthAddress, publicActionsL2,
  walletActionsL1, walletActionsL2,
} from "viem/zksync";
import { chains, check, checkWithToken, contracts, runOnEach, stranger, thrown } from "./harness.mjs";
import { POLL_MS, at, l1, l1Chain, mined, options, receiptOf } from "./viem-layers.mjs";

const BASE_TOKEN = "0x000000000000000000000000000000000000800A";
const { abi, bytecode } = contracts.token;

const holds = (client, token, owner) =>
  client.readContract({ address: token, abi, functionName: "balanceOf", args: [owner] });

async function prepare(chain) {
  const isEther = chain.base_token === null;
  const nativeCurrency = isEther
    ? zksyncLocalNode.nativeCurrency
    : { name: chain.base_token.symbol, symbol: chain.base_token.symbol, decimals: chain.base_token.decimals };
  const l2Chain = defineChain({ ...zksyncLocalNode, id: chain.chain_id, nativeCurrency, ...at(chain.http_url) });
  const l2 = createPublicClient(options(l2Chain)).extend(publicActionsL2());
  const account = privateKeyToAccount(chain.key);
  const above = createWalletClient({ account, ...options(l1Chain) }).extend(walletActionsL1());
  const below = createWalletClient({ account, ...options(l2Chain) })
    .extend(walletActionsL2()).extend(eip712WalletActions());
  const args = ["Salt and Pepper", "SAP", 8];
  const { contractAddress: token } = await mined(l1, await above.deployContract({ abi, bytecode, args }));
  const mint = { address: token, abi, functionName: "mint", args: [account.address, 10_000n] };
  await mined(l1, await above.writeContract(mint));
  const base = isEther ? legacyEthAddress : chain.base_token.l1_address;
  return {
    chain, l2, l2Chain, account, above, below, token, isEther, base,
    unit: 10n ** BigInt(nativeCurrency.decimals),
    // What an account has on L1 of the token that the chain's gas is paid in.
    paid: (owner) => (isEther ? l1.getBalance({ address: owner }) : holds(l1, base, owner)),
    // The receipt on L2 of a deposit.
    async deposit(fields) {
      const approved = { approveToken: fields.token !== legacyEthAddress, approveBaseToken: true };
      const asked = { client: l2, refundRecipient: account.address, ...approved, ...fields };
      const receipt = await mined(l1, await above.deposit(asked));
      return receiptOf(l2, getL2HashFromPriorityOp(receipt, await l2.getMainContractAddress()));
    },
    // The receipt once its batch is executed on L1.
    async finalized(hash) {
      const { blockNumber } = await receiptOf(l2, hash);
      while ((await l2.getBlock({ blockTag: "finalized" })).number < blockNumber) {
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
      return await l2.getTransactionReceipt({ hash });
    },
  };
}

check("finds its contracts and its base token", async ({ chain, l2, isEther, base }) => {
  assert.equal(await l2.getChainId(), chain.chain_id);
  assert.equal(await l2.getMainContractAddress(), chain.contract);
  const wanted = isEther ? "0x0000000000000000000000000000000000000001" : base.toLowerCase();
  assert.equal((await l2.getBaseTokenL1Address()).toLowerCase(), wanted);
  assert.equal((await l2.getL2TokenAddress({ token: base })).toLowerCase(), BASE_TOKEN.toLowerCase());
  const { sharedL1, sharedL2 } = await l2.getDefaultBridgeAddresses();
  assert.ok((await l1.getCode({ address: sharedL1 })).length > 2);
  assert.ok((await l2.getCode({ address: sharedL2 })).length > 2);
});

check("deposits what its gas is paid in", async ({ l2, deposit, base, unit }) => {
  const to = stranger();
  assert.equal((await deposit({ token: base, amount: 3n * unit, to })).status, "success");
  assert.equal(await l2.getBalance({ address: to }), 3n * unit);
});

check("deposits another token twice", async ({ l2, deposit, token }) => {
  const to = stranger();
  for (const amount of [30n, 12n]) assert.equal((await deposit({ token, amount, to })).status, "success");
  const bridged = await l2.getL2TokenAddress({ token });
  assert.equal(await holds(l2, bridged, to), 42n);
  assert.equal((await l2.getL1TokenAddress({ token: bridged })).toLowerCase(), token);
});

check("executes a call with value that is requested on L1", async ({ l2, above, account, isEther, base }) => {
  const to = stranger();
  if (!isEther) {
    const { sharedL1 } = await l2.getDefaultBridgeAddresses();
    const args = [sharedL1, await holds(l1, base, account.address)];
    await mined(l1, await above.writeContract({ address: base, abi, functionName: "approve", args }));
  }
  const hash = await above.requestExecute({ client: l2, contractAddress: to, calldata: "0x", l2Value: 9n });
  const receipt = await mined(l1, hash);
  await mined(l2, getL2HashFromPriorityOp(receipt, await l2.getMainContractAddress()));
  assert.equal(await l2.getBalance({ address: to }), 9n);
});

check("sends transactions of both types, at the price that it was told", async ({ l2, below, account, unit }) => {
  const to = stranger();
  const fee = await l2.estimateFee({ account, to, value: 1n });
  assert.equal(fee.maxFeePerGas, await l2.getGasPrice());
  const before = await l2.getBalance({ address: account.address });
  const receipts = [];
  for (const type of ["eip1559", "eip712"]) {
    receipts.push(await mined(l2, await below.sendTransaction({ to, value: unit, type })));
  }
  const fees = receipts.reduce((sum, it) => sum + it.gasUsed * it.effectiveGasPrice, 0n);
  assert.equal(await l2.getBalance({ address: to }), 2n * unit);
  assert.equal(before - (await l2.getBalance({ address: account.address })), 2n * unit + fees);
});

check("sends all that it has", async ({ l2, l2Chain, below, unit }) => {
  const account = privateKeyToAccount(generatePrivateKey());
  await mined(l2, await below.sendTransaction({ to: account.address, value: unit }));
  const wallet = createWalletClient({ account, ...options(l2Chain) });
  const maxFeePerGas = await l2.getGasPrice();
  const gas = await l2.estimateGas({ account, to: stranger(), value: 1n });
  const fields = { to: stranger(), gas, maxFeePerGas, maxPriorityFeePerGas: 0n };
  const most = unit - gas * maxFeePerGas;
  const failure = await thrown(wallet.sendTransaction({ ...fields, value: most + 1n }));
  assert.equal(failure.cause.name, "InsufficientFundsError");
  await mined(l2, await wallet.sendTransaction({ ...fields, value: most }));
  assert.equal(await l2.getBalance({ address: fields.to }), most);
});

check("withdraws what its gas is paid in, and is paid once", async ({ l2, above, below, paid, finalized }) => {
  const to = stranger();
  const hash = await below.withdraw({ amount: 55n, to });
  await finalized(hash);
  assert.equal(await l1.isWithdrawalFinalized({ client: l2, hash }), false);
  await mined(l1, await above.finalizeWithdrawal({ client: l2, hash }));
  assert.equal(await paid(to), 55n);
  assert.equal(await l1.isWithdrawalFinalized({ client: l2, hash }), true);
  await thrown(above.finalizeWithdrawal({ client: l2, hash }));
});

check("withdraws another token", async ({ l2, above, below, deposit, token, finalized }) => {
  const to = stranger();
  await deposit({ token, amount: 100n });
  const hash = await below.withdraw({ token: await l2.getL2TokenAddress({ token }), amount: 60n, to });
  await finalized(hash);
  await mined(l1, await above.finalizeWithdrawal({ client: l2, hash }));
  assert.equal(await holds(l1, token, to), 60n);
});

check("gets back another token that failed to arrive", async ({ l2, above, deposit, token, account, finalized }) => {
  const before = await holds(l1, token, account.address);
  const { status, transactionHash } = await deposit({ token, amount: 80n, to: zeroAddress, l2GasLimit: 3_000_000n });
  assert.equal(status, "reverted");
  assert.equal(await holds(l1, token, account.address), before - 80n);
  await finalized(transactionHash);
  await mined(l1, await above.claimFailedDeposit({ client: l2, depositHash: transactionHash }));
  assert.equal(await holds(l1, token, account.address), before);
});

checkWithToken("deposits and withdraws ether as a token", async ({ l2, above, below, deposit, finalized }) => {
  const [there, here] = [stranger(), stranger()];
  const ether = { token: legacyEthAddress, amount: parseEther("3") };
  assert.equal((await deposit({ ...ether, to: there })).status, "success");
  assert.equal((await deposit(ether)).status, "success");
  const bridged = await l2.getL2TokenAddress({ token: legacyEthAddress });
  assert.equal(await holds(l2, bridged, there), parseEther("3"));
  assert.equal(await l2.readContract({ address: bridged, abi, functionName: "symbol" }), "ETH");
  const hash = await below.withdraw({ token: legacyEthAddress, amount: 77n, to: here });
  await finalized(hash);
  await mined(l1, await above.finalizeWithdrawal({ client: l2, hash }));
  assert.equal(await l1.getBalance({ address: here }), 77n);
});

checkWithToken("gets back ether that failed to arrive", async ({ l2, above, deposit, account, finalized }) => {
  const failing = { token: legacyEthAddress, amount: parseEther("1"), to: zeroAddress, l2GasLimit: 3_000_000n };
  const { status, transactionHash } = await deposit(failing);
  assert.equal(status, "reverted");
  await finalized(transactionHash);
  const before = await l1.getBalance({ address: account.address });
  const receipt = await mined(l1, await above.claimFailedDeposit({ client: l2, depositHash: transactionHash }));
  const after = await l1.getBalance({ address: account.address });
  assert.equal(after, before + parseEther("1") - receipt.gasUsed * receipt.effectiveGasPrice);
});

await runOnEach(chains, prepare);

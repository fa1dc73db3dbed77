// What users do with zksync-ethers on chains of one L1: one whose gas is paid in ether, and those with a token of their own.

import assert from "node:assert/strict";
import { Contract, ContractFactory, JsonRpcProvider, Wallet as PlainWallet, ZeroAddress, parseEther } from "ethers";
import { Provider, Wallet, utils } from "zksync-ethers";
import { chains, check, checkWithToken, contracts, runOnEach, stranger, thrown } from "./harness.mjs";

const POLL_MS = 100;
const ETH = utils.ETH_ADDRESS;
const { abi } = contracts.token;

async function prepare(chain) {
  // With its own caches; each chain has a client, and an account, of its own.
  const l2 = new Provider(chain.http_url);
  const l1 = new JsonRpcProvider(process.env.L1_URL);
  l1.pollingInterval = l2.pollingInterval = POLL_MS;
  const alice = new Wallet(chain.key, l2, l1);
  const factory = new ContractFactory(abi, contracts.token.bytecode, alice.ethWallet());
  const token = await (await factory.deploy("Bread and Butter", "BAB", 9)).waitForDeployment();
  await (await token.mint(alice.address, 1_000_000n)).wait();
  const isEther = chain.base_token === null;
  const base = isEther ? ETH : chain.base_token.l1_address;
  const unit = 10n ** BigInt(isEther ? 18 : chain.base_token.decimals);
  return {
    chain, l1, l2, alice, token, address: await token.getAddress(), isEther, base, unit,
    // What an account has on L1 of the token that the chain's gas is paid in.
    above: (owner) => (isEther ? l1.getBalance(owner) : new Contract(base, abi, l1).balanceOf(owner)),
    // Gas of a deposit is paid in ether, or in a token that has to be approved: the same call does for both.
    deposit: (fields) => alice.deposit({ approveERC20: fields.token !== ETH, approveBaseERC20: true, ...fields }),
  };
}

async function finalized(l2, number) {
  while ((await l2.getBlock("finalized")).number < number) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

check("finds its contracts and its base token", async ({ chain, l1, l2, alice, isEther, base }) => {
  const bridgehub = await alice.getBridgehubContract();
  assert.equal((await l2.getNetwork()).chainId, BigInt(chain.chain_id));
  assert.ok((await bridgehub.getAllZKChainChainIDs()).includes(BigInt(chain.chain_id)));
  assert.equal((await l2.getMainContractAddress()).toLowerCase(), chain.contract);
  assert.equal((await bridgehub.getZKChain(chain.chain_id)).toLowerCase(), chain.contract);
  const wanted = isEther ? utils.ETH_ADDRESS_IN_CONTRACTS : base;
  assert.equal((await alice.getBaseToken()).toLowerCase(), wanted.toLowerCase());
  assert.equal((await l2.getBaseTokenContractAddress()).toLowerCase(), wanted.toLowerCase());
  assert.equal(await alice.isETHBasedChain(), isEther);
  assert.equal(await l2.isBaseToken(wanted), true);
  assert.equal(await l2.isBaseToken(utils.ETH_ADDRESS_IN_CONTRACTS), isEther);
  assert.equal(await l2.l2TokenAddress(base), utils.L2_BASE_TOKEN_ADDRESS);
  const { shared } = await alice.getL2BridgeContracts();
  assert.equal(await shared.getAddress(), utils.L2_ASSET_ROUTER_ADDRESS);
  assert.notEqual(await l1.getCode(await (await alice.getL1BridgeContracts()).shared.getAddress()), "0x");
});

check("deposits what its gas is paid in", async ({ l2, deposit, base, unit }) => {
  const to = stranger();
  const receipt = await (await deposit({ token: base, amount: 2n * unit, to })).wait();
  assert.equal(receipt.status, 1);
  assert.equal(await l2.getBalance(to), 2n * unit);
});

check("deposits another token twice", async ({ l2, alice, deposit, address }) => {
  const to = stranger();
  for (const amount of [300n, 45n]) {
    assert.equal((await (await deposit({ token: address, amount, to })).wait()).status, 1);
  }
  const bridged = await alice.l2TokenAddress(address);
  assert.equal(await l2.getBalance(to, "latest", bridged), 345n);
  assert.equal(await alice.l1TokenAddress(bridged), address);
  assert.equal(await new Contract(bridged, abi, l2).symbol(), "BAB");
});

check("transfers both, and knows its balances", async ({ l2, alice, deposit, address, isEther }) => {
  const to = stranger();
  await (await deposit({ token: address, amount: 1_000n })).wait();
  const bridged = await alice.l2TokenAddress(address);
  await (await alice.transfer({ to, amount: 5n })).wait();
  await (await alice.transfer({ token: bridged, to, amount: 6n })).wait();
  assert.deepEqual([await l2.getBalance(to), await l2.getBalance(to, "latest", bridged)], [5n, 6n]);
  const balances = await alice.getAllBalances();
  assert.equal(balances[bridged.toLowerCase()], await alice.getBalance(bridged));
  // The zero address is ether.
  const own = isEther ? ZeroAddress : utils.L2_BASE_TOKEN_ADDRESS.toLowerCase();
  assert.equal(balances[own], await alice.getBalance());
});

check("sends all that it has", async ({ l2, l1, alice, unit }) => {
  const carol = new Wallet(PlainWallet.createRandom().privateKey, l2, l1);
  await (await alice.transfer({ to: carol.address, amount: unit })).wait();
  const to = stranger();
  // An estimate of all of it does not have to leave the fee.
  const gasLimit = await l2.estimateGasTransfer({ from: carol.address, to, amount: unit });
  const gasPrice = await l2.getGasPrice();
  const most = unit - gasLimit * gasPrice;
  const overrides = { gasLimit, maxFeePerGas: gasPrice, maxPriorityFeePerGas: 0n };
  const failure = await thrown(carol.transfer({ to, amount: most + 1n, overrides: { ...overrides } }));
  assert.match(failure.message, /insufficient funds/);
  await (await carol.transfer({ to, amount: most, overrides })).wait();
  assert.equal(await l2.getBalance(to), most);
});

check("knows what a deposit costs before it is sent", async ({ alice, base, address, isEther }) => {
  if (!isEther) {
    const [{ token, allowance }] = await alice.getDepositAllowanceParams(base, 1n);
    await (await alice.approveERC20(token, 2n * allowance)).wait();
  }
  const fee = await alice.getFullRequiredDepositFee({ token: base, to: stranger() });
  const cost = await alice.getBaseCost({
    gasLimit: fee.l2GasLimit, gasPerPubdataByte: 800, gasPrice: fee.maxFeePerGas,
  });
  assert.equal(fee.baseCost, cost);
  assert.ok(cost > 0n && fee.l1GasLimit > 100_000n);
  assert.ok((await alice.estimateGasDeposit({ token: base, amount: 1n })) > 100_000n);
  await (await alice.approveERC20(address, 1n)).wait();
  assert.ok((await alice.getFullRequiredDepositFee({ token: address, to: stranger() })).baseCost > 0n);
});

check("estimates gas and fees of transactions", async ({ l2, alice, unit }) => {
  const price = await l2.getGasPrice();
  const transfer = { from: alice.address, to: stranger(), value: 1n };
  const fee = await l2.estimateFee(transfer);
  assert.equal(fee.maxFeePerGas, price);
  assert.ok(fee.gasLimit >= 21_000n);
  assert.ok((await l2.estimateGasWithdraw({ amount: 1n, from: alice.address })) > 21_000n);
  assert.ok((await l2.estimateGasTransfer({ to: stranger(), amount: 1n, from: alice.address })) >= 21_000n);
  const before = await alice.getBalance();
  const receipt = await (await alice.transfer({ to: stranger(), amount: unit })).wait();
  assert.equal(before - (await alice.getBalance()), unit + receipt.gasUsed * receipt.gasPrice);
});

check("lets the testnet paymaster pay", async ({ l2, alice }) => {
  const to = stranger();
  const paymaster = await l2.getTestnetPaymasterAddress();
  const paymasterParams = utils.getPaymasterParams(paymaster, { type: "General", innerInput: new Uint8Array() });
  const before = [await alice.getBalance(), await l2.getBalance(paymaster)];
  const receipt = await (await alice.transfer({ to, amount: 5n, paymasterParams })).wait();
  assert.equal(await l2.getBalance(to), 5n);
  assert.equal(before[0] - (await alice.getBalance()), 5n);
  assert.equal(before[1] - (await l2.getBalance(paymaster)), receipt.gasUsed * receipt.gasPrice);
});

check("executes a call with value that is requested on L1", async ({ l2, alice, isEther }) => {
  const to = stranger();
  const request = { contractAddress: to, calldata: "0x", l2Value: 7n };
  if (!isEther) {
    const { token, allowance } = await alice.getRequestExecuteAllowanceParams(request);
    await (await alice.approveERC20(token, allowance)).wait();
  }
  assert.equal((await (await alice.requestExecute(request)).wait()).status, 1);
  assert.equal(await l2.getBalance(to), 7n);
});

check("is refunded on L2 what a request carried that failed", async ({ l2, alice, isEther, unit }) => {
  // The vault has no such function.
  const refundRecipient = stranger();
  const request = {
    contractAddress: utils.L2_NATIVE_TOKEN_VAULT_ADDRESS, calldata: "0xdeadbeef", l2Value: unit, l2GasLimit: 500_000n,
    refundRecipient,
  };
  if (!isEther) {
    const { token, allowance } = await alice.getRequestExecuteAllowanceParams(request);
    await (await alice.approveERC20(token, allowance)).wait();
  }
  const { receipt } = await thrown((await alice.requestExecute(request)).wait());
  assert.equal(receipt.status, 0);
  const refund = await l2.getBalance(refundRecipient);
  assert.ok(refund >= unit, `${refund}`);
});

check("withdraws what its gas is paid in, and is paid once", async ({ alice, above, base }) => {
  for (const token of [undefined, utils.L2_BASE_TOKEN_ADDRESS]) {
    const to = stranger();
    const { hash } = await (await alice.withdraw({ token, amount: 123n, to })).waitFinalize();
    assert.equal(await alice.isWithdrawalFinalized(hash), false);
    await (await alice.finalizeWithdrawal(hash)).wait();
    assert.equal(await above(to), 123n);
    assert.equal(await alice.isWithdrawalFinalized(hash), true);
    await thrown(alice.finalizeWithdrawal(hash));
  }
  assert.ok((await above(alice.address)) > 0n, base);
});

check("withdraws another token", async ({ alice, deposit, token, address }) => {
  const to = stranger();
  await (await deposit({ token: address, amount: 100n })).wait();
  const withdrawal = await alice.withdraw({ token: await alice.l2TokenAddress(address), amount: 40n, to });
  const { hash } = await withdrawal.waitFinalize();
  await (await alice.finalizeWithdrawal(hash)).wait();
  assert.equal(await token.balanceOf(to), 40n);
  assert.equal(await alice.isWithdrawalFinalized(hash), true);
});

check("gets back another token that failed to arrive", async ({ l2, alice, deposit, token, address }) => {
  const before = await token.balanceOf(alice.address);
  // The token mints nothing to the zero address.
  const sent = await deposit({ token: address, amount: 11n, to: ZeroAddress, l2GasLimit: 3_000_000n });
  const { receipt } = await thrown(sent.wait());
  assert.equal(receipt.status, 0);
  assert.equal(await token.balanceOf(alice.address), before - 11n);
  await finalized(l2, receipt.blockNumber);
  await (await alice.claimFailedDeposit(receipt.hash)).wait();
  assert.equal(await token.balanceOf(alice.address), before);
  await thrown(alice.claimFailedDeposit(receipt.hash));
});

check("lists the token that gas is paid in", async ({ chain, l2, isEther }) => {
  const [listed] = await l2.getConfirmedTokens();
  const { symbol, decimals } = isEther ? { symbol: "ETH", decimals: 18 } : chain.base_token;
  assert.deepEqual([listed.symbol, listed.decimals], [symbol, decimals]);
  const contract = new Contract(utils.L2_BASE_TOKEN_ADDRESS, abi, l2);
  assert.deepEqual([await contract.symbol(), await contract.decimals()], [symbol, BigInt(decimals)]);
  assert.notEqual(await contract.name(), "");
});

checkWithToken("deposits, transfers and withdraws ether as a token", async ({ l1, l2, alice, deposit }) => {
  const amount = parseEther("3");
  assert.equal((await (await deposit({ token: ETH, amount })).wait()).status, 1);
  const bridged = await alice.l2TokenAddress(ETH);
  const ether = new Contract(bridged, abi, l2);
  assert.deepEqual(await Promise.all([ether.name(), ether.symbol(), ether.decimals()]), ["Ether", "ETH", 18n]);
  assert.equal(await alice.getBalance(ETH), amount);
  const [there, here] = [stranger(), stranger()];
  await (await alice.transfer({ token: ETH, to: there, amount: 5n })).wait();
  assert.equal(await l2.getBalance(there, "latest", ETH), 5n);
  const { hash } = await (await alice.withdraw({ token: ETH, amount: 77n, to: here })).waitFinalize();
  await (await alice.finalizeWithdrawal(hash)).wait();
  assert.equal(await l1.getBalance(here), 77n);
  assert.equal(await alice.getBalance(ETH), amount - 82n);
});

checkWithToken("gets back ether that failed to arrive", async ({ l1, l2, alice, deposit }) => {
  const sent = await deposit({ token: ETH, amount: parseEther("1"), to: ZeroAddress, l2GasLimit: 3_000_000n });
  const { receipt } = await thrown(sent.wait());
  assert.equal(receipt.status, 0);
  await finalized(l2, receipt.blockNumber);
  const before = await l1.getBalance(alice.address);
  const { fee } = await (await alice.claimFailedDeposit(receipt.hash)).wait();
  assert.equal(await l1.getBalance(alice.address), before + parseEther("1") - fee);
});

checkWithToken("is told to approve the fee, too", async ({ alice, base, unit }) => {
  const [{ token, allowance }] = await alice.getDepositAllowanceParams(base, unit);
  assert.equal(token.toLowerCase(), base.toLowerCase());
  assert.ok(allowance > unit);
  await (await alice.approveERC20(base, unit)).wait();
  await thrown(alice.deposit({ token: base, amount: unit, to: stranger() }));
  const again = await alice.getDepositAllowanceParams(base, unit);
  await (await alice.approveERC20(base, again[0].allowance)).wait();
  const sent = await alice.deposit({ token: base, amount: unit, to: stranger() });
  assert.equal((await sent.wait()).status, 1);
  const both = await alice.getDepositAllowanceParams(await alice.getBaseToken(), unit);
  assert.equal(both.length, 1);
});

checkWithToken("deposits all that it has above", async ({ l1, l2, alice, base, unit }) => {
  const carol = new Wallet(PlainWallet.createRandom().privateKey, l2, l1);
  const token = new Contract(base, abi, alice.ethWallet());
  await (await token.transfer(carol.address, unit)).wait();
  await (await alice.ethWallet().sendTransaction({ to: carol.address, value: parseEther("1") })).wait();
  const to = stranger();
  const [{ allowance }] = await carol.getDepositAllowanceParams(base, 1n);
  const amount = unit - (allowance - 1n);
  const sent = await carol.deposit({ token: base, amount, to, approveBaseERC20: true });
  assert.equal((await sent.wait()).status, 1);
  assert.equal(await l2.getBalance(to), amount);
});

await runOnEach(chains, prepare);

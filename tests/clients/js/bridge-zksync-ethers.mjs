// What users do with zksync-ethers between two layers.

import assert from "node:assert/strict";
import {
  Contract, ContractFactory, Interface, JsonRpcProvider, Wallet as PlainWallet, ZeroAddress,
  hexlify, id, keccak256, parseEther, toUtf8Bytes,
} from "ethers";
import { Provider, Wallet, utils } from "zksync-ethers";
import { ALICE, BOB, check, contracts, run, thrown, url } from "./harness.mjs";

const POLL_MS = 50;
const ETH = utils.ETH_ADDRESS;
const CHAIN_ID = 270n;

const l2 = new Provider(url);
// With its own caches, but on anvil, which responds before it has forgotten a nonce.
const version = await new JsonRpcProvider(process.env.L1_URL).send("web3_clientVersion", []);
const l1 = new JsonRpcProvider(process.env.L1_URL, undefined, version.includes("entresol") ? {} : { cacheTimeout: -1 });
l1.pollingInterval = l2.pollingInterval = POLL_MS;
const alice = new Wallet(ALICE, l2, l1);
const bob = new Wallet(BOB, l2, l1);
const bridgehub = await alice.getBridgehubContract();

// A new account, so that its balance is what happened.
let somebody = 0xb000;
const stranger = () => "0x" + (++somebody).toString(16).padStart(40, "0");

async function newToken(supply, decimals = 18, deployer = alice.ethWallet()) {
  const { abi, bytecode } = contracts.token;
  const factory = new ContractFactory(abi, bytecode, deployer);
  const token = await (await factory.deploy("Bread and Butter", "BAB", decimals)).waitForDeployment();
  await (await token.mint(alice.address, supply)).wait();
  return token;
}

const token = await newToken(1_000_000n, 6);
const address = await token.getAddress();

check("finds the contracts of the chain from one address", async () => {
  assert.equal((await l2.getNetwork()).chainId, CHAIN_ID);
  assert.equal(await l2.getBridgehubContractAddress(), await bridgehub.getAddress());
  assert.equal(await l2.getMainContractAddress(), (await bridgehub.getZKChain(CHAIN_ID)).toLowerCase());
  assert.equal(await l2.getL1ChainId(), Number((await l1.getNetwork()).chainId));
  assert.equal(await l2.getBaseTokenContractAddress(), utils.ETH_ADDRESS_IN_CONTRACTS);
  assert.equal(await alice.isETHBasedChain(), true);
  const { sharedL1, sharedL2 } = await l2.getDefaultBridgeAddresses();
  assert.notEqual(await l1.getCode(sharedL1), "0x");
  assert.notEqual(await l2.getCode(sharedL2), "0x");
});

check("deposits ether, waits, and finds it on L2", async () => {
  const to = stranger();
  const deposit = await alice.deposit({ token: ETH, amount: parseEther("2"), to });
  const receipt = await deposit.wait();
  assert.equal(receipt.status, 1);
  assert.equal(receipt.type, utils.PRIORITY_OPERATION_L2_TX_TYPE);
  assert.equal(await l2.getBalance(to), parseEther("2"));
});

check("deposits ether from two accounts to themselves", async () => {
  const before = await bob.getBalance();
  const deposits = [alice, bob].map((wallet) => wallet.deposit({ token: ETH, amount: 10n ** 18n }));
  for (const deposit of await Promise.all(deposits)) assert.equal((await deposit.wait()).status, 1);
  const gained = (await bob.getBalance()) - before;
  // What the estimate had to spare is given back, too.
  assert.ok(gained >= 10n ** 18n, `${gained}`);
});

check("confirms on L1 that a deposit succeeded on L2", async () => {
  const deposit = await alice.deposit({ token: ETH, amount: 1n, to: stranger() });
  const { hash } = await deposit.waitFinalize();
  const { l1BatchNumber, l2MessageIndex, l2TxNumberInBlock, proof } =
    await alice.getPriorityOpConfirmation(hash);
  const says = (status) => bridgehub.proveL1ToL2TransactionStatus(
    CHAIN_ID, hash, l1BatchNumber, l2MessageIndex, l2TxNumberInBlock, proof, status,
  );
  assert.equal(await says(1), true);
  assert.equal(await says(0), false);
});

check("deposits a token for the first time, and its token on L2 is called the same", async () => {
  const to = stranger();
  const deposit = await alice.deposit({ token: address, amount: 300n, to, approveERC20: true });
  assert.equal((await deposit.wait()).status, 1);
  const bridged = await alice.l2TokenAddress(address);
  const there = new Contract(bridged, contracts.token.abi, l2);
  assert.deepEqual(
    await Promise.all([there.name(), there.symbol(), there.decimals()]),
    ["Bread and Butter", "BAB", 6n],
  );
  assert.equal(await l2.getBalance(to, "latest", bridged), 300n);
  assert.equal(await alice.l1TokenAddress(bridged), address);
});

check("deposits a token again", async () => {
  const before = await alice.getBalance(await alice.l2TokenAddress(address));
  const deposit = await alice.deposit({ token: address, amount: 1_000n, approveERC20: true });
  assert.equal((await deposit.wait()).status, 1);
  const after = await alice.getBalance(await alice.l2TokenAddress(address));
  assert.equal(after - before, 1_000n);
});

check("approves a token by itself, and sees what it may spend", async () => {
  const bridges = await alice.getL1BridgeContracts();
  await (await alice.approveERC20(address, 77n)).wait();
  assert.equal(await alice.getAllowanceL1(address, await bridges.shared.getAddress()), 77n);
  const deposit = await alice.deposit({ token: address, amount: 77n, to: stranger() });
  assert.equal((await deposit.wait()).status, 1);
});

check("knows what a deposit costs before it is sent", async () => {
  const fee = await alice.getFullRequiredDepositFee({ token: ETH, to: stranger() });
  const cost = await alice.getBaseCost({
    gasLimit: fee.l2GasLimit, gasPerPubdataByte: 800, gasPrice: fee.maxFeePerGas,
  });
  assert.equal(fee.baseCost, cost);
  assert.ok((await alice.estimateGasDeposit({ token: ETH, amount: 1n })) > 100_000n);
});

check("executes a call on L2 with value and data from L1", async () => {
  const to = stranger();
  const base = new Interface(["function withdraw(address) payable"]);
  const calldata = base.encodeFunctionData("withdraw", [to]);
  const request = await alice.requestExecute({
    contractAddress: utils.L2_BASE_TOKEN_ADDRESS, calldata, l2Value: 7n, refundRecipient: bob.address,
  });
  const { hash, status } = await request.waitFinalize();
  assert.equal(status, 1);
  await (await bob.finalizeWithdrawal(hash)).wait();
  assert.equal(await l1.getBalance(to), 7n);
});

check("estimates what a request from L1 needs", async () => {
  const request = { contractAddress: stranger(), calldata: "0x1234", l2Value: 5n };
  assert.ok((await l2.estimateL1ToL2Execute(request)) > 21_000n);
  assert.ok((await alice.estimateGasRequestExecute(request)) > 100_000n);
  const gas = await l2.estimateDefaultBridgeDepositL2Gas(l1, address, 1n, alice.address);
  assert.ok(gas > 100_000n);
});

check("brings new code to L2 with a request from L1", async () => {
  const code = new Uint8Array(32).fill(7);
  const request = await alice.requestExecute({
    contractAddress: stranger(), calldata: "0x", factoryDeps: [hexlify(code)],
  });
  assert.equal((await request.wait()).status, 1);
  const published = await l2.getBytecodeByHash(hexlify(utils.hashBytecode(code)));
  assert.deepEqual(Uint8Array.from(published), code);
});

check("sends transactions of every type", async () => {
  const to = stranger();
  for (const type of [0, 1, 2, utils.EIP712_TX_TYPE]) {
    // Of type 1 the wallet does not know that it has a gas price.
    const fees = type === 1 ? { gasPrice: await l2.getGasPrice() } : {};
    const sent = await alice.sendTransaction({ to, value: 1n, type, ...fees });
    assert.equal((await sent.wait()).status, 1);
    assert.equal((await l2.getTransaction(sent.hash)).type, type);
  }
  assert.equal(await l2.getBalance(to), 4n);
});

check("transfers ether and a token on L2", async () => {
  const to = stranger();
  const bridged = await alice.l2TokenAddress(address);
  await (await alice.transfer({ to, amount: 5n })).wait();
  await (await alice.transfer({ token: bridged, to, amount: 6n })).wait();
  assert.equal(await l2.getBalance(to), 5n);
  assert.equal(await l2.getBalance(to, "latest", bridged), 6n);
});

check("estimates gas and fees", async () => {
  const transfer = { from: alice.address, to: stranger(), value: 1n };
  assert.equal(await l2.getGasPrice(), 100_000_000n);
  const gas = await l2.estimateGas(transfer);
  const fee = await l2.estimateFee(transfer);
  assert.ok(gas >= 21_000n && fee.gasLimit >= gas);
  assert.equal(fee.maxFeePerGas, 100_000_000n);
  assert.ok(fee.gasPerPubdataLimit >= BigInt(await l2.getGasPerPubdata()));
  assert.ok((await l2.estimateGasWithdraw({ token: ETH, amount: 1n, from: alice.address })) > 21_000n);
  assert.ok((await l2.estimateGasTransfer({ to: stranger(), amount: 1n, from: alice.address })) >= 21_000n);
  assert.equal((await l2.getFeeParams()).V2.config.minimal_l2_gas_price, 100_000_000);
});

check("sends a message that L1 takes for true, and no other", async () => {
  const message = toUtf8Bytes("from one floor to the next");
  const data = utils.L1_MESSENGER.encodeFunctionData("sendToL1", [message]);
  const sent = await alice.sendTransaction({ to: utils.L1_MESSENGER_ADDRESS, data });
  const { hash, l1BatchNumber, l1BatchTxIndex } = await sent.waitFinalize();
  const { id, proof, root } = await l2.getLogProof(hash, 0);
  assert.match(root, /^0x[0-9a-f]{64}$/);
  const proves = (data) => bridgehub.proveL2MessageInclusion(
    CHAIN_ID, l1BatchNumber, id,
    { txNumberInBatch: l1BatchTxIndex, sender: alice.address, data }, proof,
  );
  assert.equal(await proves(message), true);
  assert.equal(await proves(toUtf8Bytes("from another floor")), false);
});

check("withdraws ether, and gets it once", async () => {
  const to = stranger();
  const { hash } = await (await alice.withdraw({ token: ETH, amount: 123n, to })).waitFinalize();
  assert.equal(await alice.isWithdrawalFinalized(hash), false);
  await (await alice.finalizeWithdrawal(hash)).wait();
  assert.equal(await l1.getBalance(to), 123n);
  assert.equal(await alice.isWithdrawalFinalized(hash), true);
  await thrown(alice.finalizeWithdrawal(hash));
  assert.equal(await l1.getBalance(to), 123n);
});

check("withdraws a token, and any account may finalize it", async () => {
  const to = stranger();
  const bridged = await alice.l2TokenAddress(address);
  const withdrawal = await alice.withdraw({ token: bridged, amount: 40n, to });
  const { hash } = await withdrawal.waitFinalize();
  assert.equal(await alice.isWithdrawalFinalized(hash), false);
  await (await bob.finalizeWithdrawal(hash)).wait();
  assert.equal(await token.balanceOf(to), 40n);
  assert.equal(await alice.isWithdrawalFinalized(hash), true);
});

check("withdraws a token that was born on L2", async () => {
  const to = stranger();
  // The L2 responds at once, as anvil does, so ethers would sign the next transaction with the nonce that it has cached
  // for 250 ms. zksync-ethers turns that cache off by itself on a local chain; whoever uses plain ethers has to.
  const plain = new JsonRpcProvider(url, undefined, { cacheTimeout: -1, pollingInterval: POLL_MS });
  const born = await newToken(90n, 2, new PlainWallet(ALICE, plain));
  const there = await born.getAddress();
  const vault = new Contract(
    utils.L2_NATIVE_TOKEN_VAULT_ADDRESS, ["function ensureTokenIsRegistered(address) returns (bytes32)"], alice,
  );
  const asset = await vault.ensureTokenIsRegistered.staticCall(there);
  await (await vault.ensureTokenIsRegistered(there)).wait();
  await (await born.approve(utils.L2_NATIVE_TOKEN_VAULT_ADDRESS, 90n)).wait();
  const { hash } = await (await alice.withdraw({ token: there, amount: 90n, to })).waitFinalize();
  await (await alice.finalizeWithdrawal(hash)).wait();
  const home = await alice.getL1NativeTokenVault();
  const above = new Contract(await home.tokenAddress(asset), contracts.token.abi, l1);
  assert.equal(await above.balanceOf(to), 90n);
  assert.equal(await above.symbol(), "BAB");
});

check("gets back a deposit that failed on L2", async () => {
  const lost = await newToken(500n);
  const there = await lost.getAddress();
  const deposit = await alice.deposit({
    token: there, amount: 500n, approveERC20: true, l2GasLimit: 300_000n,
  });
  const failure = await thrown(deposit.wait());
  assert.equal(failure.receipt.status, 0);
  const { hash } = failure.receipt;
  const vault = await (await alice.getL1NativeTokenVault()).getAddress();
  const held = () => Promise.all([lost.balanceOf(alice.address), lost.balanceOf(vault)]);
  assert.deepEqual(await held(), [0n, 500n]);
  await finalized(failure.receipt.blockNumber);
  await (await alice.claimFailedDeposit(hash)).wait();
  assert.deepEqual(await held(), [500n, 0n]);
  await rejected(alice.claimFailedDeposit(hash), "DepositDoesNotExist(bytes32,bytes32)");
  await rejected(bob.claimFailedDeposit(hash), "DepositDoesNotExist(bytes32,bytes32)");
  assert.deepEqual(await held(), [500n, 0n]);
});

check("gets back a deposit that the token on L2 rejected, claimed by another", async () => {
  const before = await token.balanceOf(alice.address);
  // The token exists, and mints nothing to the zero address.
  const deposit = await alice.deposit({
    token: address, amount: 11n, to: ZeroAddress, approveERC20: true, l2GasLimit: 3_000_000n,
  });
  const { receipt } = await thrown(deposit.wait());
  assert.equal(receipt.status, 0);
  assert.equal(await token.balanceOf(alice.address), before - 11n);
  await finalized(receipt.blockNumber);
  await (await bob.claimFailedDeposit(receipt.hash)).wait();
  assert.equal(await token.balanceOf(alice.address), before);
  await rejected(alice.claimFailedDeposit(receipt.hash), "DepositDoesNotExist(bytes32,bytes32)");
});

check("gets back a deposit by the oldest bridge that failed on L2", async () => {
  const lost = await newToken(500n);
  const there = await lost.getAddress();
  // The SDK has the contract's functions, but leaves its address out.
  const { l1Erc20DefaultBridge } = await l2.send("zks_getBridgeContracts", []);
  const erc20 = (await alice.getL1BridgeContracts()).erc20.attach(l1Erc20DefaultBridge);
  await (await lost.approve(await erc20.getAddress(), 500n)).wait();
  const { maxFeePerGas } = await l1.getFeeData();
  const value = await bridgehub.l2TransactionBaseCost(CHAIN_ID, maxFeePerGas, 300_000n, 800n);
  const sent = await erc20["deposit(address,address,uint256,uint256,uint256)"](
    alice.address, there, 500n, 300_000n, 800n, { value, maxFeePerGas },
  );
  const failure = await thrown((await l2.getPriorityOpResponse(sent)).wait());
  assert.equal(failure.receipt.status, 0);
  await finalized(failure.receipt.blockNumber);
  await (await bob.claimFailedDeposit(failure.receipt.hash)).wait();
  assert.equal(await lost.balanceOf(alice.address), 500n);
  await rejected(alice.claimFailedDeposit(failure.receipt.hash), "DepositDoesNotExist(bytes32,bytes32)");
});

check("cannot get back a deposit that succeeded", async () => {
  const deposit = await alice.deposit({ token: address, amount: 1n, approveERC20: true });
  const { hash } = await deposit.waitFinalize();
  assert.match((await thrown(alice.claimFailedDeposit(hash))).message, /Cannot claim successful deposit/);
});

check("sees what became of a block, a transaction and a batch", async () => {
  const sent = await alice.transfer({ to: stranger(), amount: 5n });
  const { hash, blockNumber, l1BatchNumber } = await sent.waitFinalize();
  const transaction = await l2.getTransactionDetails(hash);
  assert.equal(transaction.status, "verified");
  assert.equal(transaction.initiatorAddress, alice.address.toLowerCase());
  const block = await l2.getBlockDetails(blockNumber);
  const batch = await l2.getL1BatchDetails(l1BatchNumber);
  assert.deepEqual([block.number, block.l1BatchNumber, block.status], [blockNumber, l1BatchNumber, "verified"]);
  assert.deepEqual([batch.number, batch.status], [l1BatchNumber, "verified"]);
  assert.equal(transaction.ethExecuteTxHash, batch.executeTxHash);
  for (const step of ["commitTxHash", "proveTxHash", "executeTxHash"]) {
    assert.equal(block[step], batch[step]);
    assert.equal((await l1.getTransactionReceipt(batch[step])).status, 1);
  }
  const [first, last] = await l2.getL1BatchBlockRange(l1BatchNumber);
  assert.ok(Number(first) <= blockNumber && blockNumber <= Number(last));
  assert.ok((await l2.getL1BatchNumber()) >= l1BatchNumber);
  assert.equal(await l2.getTransactionStatus(hash), "finalized");
});

check("sends a transaction and reads its detailed output", async () => {
  const filled = await alice.populateTransaction({ to: stranger(), value: 1n });
  const sent = await l2.sendRawTransactionWithDetailedOutput(await alice.signTransaction(filled));
  assert.equal((await l2.waitForTransaction(sent.transactionHash)).status, 1);
  assert.ok(Array.isArray(sent.storageLogs) && Array.isArray(sent.events));
});

check("reads the raw transactions of a block", async () => {
  const { blockNumber } = await (await alice.transfer({ to: stranger(), amount: 5n })).wait();
  const [transaction] = await l2.getRawBlockTransactions(blockNumber);
  assert.equal(transaction.common_data.L2.initiatorAddress, alice.address.toLowerCase());
});

check("finds deployed code by its hash", async () => {
  const bridged = await alice.l2TokenAddress(address);
  const code = await l2.getCode(bridged);
  assert.equal(hexlify(Uint8Array.from(await l2.getBytecodeByHash(keccak256(code)))), code);
});

check("proves the storage of an account at a batch", async () => {
  const { l1BatchNumber } = await (await alice.transfer({ to: stranger(), amount: 5n })).waitFinalize();
  const bridged = await alice.l2TokenAddress(address);
  const slot = "0x" + "0".repeat(64);
  const proof = await l2.getProof(bridged, [slot], l1BatchNumber);
  assert.equal(proof.address, bridged.toLowerCase());
  assert.equal(proof.storageProof[0].key, slot);
});

check("lists balances, tokens and the protocol's version", async () => {
  const bridged = await alice.l2TokenAddress(address);
  const balances = await alice.getAllBalances();
  assert.equal(balances[bridged.toLowerCase()], await alice.getBalance(bridged));
  assert.deepEqual((await l2.getConfirmedTokens()).map((it) => it.symbol), ["ETH"]);
  assert.equal((await l2.getProtocolVersion()).minorVersion, 31);
  // A chain on an L1 of others has none.
  assert.ok([null, "0x0000000000000000000000000000000000010105"].includes(await l2.getTestnetPaymasterAddress()));
});

async function rejected(promise, error) {
  const failure = await thrown(promise);
  const data = failure.data ?? failure.info?.error?.data ?? "";
  assert.ok(String(data).startsWith(id(error).slice(0, 10)), `${failure} ${data}`);
}

async function finalized(number) {
  while ((await l2.getBlock("finalized")).number < number) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

await run();

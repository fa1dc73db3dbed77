// Every action of viem's test, public and wallet clients, in the modes of anvil and of Hardhat.

import assert from "node:assert/strict";
import {
  createPublicClient, createTestClient, createWalletClient, defineChain, hashMessage, http, keccak256, parseEther,
  publicActions, testActions, walletActions, webSocket,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import {
  ALICE, BOB, NOBODY, check, contracts, held, later, meanwhile, rpc, run, socketUrl, soon, thrown, url,
} from "./harness.mjs";

const id = Number(await rpc("eth_chainId"));
// `entresol anvil` stands alone; both layers of a node have an L1.
const isAnvil = !process.env.L1_URL;
const MULTICALL = "0xcA11bde05977b3631167028862bE2a173976CA11";
const chain = defineChain({
  id,
  name: "Entresol",
  nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
  rpcUrls: { default: { http: [url] } },
  contracts: { multicall3: { address: MULTICALL } },
});
const settings = { chain, pollingInterval: 20, transport: http(url) };
const reader = createPublicClient(settings);
const listener = createPublicClient({ ...settings, transport: webSocket(socketUrl) });
const local = privateKeyToAccount(ALICE);
const bob = privateKeyToAccount(BOB);
// An account whose key the node has, and one whose key viem has.
const node = createWalletClient({ ...settings, account: local.address });
const own = createWalletClient({ ...settings, account: local });

const mined = async (hash) => reader.waitForTransactionReceipt({ hash: await hash });
async function deploy(name, args = []) {
  const { abi, bytecode } = contracts[name];
  const { contractAddress } = await mined(own.deployContract({ abi, bytecode, args }));
  return { address: contractAddress, abi };
}
const math = await deploy("math");
const emitter = await deploy("emitter");
const paid = await mined(own.sendTransaction({ to: NOBODY, value: 5n }));
const increment = { ...math, functionName: "incrementCounter" };
const typed = {
  domain: { name: "Post", chainId: id },
  types: { Letter: [{ name: "text", type: "string" }] },
  primaryType: "Letter",
  message: { text: "hello" },
};
const call = { account: local.address, to: NOBODY, value: 1n };
const raw = async () => own.signTransaction(await own.prepareTransactionRequest({ to: NOBODY, value: 1n }));

// Run the actions of a table, each of which is named as in viem, and check that none is missing.
async function all(names, table, elsewhere) {
  assert.deepEqual([...Object.keys(table), ...Object.keys(elsewhere)].sort(), [...names].sort());
  const problems = [];
  for (const [name, action] of Object.entries(table)) {
    try {
      await soon(action(), name);
    } catch (error) {
      problems.push(`${name}: ${error.message}`);
    }
  }
  assert.deepEqual(problems, []);
}

const head = () => rpc("eth_getBlockByNumber", "latest", false);
// viem's own is that of some milliseconds ago.
const number = async () => Number(await rpc("eth_blockNumber"));

function tests(client, mode) {
  return {
    dropTransaction: () => held(async () => {
      const hash = await node.sendTransaction({ to: NOBODY, value: 1n });
      await client.dropTransaction({ hash });
      assert.equal(await rpc("eth_getTransactionByHash", hash), null);
    }),
    getAutomine: async () => assert.equal(await client.getAutomine(), true),
    getTxpoolContent: () => client.getTxpoolContent(),
    getTxpoolStatus: () => client.getTxpoolStatus(),
    impersonateAccount: async () => {
      await client.setBalance({ address: NOBODY, value: parseEther("1") });
      await client.impersonateAccount({ address: NOBODY });
      await mined(node.sendTransaction({ account: NOBODY, to: local.address }));
    },
    stopImpersonatingAccount: async () => {
      await client.stopImpersonatingAccount({ address: NOBODY });
      await thrown(node.sendTransaction({ account: NOBODY, to: local.address }));
    },
    increaseTime: async () => {
      const before = Number((await head()).timestamp);
      assert.ok(Number(await client.increaseTime({ seconds: 420 })) >= 420);
      await client.mine({ blocks: 1 });
      assert.ok(Number((await head()).timestamp) >= before + 420);
    },
    inspectTxpool: () => client.inspectTxpool(),
    mine: async () => {
      const before = await number();
      await client.mine({ blocks: 3, interval: 10 });
      assert.equal(await number(), before + 3);
    },
    revert: async () => {
      const before = await number();
      const snapshot = await client.snapshot();
      await client.mine({ blocks: 1 });
      await client.revert({ id: snapshot });
      assert.equal(await number(), before);
    },
    snapshot: async () => assert.match(await client.snapshot(), /^0x/),
    sendUnsignedTransaction: async () => {
      const sent = await client.sendUnsignedTransaction({ from: local.address, to: NOBODY, value: 1n });
      assert.equal((await mined(sent)).status, "success");
    },
    setAutomine: async () => {
      await client.setAutomine(false);
      await client.setAutomine(true);
    },
    setIntervalMining: async () => {
      await client.setIntervalMining({ interval: 1 });
      assert.equal(await rpc("anvil_getIntervalMining"), mode === "anvil" ? 1 : 1_000);
      await client.setIntervalMining({ interval: 0 });
      await client.setAutomine(true);
    },
    setBalance: async () => {
      await client.setBalance({ address: NOBODY, value: 77n });
      assert.equal(await reader.getBalance({ address: NOBODY }), 77n);
    },
    setBlockGasLimit: async () => {
      await client.setBlockGasLimit({ gasLimit: 25_000_000n });
      await client.mine({ blocks: 1 });
      assert.equal((await reader.getBlock()).gasLimit, 25_000_000n);
    },
    setCode: async () => {
      await client.setCode({ address: bob.address, bytecode: "0x602a5f5260205ff3" });
      assert.equal(BigInt((await reader.call({ to: bob.address })).data), 42n);
      await client.setCode({ address: bob.address, bytecode: "0x" });
    },
    setCoinbase: async () => {
      await client.setCoinbase({ address: NOBODY });
      await client.mine({ blocks: 1 });
      assert.equal((await reader.getBlock()).miner, NOBODY);
    },
    setLoggingEnabled: () => client.setLoggingEnabled(true),
    setMinGasPrice: async () => {
      const error = await thrown(client.setMinGasPrice({ gasPrice: 1n }));
      assert.match(error.details, /not supported when EIP-1559 is active/);
    },
    setNextBlockBaseFeePerGas: async () => {
      await client.setNextBlockBaseFeePerGas({ baseFeePerGas: 7n });
      await client.mine({ blocks: 1 });
      assert.equal((await reader.getBlock()).baseFeePerGas, 7n);
    },
    setNextBlockTimestamp: async () => {
      const timestamp = BigInt((await head()).timestamp) + 500n;
      await client.setNextBlockTimestamp({ timestamp });
      await client.mine({ blocks: 1 });
      assert.equal((await reader.getBlock()).timestamp, timestamp);
    },
    setNonce: async () => {
      await client.setNonce({ address: NOBODY, nonce: 420 });
      assert.equal(await reader.getTransactionCount({ address: NOBODY }), 420);
    },
    setStorageAt: async () => {
      await client.setStorageAt({ address: NOBODY, index: 2, value: `0x${"11".repeat(32)}` });
      assert.equal(await reader.getStorageAt({ address: NOBODY, slot: "0x2" }), `0x${"11".repeat(32)}`);
    },
    ...(mode === "anvil" && {
      setBlockTimestampInterval: async () => {
        await client.setBlockTimestampInterval({ interval: 5 });
        const before = Number((await head()).timestamp);
        await client.mine({ blocks: 1 });
        assert.equal(Number((await head()).timestamp), before + 5);
      },
      removeBlockTimestampInterval: () => client.removeBlockTimestampInterval(),
      setRpcUrl: () => client.setRpcUrl("http://127.0.0.1:1"),
    }),
  };
}

// State files and resets are tests of their own.
const WHOLE_CHAINS = { dumpState: "state files", loadState: "state files", reset: "resets" };
const ANVIL_ALONE = {
  setBlockTimestampInterval: "Hardhat has no such method",
  removeBlockTimestampInterval: "Hardhat has no such method",
  setRpcUrl: "Hardhat has no such method",
};

async function checkTests(mode, elsewhere) {
  const client = createTestClient({ ...settings, mode });
  const snapshot = await rpc("evm_snapshot");
  await all(Object.keys(testActions({ mode })(client)), tests(client, mode), elsewhere);
  await rpc("evm_revert", snapshot);
}

check("all test actions in the mode of anvil", () => checkTests("anvil", WHOLE_CHAINS));

check("all test actions in the mode of Hardhat", () => checkTests("hardhat", { ...WHOLE_CHAINS, ...ANVIL_ALONE }));

// Wait for the first notification while `cause` happens again and again.
async function first(watch, cause) {
  const { promise, resolve } = later();
  const stop = watch(resolve);
  await meanwhile(cause, () => promise);
  stop();
}

const pay = () => node.sendTransaction({ to: NOBODY, value: 1n });
const log = () => node.writeContract({ ...emitter, functionName: "logString", args: ["hi"] });
const at = { address: math.address };

const PUBLIC = {
  call: async () => reader.call({ to: math.address, data: "0xd09de08a" }).catch(() => {}),
  createAccessList: () => reader.createAccessList(call),
  createBlockFilter: () => reader.createBlockFilter(),
  createContractEventFilter: () => reader.createContractEventFilter(math),
  createEventFilter: () => reader.createEventFilter(),
  createPendingTransactionFilter: () => reader.createPendingTransactionFilter(),
  estimateContractGas: () => reader.estimateContractGas({ ...increment, account: local.address }),
  estimateGas: async () => assert.equal(await reader.estimateGas(call), 21_000n),
  getBalance: () => reader.getBalance({ address: NOBODY }),
  getBlobBaseFee: () => reader.getBlobBaseFee(),
  getBlock: () => reader.getBlock({ includeTransactions: true }),
  getBlockNumber: () => reader.getBlockNumber(),
  getBlockReceipts: () => reader.getBlockReceipts(),
  getBlockTransactionCount: () => reader.getBlockTransactionCount(),
  getBytecode: () => reader.getBytecode(at),
  getChainId: async () => assert.equal(await reader.getChainId(), id),
  getCode: async () => assert.equal(await reader.getCode(at), contracts.math.runtime),
  getContractEvents: () => reader.getContractEvents(math),
  getDelegation: () => reader.getDelegation({ address: local.address }),
  getFeeHistory: () => reader.getFeeHistory({ blockCount: 2, rewardPercentiles: [50] }),
  estimateFeesPerGas: () => reader.estimateFeesPerGas(),
  getFilterChanges: async () => reader.getFilterChanges({ filter: await reader.createBlockFilter() }),
  getFilterLogs: async () => reader.getFilterLogs({ filter: await reader.createEventFilter() }),
  getGasPrice: () => reader.getGasPrice(),
  getLogs: () => reader.getLogs(),
  getProof: () => reader.getProof({ ...at, storageKeys: [`0x${"00".repeat(32)}`] }),
  estimateMaxPriorityFeePerGas: () => reader.estimateMaxPriorityFeePerGas(),
  fillTransaction: () => reader.fillTransaction(call),
  getRawTransaction: async () => reader.getRawTransaction({ hash: paid.transactionHash }),
  getStorageAt: () => reader.getStorageAt({ ...at, slot: "0x0" }),
  getStorageValues: () => reader.getStorageValues({ requests: { [math.address]: [`0x${"00".repeat(32)}`] } }),
  getTransaction: () => reader.getTransaction({ hash: paid.transactionHash }),
  getTransactionConfirmations: () => reader.getTransactionConfirmations({ hash: paid.transactionHash }),
  getTransactionCount: () => reader.getTransactionCount({ address: local.address }),
  getTransactionReceipt: () => reader.getTransactionReceipt({ hash: paid.transactionHash }),
  multicall: async () => {
    const [found] = await reader.multicall({ contracts: [{ ...math, functionName: "counter" }] });
    assert.equal(found.status, "success");
  },
  prepareTransactionRequest: () => reader.prepareTransactionRequest(call),
  readContract: () => reader.readContract({ ...math, functionName: "counter" }),
  sendRawTransaction: async () => mined(reader.sendRawTransaction({ serializedTransaction: await raw() })),
  sendRawTransactionSync: async () => reader.sendRawTransactionSync({ serializedTransaction: await raw() }),
  simulate: () => reader.simulate({ blocks: [{ calls: [call] }] }),
  simulateBlocks: () => reader.simulateBlocks({ blocks: [{ calls: [call] }] }),
  simulateCalls: () => reader.simulateCalls({ account: local.address, calls: [{ to: NOBODY, value: 1n }] }),
  simulateContract: () => reader.simulateContract({ ...increment, account: local.address }),
  verifyHash: async () => {
    const signature = await local.signMessage({ message: "hello" });
    assert.ok(await reader.verifyHash({ address: local.address, hash: hashMessage("hello"), signature }));
  },
  verifyMessage: async () => {
    const signature = await local.signMessage({ message: "hello" });
    assert.ok(await reader.verifyMessage({ address: local.address, message: "hello", signature }));
  },
  verifySiweMessage: async () => {
    assert.equal(await reader.verifySiweMessage({ message: "no such message", signature: "0x" }), false);
  },
  verifyTypedData: async () => {
    const signature = await local.signTypedData(typed);
    assert.ok(await reader.verifyTypedData({ ...typed, address: local.address, signature }));
  },
  uninstallFilter: async () => reader.uninstallFilter({ filter: await reader.createBlockFilter() }),
  waitForTransactionReceipt: () => mined(pay()),
  watchBlockHeaders: () => first((found) => listener.watchBlockHeaders({ onBlockHeader: found }), pay),
  watchBlocks: () => first((found) => reader.watchBlocks({ onBlock: found }), pay),
  watchBlockNumber: () => first((found) => reader.watchBlockNumber({ onBlockNumber: found }), pay),
  watchContractEvent: () => first((found) => reader.watchContractEvent({ ...emitter, onLogs: found }), log),
  watchEvent: () => first((found) => reader.watchEvent({ onLogs: found }), log),
  watchPendingTransactions: () =>
    first((found) => reader.watchPendingTransactions({ onTransactions: found }), pay),
};

const ENS = "the contracts of ENS are on Ethereum only";
const PUBLIC_ELSEWHERE = {
  getEnsAddress: ENS, getEnsAvatar: ENS, getEnsName: ENS, getEnsResolver: ENS, getEnsText: ENS,
  getEip712Domain: "calls a contract with eip712Domain(), as readContract does",
  token: "a group of calls to a token's contract",
};

check("all public actions", () => all(Object.keys(publicActions(reader)), PUBLIC, PUBLIC_ELSEWHERE));

const WALLET = {
  deployContract: () => mined(node.deployContract(contracts.math)),
  fillTransaction: () => node.fillTransaction({ to: NOBODY, value: 1n }),
  getAddresses: async () => assert.ok((await node.getAddresses()).includes(local.address)),
  getChainId: () => node.getChainId(),
  prepareAuthorization: () => own.prepareAuthorization({ contractAddress: math.address }),
  prepareTransactionRequest: () => node.prepareTransactionRequest({ to: NOBODY }),
  requestAddresses: async () => assert.ok((await node.requestAddresses()).length),
  sendRawTransaction: async () => mined(own.sendRawTransaction({ serializedTransaction: await raw() })),
  sendRawTransactionSync: async () => own.sendRawTransactionSync({ serializedTransaction: await raw() }),
  sendTransaction: () => mined(node.sendTransaction({ to: NOBODY, value: 1n })),
  sendTransactionSync: () => node.sendTransactionSync({ to: NOBODY, value: 1n }),
  signAuthorization: () => own.signAuthorization({ contractAddress: math.address }),
  signMessage: async () => {
    assert.equal(await node.signMessage({ message: "hello" }), await own.signMessage({ message: "hello" }));
  },
  signTransaction: async () => {
    const signed = await node.signTransaction({ to: NOBODY, value: 1n, gas: 21_000n, type: "eip1559" });
    // viem passes on what the node returns: bytes as anvil's, or the object of geth, whose bytes are `raw`.
    const bytes = isAnvil ? signed : signed.raw;
    assert.equal((await mined(reader.sendRawTransaction({ serializedTransaction: bytes }))).status, "success");
    assert.match(keccak256(bytes), /^0x/);
  },
  signTypedData: async () => assert.equal(await node.signTypedData(typed), await own.signTypedData(typed)),
  writeContract: () => mined(node.writeContract(increment)),
  writeContractSync: () => node.writeContractSync(increment),
};

const WALLETS = "a method of wallets, which no node has";
const WALLET_ELSEWHERE = {
  addChain: WALLETS, getCallsStatus: WALLETS, getCapabilities: WALLETS, getPermissions: WALLETS,
  requestPermissions: WALLETS, sendCalls: WALLETS, sendCallsSync: WALLETS, showCallsStatus: WALLETS,
  switchChain: WALLETS, waitForCallsStatus: WALLETS, watchAsset: WALLETS,
  token: "a group of calls to a token's contract",
};

check("all wallet actions", () => all(Object.keys(walletActions(node)), WALLET, WALLET_ELSEWHERE));

await run();

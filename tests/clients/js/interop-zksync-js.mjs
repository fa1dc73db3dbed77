// The flows of zksync-js' interop tests by its own calls: between two chains with the same base token, and with others.

import assert from "node:assert/strict";
import { ZeroAddress } from "ethers";
import { chains, check, checkWithToken, runOnEach, stranger, thrown } from "./harness.mjs";
import { anywhere, attribute, connectPair, onChain } from "./zksync-js-interop.mjs";

const prepare = ({ source_url, destination_url, key }) =>
  connectPair(source_url, destination_url, process.env.GW_RPC, key);

check("knows the fee, and the chain whose roots are imported", async ({ source, l1, rootChainId }) => {
  assert.ok((await source.center.interopProtocolFee()) > 0n);
  assert.ok((await source.center.ZK_INTEROP_FEE()) > 0n);
  assert.equal(await source.center.zkToken(), ZeroAddress);
  assert.equal(rootChainId, (await l1.getNetwork()).chainId);
  assert.equal(rootChainId, await source.vault.L1_CHAIN_ID());
});

check("sends native value", async ({ source, destination, sendNative, create, finalize, status, quote, tokenThere, isSame }) => {
  const to = stranger();
  const action = await sendNative(source, destination, to, 1_234n);
  assert.equal(await quote([action]), (await source.center.interopProtocolFee()) + 1_234n);
  const sent = await create([action]);
  assert.equal(await status(sent), "SENT");
  await finalize(sent);
  const held = isSame ? destination.provider.getBalance(to)
    : (await tokenThere(destination, source.baseAsset)).balanceOf(to);
  assert.equal(await held, 1_234n);
});

check("sends an ERC-20 there and back", async ({ source, destination, sendErc20, deliver, tokenThere }) => {
  const token = await source.deploy("token", "Lego", "LEGO", 7);
  const address = await token.getAddress();
  await (await token.mint(source.me, 1_000n)).wait();
  await deliver([await sendErc20(source, address, source.me, 600n)]);
  const there = await tokenThere(destination, await source.vault.assetId(address));
  assert.equal(await there.balanceOf(source.me), 600n);
  assert.deepEqual([await there.symbol(), await there.decimals()], ["LEGO", 7n]);
  const home = stranger();
  const back = await sendErc20(destination, await there.getAddress(), home, 250n);
  await deliver([back], { from: destination, to: source });
  assert.equal(await token.balanceOf(home), 250n);
  assert.equal(await there.balanceOf(source.me), 350n);
});

check("calls a contract of another chain", async ({ source, destination, call, deliver }) => {
  const recipient = await destination.deploy("recipient");
  await deliver([call(await recipient.getAddress(), "0x1234")]);
  assert.equal(await recipient.count(), 1n);
  assert.equal(await recipient.payload(), "0x1234");
  assert.equal(await recipient.sender(), onChain(source.chainId, source.me.toLowerCase()));
});

check("bundles value, a token and a call", async ({ source, destination, sendNative, sendErc20, call, create, finalize, tokenThere, isSame }) => {
  const [to, token] = [stranger(), await source.deploy("token", "Box", "BOX", 18)];
  const recipient = await destination.deploy("recipient");
  await (await token.mint(source.me, 10n)).wait();
  const sent = await create([
    await sendNative(source, destination, to, 5n),
    await sendErc20(source, await token.getAddress(), to, 6n),
    call(await recipient.getAddress(), "0xab"),
  ]);
  assert.equal(sent.decoded.calls.length, 3);
  await finalize(sent);
  assert.equal(await (await tokenThere(destination, await source.vault.assetId(await token.getAddress()))).balanceOf(to), 6n);
  assert.equal(await recipient.count(), 1n);
  if (isSame) assert.equal(await destination.provider.getBalance(to), 5n);
  for (let i = 0; i < 3; ++i) assert.equal(await destination.handler.callStatus(sent.bundleHash, i), 1n);
});

check("is executed once", async ({ call, create, finalize, destination }) => {
  const sent = await create([call(stranger(), "0x")]);
  const proof = await finalize(sent);
  await thrown(destination.handler.executeBundle.staticCall(sent.bundle, proof));
  assert.equal(await destination.handler.bundleStatus(sent.bundleHash), 2n);
});

check("lets only the executor that is named execute", async ({ source, destination, call, create, wait, finalize, status }) => {
  const other = await create([call(stranger(), "0x")], { execution: stranger() });
  await thrown(destination.handler.executeBundle.staticCall(other.bundle, await wait(other)));
  assert.equal(await status(other), "SENT");
  // Twenty bytes, as the SDK sends them.
  const own = await create([call(stranger(), "0x")], { execution: source.me });
  assert.equal(own.decoded.bundleAttributes.executionAddress, anywhere(source.me.toLowerCase()));
  await finalize(own);
});

check("is verified and unbundled: a call is executed, one skipped and one cancelled", async ({ source, destination, call, create, wait, status }) => {
  const recipient = await destination.deploy("recipient");
  const failing = await destination.deploy("recipient");
  await (await failing.answer("0x00000000")).wait();
  const targets = [await recipient.getAddress(), await recipient.getAddress(), await failing.getAddress()];
  const sent = await create(targets.map((it) => call(it, "0x01")), { unbundling: source.me });
  const proof = await wait(sent);
  await thrown(destination.handler.executeBundle.staticCall(sent.bundle, proof));
  await thrown(destination.handler.unbundleBundle.staticCall(source.chainId, sent.bundle, [1, 0, 2]));
  await (await destination.handler.verifyBundle(sent.bundle, proof)).wait();
  assert.equal(await status(sent), "VERIFIED");
  const { logs } = await (await destination.handler.unbundleBundle(source.chainId, sent.bundle, [1, 0, 2])).wait();
  assert.equal(await status(sent), "UNBUNDLED");
  const processed = logs.map((log) => destination.handler.interface.parseLog(log))
    .filter((it) => it?.name === "CallProcessed").map((it) => [it.args.bundleHash, it.args.callIndex, it.args.status]);
  assert.deepEqual(processed, [[sent.bundleHash, 0n, 1n], [sent.bundleHash, 2n, 2n]]);
  assert.equal(await recipient.count(), 1n);
  await (await destination.handler.unbundleBundle(source.chainId, sent.bundle, [0, 1, 0])).wait();
  assert.equal(await recipient.count(), 2n);
});

check("sends a message", async ({ source, destination, found, finalize }) => {
  const recipient = await destination.deploy("recipient");
  const to = onChain(destination.chainId, await recipient.getAddress());
  const value = await source.center.interopProtocolFee();
  const sent = await source.center.sendMessage(to, "0xfeed", [attribute("useFixedFee", false)], { value });
  await finalize(found(await sent.wait(), source, destination));
  assert.equal(await recipient.payload(), "0xfeed");
});

check("rejects another value than is quoted, and chains that are unknown", async ({ source, destination, call, create }) => {
  await thrown(create([{ ...call(stranger(), "0x"), value: 1n }]));
  await thrown(create([call(stranger(), "0x")], { to: { ...destination, chainId: 424_242n } }));
  await thrown(create([call(stranger(), "0x")], { to: source }));
  // ethers counts what was rejected, too.
  source.signer.reset();
});

checkWithToken("sends the destination's base token home as the value of a call", async ({ source, destination, sendNative, call, deliver, tokenThere }) => {
  const to = stranger();
  // It comes here as a token first.
  await deliver([await sendNative(destination, source, source.me, 900n)], { from: destination, to: source });
  const held = await tokenThere(source, destination.baseAsset);
  const before = await held.balanceOf(source.me);
  await deliver([call(to, "0x", 400n)], { free: 400n });
  assert.equal(await destination.provider.getBalance(to), 400n);
  assert.equal(await held.balanceOf(source.me), before - 400n);
});

await runOnEach(chains, prepare);

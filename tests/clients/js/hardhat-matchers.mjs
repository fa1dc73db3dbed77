// Every matcher of hardhat-chai-matchers, on contracts that hardhat-ethers deploys.

import assert from "node:assert/strict";
import { NOBODY, check, contracts, run, thrown } from "./harness.mjs";
import { hre, require } from "./hardhat.mjs";

const { expect } = require("chai");
const { anyValue } = require("@nomicfoundation/hardhat-chai-matchers/withArgs");
const { PANIC_CODES } = require("@nomicfoundation/hardhat-chai-matchers/panic");
const { ethers } = hre;

const [alice, bob] = await ethers.getSigners();

async function deploy(name, ...parameters) {
  const { abi, bytecode } = contracts[name];
  const contract = await new ethers.ContractFactory(abi, bytecode, alice).deploy(...parameters);
  return contract.waitForDeployment();
}

const reverts = await deploy("reverts");
const panics = await deploy("panics");
const emitter = await deploy("emitter");
const math = await deploy("math");
const token = await deploy("token", "Token", "T", 18);
await (await token.mint(alice.address, 1_000n)).wait();

check("hardhat-ethers finds signers, deploys, and attaches", async () => {
  assert.ok((await ethers.getSigners()).length >= 10);
  const attached = await ethers.getContractAt(contracts.math.abi, await math.getAddress());
  assert.equal(await attached.add.staticCall(2, 3), 5n);
  assert.ok((await ethers.provider.getBlockNumber()) >= 6);
  assert.ok(await ethers.provider.send("hardhat_metadata", []));
  const impersonated = await ethers.getImpersonatedSigner(NOBODY);
  await ethers.provider.send("hardhat_setBalance", [NOBODY, "0xde0b6b3a7640000"]);
  await (await impersonated.sendTransaction({ to: alice.address, value: 1n })).wait();
});

check("reverted", async () => {
  await expect(reverts.revertWithMessage()).to.be.reverted;
  await expect(reverts.normalFunction()).not.to.be.reverted;
});

check("revertedWith", async () => {
  await expect(reverts.revertWithMessage()).to.be.revertedWith("Function has been reverted.");
  await thrown(expect(reverts.revertWithMessage()).to.be.revertedWith("something else"));
});

check("revertedWithCustomError and withArgs", async () => {
  await expect(reverts.customErrorWithoutMessage()).to.be.revertedWithCustomError(reverts, "Unauthorized");
  await expect(reverts.customErrorWithMessage())
    .to.be.revertedWithCustomError(reverts, "UnauthorizedWithMessage")
    .withArgs(anyValue);
  await expect(token.connect(bob).transfer(alice.address, 5n))
    .to.be.revertedWithCustomError(token, "InsufficientBalance")
    .withArgs(bob.address, 0n, 5n);
});

check("revertedWithPanic", async () => {
  await expect(panics.errorCode11()).to.be.revertedWithPanic(PANIC_CODES.ARITHMETIC_OVERFLOW);
  await expect(panics.errorCode01()).to.be.revertedWithPanic(0x01);
});

check("revertedWithoutReason", async () => {
  await expect(reverts.revertWithoutMessage()).to.be.revertedWithoutReason();
});

check("reverted, of a transaction with a gas limit that fails in its block", async () => {
  await expect(reverts.revertWithMessage({ gasLimit: 100_000 })).to.be.reverted;
});

check("emit and withArgs", async () => {
  await expect(math["incrementCounter(uint256)"](5)).to.emit(math, "Increased").withArgs(anyValue);
  await expect(emitter.logString("hello")).to.emit(emitter, "LogString").withArgs("hello");
  await expect(emitter.logString("hello")).not.to.emit(emitter, "LogNoArguments");
});

check("changeEtherBalance and changeEtherBalances", async () => {
  const pay = () => alice.sendTransaction({ to: bob.address, value: 200n });
  await expect(pay).to.changeEtherBalance(bob, 200n);
  await expect(pay).to.changeEtherBalances([alice, bob], [-200n, 200n]);
});

check("changeTokenBalance and changeTokenBalances", async () => {
  await expect(() => token.transfer(bob.address, 3n)).to.changeTokenBalance(token, bob, 3n);
  await expect(() => token.transfer(bob.address, 3n)).to.changeTokenBalances(token, [alice, bob], [-3n, 3n]);
});

check("the other matchers, which ask no node", async () => {
  expect(alice.address).to.be.a.properAddress;
  expect(`0x${"11".repeat(32)}`).to.be.a.properPrivateKey;
  expect("0x12").to.be.properHex(2);
  expect("0x0012").to.hexEqual("0x12");
  expect(await math.counter()).to.be.a("bigint");
  expect(1_000n).to.equal(1_000);
});

await run();

// What the compiler of npm returns, once a run of the tests: it is the same on every layer, and takes seconds.

const { createHash } = require("node:crypto");
const { mkdirSync, readFileSync, renameSync, writeFileSync } = require("node:fs");
const { tmpdir } = require("node:os");
const { join } = require("node:path");

const folder = join(tmpdir(), "compiled");

// Return what was stored for a text, or else what `make` returns.
async function cached(text, make) {
  const path = join(folder, createHash("sha256").update(text).digest("hex"));
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
  }
  const made = await make();
  mkdirSync(folder, { recursive: true });
  // Another process may do the same, or read meanwhile.
  writeFileSync(`${path}.${process.pid}`, made);
  renameSync(`${path}.${process.pid}`, path);
  return made;
}

module.exports = {
  cached,
  compilerVersion: () => cached(require.resolve("solc/soljson.js"), () => require("solc").version()),
};

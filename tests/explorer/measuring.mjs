// What checks measure of a page: accessibility by the rules of axe, what a visit costs, the sockets it has.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { expect, until, visit } from "./harness.mjs";

const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

// What violates WCAG 2.2 AA. The policy of the page forbids to add a script, so its text is evaluated.
export async function violationsOf(page) {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(source);
  const { violations, passes } = await page.evaluate((tags) => window.axe.run(document, { runOnly: tags }), TAGS);
  expect(passes.length > 15, `only ${passes.length} rules were tried`);
  return violations.map(
    (it) =>
      `${it.id}: ${it.nodes
        .map((node) => `${node.target} ${node.failureSummary}`)
        .slice(0, 3)
        .join(" | ")}`,
  );
}

// The files that a browser receives that has nothing yet: the bytes of each, by its path.
export async function filesOf(route) {
  const seen = [];
  const measure = async (page) => {
    await page.locator("[aria-busy]").first().waitFor({ state: "detached" });
    const requests = seen.filter((it) => it.method() === "GET" && !/\/(health|openrpc\.json)$/.test(it.url()));
    return Promise.all(requests.map(async (it) => [new URL(it.url()).pathname, (await it.sizes()).responseBodySize]));
  };
  return visit(route, measure, { before: (page) => page.on("requestfinished", (it) => seen.push(it)) });
}

// How many they are, and how large together.
export async function costOf(route) {
  const files = await filesOf(route);
  const sum = (end) => files.reduce((total, [path, bytes]) => total + (path.endsWith(end) ? bytes : 0), 0);
  return { bytes: sum(""), scripts: sum(".js"), styles: sum(".css"), files: files.length };
}

// The paths of the sockets that a page has open, once there are as many as are expected.
export async function socketsOf(route, expected, options) {
  const open = new Set();
  const before = (page) =>
    page.on("websocket", (it) => {
      open.add(it);
      it.on("close", () => open.delete(it));
    });
  const ready = async (page) => {
    await page.locator(".home .tile, .bay").first().waitFor();
    await until(() => open.size >= expected);
    return [...open].map((it) => new URL(it.url()).pathname);
  };
  return visit(route, ready, { ...options, before });
}

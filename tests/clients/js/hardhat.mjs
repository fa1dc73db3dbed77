// Hardhat 2 with its configuration for the node of the test.

import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

process.env.HARDHAT_CONFIG = fileURLToPath(new URL("hardhat.config.cjs", import.meta.url));

export const require = createRequire(import.meta.url);
export const hre = require("hardhat");

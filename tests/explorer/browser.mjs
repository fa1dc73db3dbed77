// One Chromium for all files of checks, until the input ends. Its address is printed.

import { serve } from "./harness.mjs";

const server = await serve();
console.log(server.wsEndpoint());
process.stdin.on("close", async () => {
  await server.close();
  process.exit(0);
});
process.stdin.resume();

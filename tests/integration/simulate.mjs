// Simulates with viem, and prints how it decodes the responses.
import { createPublicClient, http, parseEther } from 'viem'

const [url] = process.argv.slice(2)
const client = createPublicClient({ transport: http(url) })
const rich = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const other = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const contract = '0xc100000000000000000000000000000000000000'
const poor = '0xc000000000000000000000000000000000000000'

const [block] = await client.simulateBlocks({
  blocks: [
    {
      stateOverrides: [{ address: contract, code: '0x5f5ffd' }],
      calls: [
        { account: rich, to: other, value: 1n },
        { account: rich, to: contract },
      ],
    },
  ],
  traceTransfers: true,
})
const { results, assetChanges } = await client.simulateCalls({
  account: rich,
  calls: [{ to: other, value: parseEther('1.5') }],
  traceAssetChanges: true,
})
const rejection = await client
  .simulateBlocks({ blocks: [{ calls: [{ account: poor, to: other, value: 1n }] }] })
  .catch((error) => error.name)

console.log(
  JSON.stringify({
    number: Number(block.number),
    calls: block.calls.map((call) => [call.status, Number(call.gasUsed), call.logs.length]),
    failure: block.calls[1].error.name,
    simulated: results.map((result) => result.status),
    spent: assetChanges.map((change) => [change.token.symbol, String(change.value.diff)]),
    rejection,
  }),
)

/**
 * The floors: JSON-RPC to this node's layer at `/`, and to the others at the paths that the node names.
 *
 * @typedef {{name: string, symbol: string, decimals: number, address: string}} Token by its address on layer 1
 * @typedef {{id: number, name: string, first: boolean, path: string, port: number, contract: string | null,
 *   operators: string[], token: Token, publishes: boolean, development: boolean}} ChainInfo
 * @typedef {{version: string, layer: 1 | 2, id: number, other: string | null, remote: boolean,
 *   l1: Record<string, string>, l2: Record<string, string>, operators: string[], chains: ChainInfo[]}} NodeInfo
 * @typedef {{chainId: number, number: number, hash: string, at: number}} Fork what a chain is a copy of
 */

/** @type {Token} */
export const ETHER = {
  name: "Ether",
  symbol: "ETH",
  decimals: 18,
  address: "0x0000000000000000000000000000000000000001",
};

const MAX_BATCH = 100;
const RETRY_SECONDS = [1, 2, 4, 8];
const POLL_SECONDS = 4;

/** An error that a node responded with, or why it did not respond. */
export class RpcError extends Error {
  /**
   * @param {string} method
   * @param {number} code
   * @param {string} message
   * @param {any} [data]
   */
  constructor(method, code, message, data) {
    super(message);
    this.method = method;
    this.code = code;
    this.data = data;
  }
}

/** One layer. Calls of one moment are sent as one batch. */
export class Floor {
  /**
   * @param {1 | 2} layer
   * @param {string} path where others reach it; what the page asks for by itself is not in the node's log
   * @param {boolean} remote whether it only passes reads on
   * @param {ChainInfo} [chain] what the node says of a layer 2
   */
  constructor(layer, path, remote, chain) {
    this.layer = layer;
    this.path = path;
    this.quietPath = path === "/" ? "/explorer/own" : path;
    this.remote = remote;
    /** What addresses of pages call it: `l1`, `l2`, or the id of one of several chains. */
    this.name = layer === 1 ? "l1" : node.several ? String(chain?.id) : "l2";
    /** What people call it. */
    this.title = layer === 1 ? "Ground floor" : node.several ? (chain?.name ?? "") : "Upper floor";
    /** What pays for its gas. */
    this.token = chain?.token ?? ETHER;
    this.chain = chain ?? null;
    this.chainId = chain?.id ?? 0;
    /** @type {string[]} */
    this.accounts = [];
    /** @type {Fork | null} */
    this.fork = null;
    /** @type {Set<string> | null} the methods it has, once known */
    this.methods = null;
    /** @type {{body: any, resolve: (it: any) => void, reject: (it: any) => void}[]} */
    this.queue = [];
    this.nextId = 1;
    this.socket = /** @type {Socket | null} */ (null);
  }

  /**
   * @param {string} method
   * @param {...any} params
   * @returns {Promise<any>}
   */
  call(method, ...params) {
    return new Promise((resolve, reject) => {
      const body = { jsonrpc: "2.0", id: this.nextId++, method, params };
      this.queue.push({ body, resolve, reject });
      if (this.queue.length === 1) queueMicrotask(() => this.flush());
    });
  }

  /**
   * Call a method, and return null instead of an error.
   * @param {string} method
   * @param {...any} params
   * @returns {Promise<any>}
   */
  maybe(method, ...params) {
    return this.call(method, ...params).catch(() => null);
  }

  flush() {
    const calls = this.queue;
    this.queue = [];
    for (let at = 0; at < calls.length; at += MAX_BATCH) this.post(calls.slice(at, at + MAX_BATCH));
  }

  /** @param {typeof this.queue} calls */
  async post(calls) {
    try {
      const body = calls.length === 1 ? calls[0].body : calls.map((it) => it.body);
      const response = await fetch(this.quietPath, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      const found = await response.json();
      const byId = new Map((Array.isArray(found) ? found : [found]).map((it) => [it.id, it]));
      for (const { body: request, resolve, reject } of calls) {
        const single = byId.get(request.id) ?? (Array.isArray(found) ? null : found);
        const error = single ? single.error : { code: 0, message: "no response" };
        if (error) reject(new RpcError(request.method, error.code, error.message, error.data));
        else resolve(single.result);
      }
    } catch (error) {
      for (const { body, reject } of calls)
        reject(new RpcError(body.method, 0, `The node does not respond: ${/** @type {Error} */ (error).message}`));
    }
  }

  /** @param {string} method */
  has(method) {
    return this.methods === null || this.methods.has(method);
  }

  /**
   * Report each new head, and each change of the connection.
   * @param {(head: any, isLatest?: boolean) => void} onhead `isLatest` is the block at the beginning, not a new one
   * @param {(state: string, retryAt?: number) => void} onstate
   */
  follow(onhead, onstate) {
    if (this.remote) this.poll(onhead, onstate);
    else this.socket ??= new Socket(this.quietPath, onhead, onstate);
  }

  /** Report nothing any more. */
  unfollow() {
    this.socket?.close();
    this.socket = null;
  }

  /**
   * @param {(head: any) => void} onhead
   * @param {(state: string) => void} onstate
   */
  async poll(onhead, onstate) {
    if (!document.hidden)
      await this.call("eth_getBlockByNumber", "latest", false).then(
        (head) => {
          onstate("live");
          onhead(head);
        },
        () => onstate("live"),
      );
    setTimeout(() => this.poll(onhead, onstate), POLL_SECONDS * 1000);
  }
}

/** The WebSocket of a floor, which comes back by itself. */
class Socket {
  /**
   * @param {string} path
   * @param {(head: any, isLatest?: boolean) => void} onhead
   * @param {(state: string, retryAt?: number) => void} onstate
   */
  constructor(path, onhead, onstate) {
    this.path = path;
    this.onhead = onhead;
    this.onstate = onstate;
    this.failures = 0;
    this.isWanted = true;
    this.connect();
  }

  close() {
    this.isWanted = false;
    this.socket?.close();
  }

  connect() {
    if (!this.isWanted) return;
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${this.path}`);
    this.socket = socket;
    socket.onopen = () => {
      this.failures = 0;
      socket.send('{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}');
      // What was sealed before it subscribed is not reported.
      socket.send('{"jsonrpc":"2.0","id":2,"method":"eth_getBlockByNumber","params":["latest",false]}');
      this.onstate("live");
    };
    socket.onmessage = (event) => {
      const message = JSON.parse(event.data);
      if (message.method === "eth_subscription") this.onhead(message.params.result);
      if (message.id === 2) this.onhead(message.result, true);
    };
    socket.onclose = () => {
      if (!this.isWanted) return;
      const seconds = RETRY_SECONDS[Math.min(this.failures++, RETRY_SECONDS.length - 1)];
      this.onstate("away", Date.now() + seconds * 1000);
      setTimeout(() => this.connect(), seconds * 1000);
    };
  }
}

/**
 * The layers of the node; `l2` is the first of `l2s`, and of most nodes the only one.
 * @type {{info: NodeInfo, l1: Floor | null, l2: Floor | null, l2s: Floor[], own: Floor, several: boolean}}
 */
export const node = /** @type {any} */ ({ info: null, l1: null, l2: null, l2s: [], own: null, several: false });

/** Learn which floors there are. */
export async function connect() {
  const info = /** @type {NodeInfo} */ (await (await fetch("/explorer/node.json")).json());
  node.info = info;
  node.several = info.chains.length > 1;
  const [only] = info.chains;
  const ownPath = (/** @type {ChainInfo} */ it) => (info.layer === 2 && it.id === info.id ? "/" : it.path);
  node.l1 = info.layer === 1 ? new Floor(1, "/", false) : info.other ? new Floor(1, info.other, info.remote) : null;
  if (node.several) node.l2s = info.chains.map((it) => new Floor(2, ownPath(it), false, it));
  else if (info.layer === 2) node.l2s = [new Floor(2, "/", false, only)];
  else node.l2s = info.other ? [new Floor(2, info.other, false, only)] : [];
  node.l2 = node.l2s[0] ?? null;
  node.own = /** @type {Floor} */ (
    info.layer === 1 ? node.l1 : (node.l2s.find((it) => it.chainId === info.id) ?? node.l2)
  );
  await Promise.all(floors().map(greet));
}

/** @param {Floor} floor */
export async function greet(floor) {
  const own = (/** @type {string} */ method) => (floor.remote ? null : floor.maybe(method));
  const [chainId, accounts, metadata] = await Promise.all([
    floor.call("eth_chainId").catch(() => 0),
    own("eth_accounts"),
    own("anvil_metadata"),
  ]);
  const { chainId: id, forkBlockNumber: number, forkBlockHash: hash } = metadata?.forkedNetwork ?? {};
  floor.fork = hash ? { chainId: id, number, hash, at: 0 } : null;
  if (floor.fork) floor.fork.at = Number((await floor.maybe("eth_getBlockByHash", hash, false))?.timestamp ?? 0);
  floor.chainId = Number(chainId) || floor.chainId;
  floor.accounts = accounts ?? [];
}

/** @returns {Floor[]} the upper ones first */
export const floors = () => (node.l1 ? [...node.l2s, node.l1] : node.l2s);

/**
 * @param {string} name `l1`, the id of a chain, or `l2`, which is the first one
 * @returns {Floor | null}
 */
export const floorOf = (name) =>
  name === "l1"
    ? node.l1
    : name === "l2"
      ? node.l2
      : (node.l2s.find((it) => it.name === name || String(it.chainId) === name) ?? null);

/**
 * The first block that the node has made: that of a fork is above the anchor.
 * @param {Floor | null} floor
 */
export const firstOf = (floor) => (floor?.fork?.number ?? -1) + 1;

/** @param {string} layer */
export const isUpper = (layer) => layer !== "l1";

/**
 * The token that pays for gas on a floor.
 * @param {string} layer
 */
export const tokenAt = (layer) => floorOf(layer)?.token ?? ETHER;

/**
 * The address of a contract on layer 1.
 * @param {string} name
 */
export const addressOf = (name) => Object.entries(node.info.l1).find(([, it]) => it === name)?.[0] ?? "";

/**
 * The contract of a chain on layer 1.
 * @param {Floor} floor
 */
export const contractOf = (floor) => floor.chain?.contract ?? addressOf("ZKChain");

/**
 * The colour of a layer: where a thing was born.
 * @param {string} layer
 */
export const toneOf = (layer) => (isUpper(layer) ? "l2" : "l1");

/**
 * The page of a batch.
 * @param {string} layer of its chain
 * @param {number} number
 */
export const batchHref = (layer, number) => `#/${node.several ? `${layer}/` : ""}batch/${number}`;

/**
 * The floors: JSON-RPC to this node's layer at `/`, and to the other one at the path that the node names.
 *
 * @typedef {{version: string, layer: 1 | 2, other: string | null, remote: boolean, l1: Record<string, string>,
 *   l2: Record<string, string>, operators: string[]}} NodeInfo
 */

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
   * @param {string} path
   * @param {boolean} remote whether it only passes reads on
   */
  constructor(layer, path, remote) {
    this.layer = layer;
    this.path = path;
    this.remote = remote;
    this.name = layer === 2 ? "l2" : "l1";
    this.chainId = 0;
    /** @type {string[]} */
    this.accounts = [];
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
      const response = await fetch(this.path, {
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
   * @param {(head: any) => void} onhead
   * @param {(state: string, retryAt?: number) => void} onstate
   */
  follow(onhead, onstate) {
    if (this.remote) this.poll(onhead, onstate);
    else this.socket = new Socket(this.path, onhead, onstate);
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
   * @param {(head: any) => void} onhead
   * @param {(state: string, retryAt?: number) => void} onstate
   */
  constructor(path, onhead, onstate) {
    this.path = path;
    this.onhead = onhead;
    this.onstate = onstate;
    this.failures = 0;
    this.connect();
  }

  connect() {
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${this.path}`);
    socket.onopen = () => {
      this.failures = 0;
      socket.send('{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}');
      this.onstate("live");
    };
    socket.onmessage = (event) => {
      const message = JSON.parse(event.data);
      if (message.method === "eth_subscription") this.onhead(message.params.result);
    };
    socket.onclose = () => {
      const seconds = RETRY_SECONDS[Math.min(this.failures++, RETRY_SECONDS.length - 1)];
      this.onstate("away", Date.now() + seconds * 1000);
      setTimeout(() => this.connect(), seconds * 1000);
    };
  }
}

/** @type {{info: NodeInfo, l1: Floor | null, l2: Floor | null, own: Floor}} */
export const node = /** @type {any} */ ({ info: null, l1: null, l2: null, own: null });

/** Learn which floors there are. */
export async function connect() {
  const response = await fetch("/explorer/node.json");
  const info = await response.json();
  node.info = info;
  const own = new Floor(info.layer, "/", false);
  node.own = own;
  const other = info.other ? new Floor(info.layer === 2 ? 1 : 2, info.other, info.remote) : null;
  node.l2 = own.layer === 2 ? own : other;
  node.l1 = own.layer === 1 ? own : other;
  await Promise.all(floors().map(greet));
}

/** @param {Floor} floor */
async function greet(floor) {
  const [chainId, accounts] = await Promise.all([
    floor.call("eth_chainId").catch(() => 0),
    floor.remote ? [] : floor.maybe("eth_accounts"),
  ]);
  floor.chainId = Number(chainId);
  floor.accounts = accounts ?? [];
}

/** @returns {Floor[]} the upper one first */
export function floors() {
  return /** @type {Floor[]} */ ([node.l2, node.l1].filter(Boolean));
}

/**
 * @param {string} name `l1` or `l2`
 * @returns {Floor | null}
 */
export const floorOf = (name) => (name === "l1" ? node.l1 : name === "l2" ? node.l2 : null);

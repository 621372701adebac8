// Many WebSocket clients in a separate process, controlled by messages of the parent process.
import { type RawData, WebSocket } from "ws";
import { Tally } from "../harness/tally.ts";

export type Order =
  | { readonly open: number; readonly port: number }
  /** Total requests over all connections, and how many at a time on each. */
  | { readonly echo: number; readonly window: number };

/** Each address has its own local ports, so ten thousand connections need several addresses. */
const SOURCES = ["127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"];
/** Handshakes at a time. */
const OPENING = 100;
const TEXT = "what is still open in this review, and who has looked at it last?";

class Client {
  readonly #ws: WebSocket;
  readonly #answers: Tally;
  readonly #open = new Set<number>();
  #lastId = 0;
  #left = 0;

  constructor(ws: WebSocket, answers: Tally) {
    this.#ws = ws;
    this.#answers = answers;
    ws.on("message", (data: RawData) => this.#answered((data as Buffer).toString()));
    ws.on("close", (code) => answers.wrong(`A connection was closed: ${code}`));
  }

  echo(count: number, window: number): void {
    this.#left = count;
    for (let i = 0; i < window && i < count; i++) this.#ask();
  }

  #ask(): void {
    this.#left--;
    const id = ++this.#lastId;
    this.#open.add(id);
    this.#ws.send(`{"jsonrpc":"2.0","id":${id},"method":"echo","params":{"text":"${TEXT} ${id}"}}`);
  }

  #answered(text: string): void {
    const { id, result } = JSON.parse(text) as { id: number; result: { text: string } };
    if (!this.#open.delete(id) || result.text !== `${TEXT} ${id}`) {
      this.#answers.wrong(`This is no answer to any request: ${text}`);
      return;
    }
    if (this.#left > 0) this.#ask();
    this.#answers.add();
  }
}

const answers = new Tally();
const clients: Client[] = [];

async function open(count: number, port: number): Promise<void> {
  const end = clients.length + count;
  while (clients.length < end) {
    const some = Math.min(OPENING, end - clients.length);
    clients.push(...(await Promise.all(Array.from({ length: some }, (_, i) => connect(port, i)))));
  }
}

function connect(port: number, at: number): Promise<Client> {
  const localAddress = SOURCES[at % SOURCES.length];
  const ws = new WebSocket(`ws://127.0.0.1:${port}/`, { localAddress, perMessageDeflate: false });
  return new Promise((resolve, reject) => {
    ws.once("error", reject);
    ws.once("open", () => resolve(new Client(ws, answers)));
  });
}

/** Returns the milliseconds it took. */
async function echo(count: number, window: number): Promise<number> {
  const start = performance.now();
  const all = answers.reach(answers.count + count);
  for (const client of clients) client.echo(count / clients.length, window);
  await all;
  return performance.now() - start;
}

async function obey(order: Order): Promise<void> {
  if ("open" in order) await open(order.open, order.port);
  const took = "echo" in order ? await echo(order.echo, order.window) : 0;
  process.send?.(took);
}

process.on("message", (order: Order) => void obey(order));
process.on("disconnect", () => process.exit());

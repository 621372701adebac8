import { AcpLine } from "../test/support/chaos/acp-line.ts";
import { FleetRig } from "../test/support/fleet-rig.ts";
import { noNats } from "../test/support/nats-server.ts";
import type { ServedGateway } from "../test/support/served-gateway.ts";
import type { Bench, Sample, Variant } from "./harness/bench.ts";
import { cpuTime } from "./harness/cpu-time.ts";
import { residentSize } from "./harness/resident-size.ts";

const ALONE = "one process";
const FLEET = "gateway, 1 worker";
const STREAMING = 16;
/** Milliseconds. */
const PATIENCE = 300_000;

const FREE = { rate: { limit: 1_000_000, windowMs: 1_000 } };
/** Every update is sent, and none is merged with the next. */
const MESSAGES = { "session/update": FREE, "session/prompt": FREE, "session/new": FREE };
const CONFIG = { limits: { messages: MESSAGES } };

/** The whole way of an update, from the agent to a client's WebSocket, without and with a fleet. */
export const fleetSessions: Bench = {
  name: "fleet-sessions",
  plan: async ({ quick }) => {
    const open = quick ? 50 : 200;
    const each = quick ? 200 : 2_000;
    const sizes = { open, each };
    const variants: Variant[] = [{ name: ALONE, measure: () => measure(0, sizes) }];
    if (noNats === false) variants.push({ name: FLEET, measure: () => measure(1, sizes) });
    return {
      describe: `${open} sessions are opened one after the other, ${STREAMING} of them stream ${each} updates each to a WebSocket`,
      rounds: quick ? 2 : 5,
      quantities: [
        { key: "cpu", label: "CPU an update", unit: "µs", digits: 0 },
        { key: "worker", label: "of workers", unit: "µs", digits: 0 },
        { key: "nats", label: "of NATS", unit: "µs", digits: 0 },
        { key: "perSecond", label: "updates/s", unit: "", digits: 0 },
        { key: "begin", label: "session/new", unit: "ms", digits: 1 },
        { key: "beginCpu", label: "its CPU", unit: "ms", digits: 2 },
        { key: "memory", label: "memory a session", unit: "KB", digits: 0 },
      ],
      variants,
      ...(noNats === false ? {} : { skipped: [{ name: FLEET, reason: noNats }] }),
      comparisons: [
        {
          row: "ACP update through a fleet, against one process",
          ...{ quantity: "cpu", of: FLEET, against: ALONE },
        },
        {
          row: "`session/new` in a fleet, against one process",
          ...{ quantity: "begin", of: FLEET, against: ALONE },
        },
      ],
    };
  },
};

interface Sizes {
  readonly open: number;
  readonly each: number;
}

/** The processes that do the work, without the agents. */
interface Place {
  readonly gateway: ServedGateway;
  readonly workers: readonly number[];
  /** Of NATS; undefined where there is none. */
  readonly nats: number | undefined;
  readonly folder: string;
}

async function measure(workers: number, sizes: Sizes): Promise<Sample> {
  await using rig = await FleetRig.start(CONFIG);
  const pids: number[] = [];
  for (let at = 1; at <= workers; at++) {
    const { child } = await rig.worker(`w${at}`, "--slots", "1000");
    pids.push(child.pid ?? NaN);
  }
  const gateway = workers === 0 ? await rig.alone("g") : await rig.gateway("g");
  const nats = workers === 0 ? undefined : rig.nats.pid;
  return await measureAt({ gateway, workers: pids, nats, folder: rig.folder }, sizes);
}

async function measureAt(place: Place, { open, each }: Sizes): Promise<Sample> {
  const { gateway, workers, nats, folder } = place;
  const own = gateway.program.child.pid ?? NaN;
  const all = [own, ...workers];
  const cpu = (pids: readonly number[]): number => pids.reduce((sum, pid) => sum + cpuTime(pid), 0);
  const size = (): number => all.reduce((sum, pid) => sum + residentSize(pid), 0);
  using clients = new DisposableStack();
  const { acp } = gateway.ready;
  const begin = async (): Promise<Client> => {
    const client = clients.use(await Client.connect(acp, gateway.headers));
    await client.begin(folder);
    return client;
  };
  // Each worker starts its agent, and loads its code.
  for (let at = 0; at < 8 * Math.max(1, workers.length); at++) await (await begin()).stream(20);
  const memoryBefore = size();
  const [beginCpu, begun] = [cpu(all), performance.now()];
  const opened: Client[] = [];
  for (let at = 0; at < open; at++) opened.push(await begin());
  const beginTook = performance.now() - begun;
  const beginUsed = cpu(all) - beginCpu;
  const memory = (size() - memoryBefore) / open;
  const streaming = opened.slice(0, STREAMING);
  const run = async (count: number): Promise<void> => {
    await Promise.all(streaming.map((client) => client.stream(count)));
  };
  await run(each / 4);
  const before = {
    all: cpu(all),
    workers: cpu(workers),
    nats: cpu(nats === undefined ? [] : [nats]),
  };
  const since = performance.now();
  await run(each);
  const took = performance.now() - since;
  const updates = each * STREAMING;
  return {
    cpu: (cpu(all) - before.all) / updates,
    worker: (cpu(workers) - before.workers) / updates,
    nats: (cpu(nats === undefined ? [] : [nats]) - before.nats) / updates,
    perSecond: (updates * 1000) / took,
    begin: beginTook / open,
    beginCpu: beginUsed / open / 1000,
    memory,
  };
}

/** A client with one session, which checks that every update comes, in order. */
class Client implements Disposable {
  #line!: AcpLine;
  #id = "";
  #next = 0;
  #wrong: string | undefined;

  static async connect(acp: string, headers: Readonly<Record<string, string>>): Promise<Client> {
    const client = new Client();
    client.#line = await AcpLine.connect(acp, headers, ({ params }) => {
      const text: unknown = params?.update?.content?.text;
      if (typeof text !== "string") return;
      if (text !== `${client.#next} `) client.#wrong ??= `'${text}' came for ${client.#next}`;
      client.#next++;
    });
    return client;
  }

  async begin(cwd: string): Promise<void> {
    const { result, error } = await this.#line.ask(
      "session/new",
      { cwd, mcpServers: [] },
      PATIENCE,
    );
    if (error !== undefined) throw new Error(JSON.stringify(error));
    this.#id = result.sessionId;
  }

  async stream(count: number): Promise<void> {
    this.#next = 0;
    const prompt = [{ type: "text", text: `stream ${count}` }];
    const { error } = await this.#line.ask(
      "session/prompt",
      { sessionId: this.#id, prompt },
      PATIENCE,
    );
    if (error !== undefined) throw new Error(JSON.stringify(error));
    const isWhole = this.#next === count && this.#wrong === undefined;
    if (!isWhole) throw new Error(this.#wrong ?? `${this.#next} of ${count} updates came`);
  }

  [Symbol.dispose](): void {
    this.#line[Symbol.dispose]();
  }
}

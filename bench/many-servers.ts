import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { echoCall, INITIALIZE } from "./echo-call.ts";
import type { Bench, Sample, Variant } from "./harness/bench.ts";
import { cpuTime } from "./harness/cpu-time.ts";
import { processTree } from "./harness/process-tree.ts";
import { Program } from "./harness/program.ts";
import { type Exchange, StdioLoad } from "./harness/stdio-load.ts";

const WARM_UP = 20_000;
const UPSTREAM = join(import.meta.dirname, "servers", "mcp-upstream.mjs");

/** What further MCP servers cost, for calls that are spread over all of them. */
export const manyServersCalled: Bench = {
  name: "servers-called",
  plan: async ({ quick }) => {
    const calls = quick ? 20_000 : 100_000;
    const homes = await Homes.of(1, 10);
    return {
      describe: `\`trunkline mcp\` on stdio with several servers, ${calls} pipelined calls`,
      rounds: quick ? 5 : 9,
      quantities: [{ key: "cpu", label: "CPU", unit: "µs", digits: 2 }],
      variants: homes.variants((home) => measureCalls(home, calls)),
      comparisons: [
        {
          row: "MCP call, spread over ten servers, against one",
          ...{ quantity: "cpu", of: counted(10), against: counted(1), atMost: 1.25 },
        },
      ],
      end: () => homes.remove(),
    };
  },
};

/** The same, for the list of their tools from the second start on: no server is started for it. */
export const manyServersListed: Bench = {
  name: "servers-listed",
  plan: async ({ quick }) => {
    const homes = await Homes.of(1, 50, 100);
    return {
      describe: "`trunkline mcp` started for the second time, until tools/list",
      rounds: quick ? 9 : 31,
      quantities: [{ key: "cpu", label: "CPU", unit: "ms", digits: 1 }],
      variants: homes.variants(measureList),
      comparisons: [
        {
          row: "start to `tools/list` with 50 servers, from the second on, against one",
          ...{ quantity: "cpu", of: counted(50), against: counted(1), atMost: 1.5 },
        },
        { quantity: "cpu", of: counted(100), against: counted(1) },
      ],
      end: () => homes.remove(),
    };
  },
};

function counted(servers: number): string {
  return servers === 1 ? "1 server" : `${servers} servers`;
}

type DisposableTempDir = Awaited<ReturnType<typeof mkdtempDisposable>>;

/** A data folder in which some servers are configured, and known from a first start. */
class Home {
  readonly servers: number;
  readonly #folder: DisposableTempDir;

  private constructor(servers: number, folder: DisposableTempDir) {
    this.servers = servers;
    this.#folder = folder;
  }

  static async make(servers: number): Promise<Home> {
    const home = new Home(servers, await mkdtempDisposable(join(tmpdir(), "trunkline-bench-")));
    // The catalogues are written, and Node's compile cache with the end of the program.
    for (let start = 0; start < 2; start++) {
      await using program = home.start();
      const load = new StdioLoad(program, home.echo);
      await load.open("initialize", INITIALIZE);
      await load.list();
      await load.pipeline(servers);
      await program.finish();
    }
    return home;
  }

  start(): Program {
    const user = this.#folder.path;
    const names = Array.from({ length: this.servers }, (_, at) => `s${at + 1}`);
    const server = { command: process.execPath, args: [UPSTREAM] };
    const table = JSON.stringify(Object.fromEntries(names.map((name) => [name, server])));
    const env = { HOME: user, XDG_CACHE_HOME: join(user, "cache"), XDG_CONFIG_HOME: user };
    const args = ["mcp", "--data", join(user, "data"), "--set", `mcpServers=${table}`];
    return new Program(["dist/trunkline.js", ...args], { env });
  }

  /** Each call goes to the next server. The first one's tool has the plain name. */
  get echo(): Exchange {
    const { servers } = this;
    return {
      request: (id) => {
        const at = id % servers;
        const name = at === 0 ? "echo" : `s${at + 1}_echo`;
        return echoCall.request(id).replace('"name":"echo"', `"name":"${name}"`);
      },
      isRight: echoCall.isRight,
    };
  }

  async remove(): Promise<void> {
    await this.#folder.remove();
  }
}

class Homes {
  readonly #all: readonly Home[];

  private constructor(all: readonly Home[]) {
    this.#all = all;
  }

  /** One for each number of servers. */
  static async of(...numbers: readonly number[]): Promise<Homes> {
    const all: Home[] = [];
    for (const servers of numbers) all.push(await Home.make(servers));
    return new Homes(all);
  }

  variants(measure: (home: Home) => Promise<Sample>): Variant[] {
    return this.#all.map((home) => ({
      name: counted(home.servers),
      measure: () => measure(home),
    }));
  }

  async remove(): Promise<void> {
    for (const home of this.#all) await home.remove();
  }
}

async function measureCalls(home: Home, calls: number): Promise<Sample> {
  await using program = home.start();
  const load = new StdioLoad(program, home.echo);
  await load.open("initialize", INITIALIZE);
  await load.list();
  await load.pipeline(WARM_UP);
  const cpu = cpuTime(program.pid);
  await load.pipeline(calls);
  const sample = { cpu: (cpuTime(program.pid) - cpu) / calls };
  await program.finish();
  return sample;
}

async function measureList(home: Home): Promise<Sample> {
  await using program = home.start();
  const load = new StdioLoad(program, home.echo);
  await load.open("initialize", INITIALIZE);
  const { tools } = (await load.list()) as { readonly tools: readonly unknown[] };
  const cpu = cpuTime(program.pid) / 1000;
  if (tools.length < home.servers) throw new Error(`Only ${tools.length} tools were listed`);
  if (processTree(program.pid).length > 1) throw new Error("A server was started for a list");
  await program.finish();
  return { cpu };
}

import { gatewaySources } from "./gateway-sources.ts";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { type FleetFlags, fleetValues } from "../../src/config/fleet-flags.ts";
import { loadConfig } from "../../src/config/load.ts";
import { openFleetGateway } from "../../src/app/fleet/fleet-gateway.ts";
import { openWorker } from "../../src/app/fleet/worker.ts";
import { AppContext } from "../../src/config/app-context.ts";
import { openHttpServer } from "../../src/app/serve/http-server.ts";
import { openTools } from "../../src/app/tool/open-tools.ts";
import { AcpSocket } from "./acp-socket.ts";
import { NatsServer } from "./nats-server.ts";
import { type Ran, runInProcess } from "./run-in-process.ts";

const AGENT = join(import.meta.dirname, "acp-agent.mjs");
/** The tools of other nodes need approvals. */
const KIND = { isLasting: true, hasOwnBus: true, isShared: true, needsApprovals: true };

/**
 * Gateways and workers in this process, on a real NATS server. They cannot be killed (see `FleetRig`), but
 * ten of them take no more processor time than one that is a process.
 */
export class FleetInProcess implements AsyncDisposable {
  readonly nats: NatsServer;
  readonly folder = mkdtempSync(join(tmpdir(), "trunkline-fleet-"));
  readonly #nodes = new Map<string, AsyncDisposableStack>();

  readonly #config: object;

  private constructor(nats: NatsServer, config: object) {
    this.nats = nats;
    this.#config = config;
  }

  /** `config` is added to the configuration of all nodes. */
  static async start(config: object = {}): Promise<FleetInProcess> {
    return new FleetInProcess(await NatsServer.start(), config);
  }

  async worker(name: string, flags: FleetFlags = {}): ReturnType<typeof openWorker> {
    const { app, opened } = await this.#open(name, flags);
    const { offer } = opened.use(await openTools(app, KIND));
    return opened.use(await openWorker(app, { offer, isTyped: true }));
  }

  /** Gives the address for clients. */
  async gateway(name: string, flags: FleetFlags = {}): Promise<string> {
    const { app, opened } = await this.#open(name, flags);
    const tools = opened.use(await openTools(app, KIND));
    const { offer } = tools;
    const fleet = opened.use(await openFleetGateway(app, { offer, isTyped: true }));
    const { sharing } = fleet;
    const sources = { ...gatewaySources(offer), tools, fleet: fleet.view };
    const server = await openHttpServer(app, { noAuth: true, sharing, sources });
    opened.defer(() => server.close(0));
    // As `trunkline serve` does: from the start it notices which sessions move.
    await server.holder();
    fleet.join(server.localUrl);
    return `${server.localUrl}/acp`.replace("http", "ws");
  }

  client(gateway: string): Promise<AcpSocket> {
    return AcpSocket.connect(gateway);
  }

  /** Runs a command of the command line, with the fleet's address. */
  command(...words: readonly string[]): Promise<Ran> {
    const where = ["--bus", this.nats.url, "--data", join(this.folder, "cli")];
    return runInProcess([...words, ...where], { env: { HOME: this.folder }, cwd: this.folder });
  }

  /** Ends a node as a service manager does. */
  async stop(name: string): Promise<void> {
    await this.#nodes.get(name)?.disposeAsync();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const name of this.#nodes.keys()) await this.stop(name);
    await this.nats[Symbol.asyncDispose]();
    rmSync(this.folder, { recursive: true });
  }

  async #open(
    name: string,
    flags: FleetFlags,
  ): Promise<{ app: AppContext; opened: AsyncDisposableStack }> {
    const data = join(this.folder, name);
    mkdirSync(data, { recursive: true, mode: 0o700 });
    const config = `${data}.json`;
    const other = { command: process.execPath, args: [AGENT, "--loads"] };
    writeFileSync(
      config,
      JSON.stringify({
        agent: "other",
        agents: { other },
        log: { level: "error" },
        ...this.#config,
      }),
    );
    const more = fleetValues({ bus: this.nats.url, name, ...flags });
    const input = {
      cwd: this.folder,
      env: { HOME: this.folder },
      flags: { config, data, port: "0", more },
    };
    const opened = new AsyncDisposableStack();
    this.#nodes.set(name, opened);
    return { app: new AppContext((await loadConfig(input)).config), opened };
  }
}

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { AcpSocket } from "./acp-socket.ts";
import { type NatsPlace, NatsServer } from "./nats-server.ts";
import { Program, type ProgramOptions } from "./program.ts";
import { ServedGateway } from "./served-gateway.ts";

const AGENT = join(import.meta.dirname, "acp-agent.mjs");

/** Gateways and workers as processes, each with a data folder of its own, and a real NATS server. */
export class FleetRig implements AsyncDisposable {
  readonly nats: NatsServer;
  /** All servers of NATS. */
  readonly servers: readonly NatsServer[];
  readonly folder = mkdtempSync(join(tmpdir(), "trunkline-fleet-"));
  readonly #config: object;
  readonly #own = new Map<string, object>();
  readonly #programs = new Map<string, Program>();

  private constructor(servers: readonly [NatsServer, ...NatsServer[]], config: object) {
    this.servers = servers;
    this.nats = servers[0];
    this.#config = config;
  }

  /**
   * `config` is the configuration of all nodes, beside an agent that does what prompts say; `settings` is
   * added to that of nats-server.
   */
  static async start(config: object = {}, settings = ""): Promise<FleetRig> {
    return new FleetRig([await NatsServer.start(settings)], config);
  }

  /** With a cluster of three servers of NATS, which all keep each message. */
  static async clustered(config: object = {}, places?: readonly NatsPlace[]): Promise<FleetRig> {
    const servers = places === undefined ? NatsServer.cluster(3) : NatsServer.spread(places);
    const [one, ...others] = await servers;
    assert.ok(one !== undefined);
    return new FleetRig([one, ...others], { ...config, fleet: { replicas: 3 } });
  }

  /** Adds to the configuration of a node that is started later. */
  configure(name: string, config: object): void {
    this.#own.set(name, config);
  }

  async worker(name: string, ...args: string[]): Promise<Program> {
    return await this.workerOf({}, name, ...args);
  }

  /** A worker of another program than that of this checkout. */
  async workerOf(options: ProgramOptions, name: string, ...args: string[]): Promise<Program> {
    const program = new Program(["worker", "--json", ...this.#args(name), ...args], options);
    await program.until(({ lines }) => lines.length > 0);
    await this.#keep(name, program);
    return program;
  }

  async gateway(name: string, ...args: string[]): Promise<ServedGateway> {
    const gateway = await ServedGateway.start([...this.#args(name), ...args]);
    await this.#keep(name, gateway.program);
    return gateway;
  }

  /** A gateway that is no part of the fleet, with the same configuration. */
  async alone(name: string): Promise<ServedGateway> {
    const args = this.#args(name);
    const gateway = await ServedGateway.start(args.slice(args.indexOf("--data")));
    await this.#keep(name, gateway.program);
    return gateway;
  }

  /** A command of the command line, with the fleet's address. */
  command(words: readonly string[], ...args: string[]): Program {
    return new Program([...words, "--bus", this.#bus, "--data", join(this.folder, "cli"), ...args]);
  }

  /** A command of the command line on the data folder of a node. */
  local(node: string, ...words: readonly string[]): Program {
    return new Program([...words, "--data", this.dataOf(node)]);
  }

  /** The same with the configuration of the node, as its user runs it. */
  commandAt(node: string, ...words: readonly string[]): Program {
    const args = this.#args(node);
    const name = args.indexOf("--name");
    return new Program([...words, ...args.toSpliced(name, 2)]);
  }

  async client({ ready, headers }: ServedGateway): Promise<AcpSocket> {
    return await AcpSocket.connect(ready.acp, headers);
  }

  /** Ends a node as a crash does. */
  async kill(name: string): Promise<void> {
    const program = this.#programs.get(name);
    program?.child.kill("SIGKILL");
    await program?.exit;
  }

  /** Ends a node as a service manager does. */
  async stop(name: string): Promise<void> {
    const program = this.#programs.get(name);
    program?.child.kill("SIGTERM");
    await program?.exit;
  }

  dataOf(name: string): string {
    return join(this.folder, name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const program of this.#programs.values()) {
      program.child.kill("SIGCONT");
      program.child.kill("SIGTERM");
      await program.exit;
      await program[Symbol.asyncDispose]();
    }
    await Promise.all(this.servers.map((server) => server[Symbol.asyncDispose]()));
    rmSync(this.folder, { recursive: true });
  }

  /** Under its name, in the place of a process that has ended. */
  async #keep(name: string, program: Program): Promise<void> {
    await this.#programs.get(name)?.[Symbol.asyncDispose]();
    this.#programs.set(name, program);
  }

  get #bus(): string {
    return this.servers.map(({ url }) => url).join(",");
  }

  #args(name: string): string[] {
    const data = this.dataOf(name);
    mkdirSync(data, { recursive: true, mode: 0o700 });
    const file = `${data}.jsonc`;
    const other = { command: process.execPath, args: [AGENT, "--loads"] };
    const config = { agent: "other", agents: { other }, ...this.#config, ...this.#own.get(name) };
    writeFileSync(file, JSON.stringify(config));
    return ["--bus", this.#bus, "--name", name, "--data", data, "--config", file];
  }
}

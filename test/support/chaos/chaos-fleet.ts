import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { mountsBelow } from "../remote-run/run-leftovers.ts";
import { NatsServer } from "../nats-server.ts";
import { Program } from "../program.ts";
import { CutProxy } from "./cut-proxy.ts";

const AGENT = join(import.meta.dirname, "../acp-agent.mjs");

export type Role = "worker" | "gateway";

/** Where clients of a gateway connect. */
export interface Address {
  readonly acp: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A gateway or worker as a process, with its own way to NATS. It can be killed and started again. */
export class ChaosNode {
  readonly name: string;
  readonly role: Role;
  readonly proxy: CutProxy;
  readonly #args: readonly string[];
  readonly #env: Readonly<Record<string, string>>;
  #program: Program | undefined;
  #ended = "";
  /** Of a gateway that runs. */
  address: Address | undefined;
  /** Nothing is wrong with it. */
  isUp = false;

  constructor(role: Role, name: string, proxy: CutProxy, start: StartOptions) {
    this.role = role;
    this.name = name;
    this.proxy = proxy;
    this.#args = start.args;
    this.#env = start.env;
  }

  get pid(): number {
    return this.#program?.child.pid ?? NaN;
  }

  /** What all its processes have logged. */
  get log(): string {
    return this.#ended + (this.#program?.stderr ?? "");
  }

  async start(): Promise<void> {
    const words = this.role === "worker" ? ["worker"] : ["serve", "--port", "0"];
    const program = new Program([...words, "--json", "--bus", this.proxy.url, ...this.#args], {
      env: this.#env,
    });
    this.#program = program;
    await program.until(({ lines }) => lines.length > 0);
    const { acp, tokenFile } = JSON.parse(program.lines[0] ?? "") as Record<string, string>;
    if (acp !== undefined && tokenFile !== undefined) {
      const authorization = `Bearer ${readFileSync(tokenFile, "utf8").trim()}`;
      this.address = { acp, headers: { authorization } };
    }
    this.isUp = true;
  }

  async kill(): Promise<void> {
    this.isUp = false;
    this.address = undefined;
    await this.#end("SIGKILL");
  }

  pause(): void {
    this.isUp = false;
    this.#program?.child.kill("SIGSTOP");
  }

  wake(): void {
    this.#program?.child.kill("SIGCONT");
    this.isUp = true;
  }

  cut(): void {
    this.isUp = false;
    this.proxy.cut();
  }

  mend(isReset: boolean): void {
    this.proxy.mend(isReset);
    this.isUp = true;
  }

  /** Ends it as an operator would. Returns its exit code. */
  async stop(): Promise<number | NodeJS.Signals | undefined> {
    this.isUp = false;
    return await this.#end("SIGTERM");
  }

  async #end(signal: NodeJS.Signals): Promise<number | NodeJS.Signals | undefined> {
    const program = this.#program;
    this.#program = undefined;
    program?.child.kill(signal);
    const code = await program?.exit;
    this.#ended += program?.stderr ?? "";
    await program?.[Symbol.asyncDispose]();
    return code;
  }
}

interface StartOptions {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export interface ChaosFleetOptions {
  readonly gateways: number;
  readonly workers: number;
  /** Sessions that one worker may have open. */
  readonly slots: number;
  /** The configuration of all nodes, beside an agent that does what prompts say. */
  readonly config?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
  /** Called for each node before it is started. */
  readonly prepare?: (name: string, fleet: ChaosFleet) => Promise<void>;
}

/** Gateways and workers as processes, each with a data folder of its own, and a real NATS server. */
export class ChaosFleet implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), "trunkline-chaos-"));
  readonly nats: NatsServer;
  readonly nodes: ChaosNode[] = [];
  readonly #options: ChaosFleetOptions;

  private constructor(nats: NatsServer, options: ChaosFleetOptions) {
    this.nats = nats;
    this.#options = options;
  }

  static async start(options: ChaosFleetOptions): Promise<ChaosFleet> {
    const fleet = new ChaosFleet(await NatsServer.start(), options);
    try {
      for (let at = 1; at <= options.workers; at++) await fleet.#add("worker", `w${at}`);
      for (let at = 1; at <= options.gateways; at++) await fleet.#add("gateway", `g${at}`);
      await Promise.all(fleet.nodes.map(async ({ name }) => options.prepare?.(name, fleet)));
      await Promise.all(fleet.nodes.map((node) => node.start()));
      return fleet;
    } catch (error) {
      await fleet[Symbol.asyncDispose]();
      throw error;
    }
  }

  of(role: Role): ChaosNode[] {
    return this.nodes.filter((node) => node.role === role);
  }

  dataOf(name: string): string {
    return join(this.folder, name);
  }

  configOf(name: string): string {
    return join(this.folder, `${name}.jsonc`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const node of this.nodes) {
      node.wake();
      node.mend(true);
    }
    await Promise.all(this.nodes.map((node) => node.stop()));
    for (const { proxy } of this.nodes) await proxy[Symbol.asyncDispose]();
    await this.nats[Symbol.asyncDispose]();
    // A failed test reports its own error; a mount that is left must not hide it.
    for (const at of mountsBelow(this.folder)) execFileSync("umount", ["--lazy", at]);
    rmSync(this.folder, { recursive: true });
  }

  async #add(role: Role, name: string): Promise<void> {
    const { slots, config, env = {} } = this.#options;
    const data = this.dataOf(name);
    mkdirSync(data, { recursive: true, mode: 0o700 });
    const agents = { other: { command: process.execPath, args: [AGENT, "--loads"] } };
    const rate = { rate: { limit: 10_000, windowMs: 60_000 } };
    const messages = { "session/prompt": rate, "session/new": rate };
    const full = { agent: "other", agents, limits: { messages }, ...config };
    writeFileSync(this.configOf(name), JSON.stringify(full));
    const args = ["--name", name, "--data", data, "--config", this.configOf(name)];
    if (role === "worker") args.push("--slots", String(slots));
    const proxy = await CutProxy.start(this.nats.port);
    this.nodes.push(new ChaosNode(role, name, proxy, { args, env }));
  }
}

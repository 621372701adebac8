import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { freePort } from "./free-port.ts";

const NATS = ["nats-server", "/usr/sbin/nats-server"].find(
  (command) => spawnSync(command, ["--version"]).error === undefined,
);

/** How often it is started if its port is taken. */
const MOST_TRIES = 100;

/** Why there is no NATS server; false where there is. */
export const noNats: string | false =
  NATS === undefined ? "needs nats-server: apt-get install nats-server" : false;

/** Where a server runs. */
export interface NatsPlace {
  readonly host: string;
  /** A command that runs it in a network, and whose process becomes it. */
  readonly within?: readonly string[];
}

const LOOPBACK: NatsPlace = { host: "127.0.0.1" };

/** A real NATS server with JetStream, in a folder of its own, which it keeps when it is started again. */
export class NatsServer implements AsyncDisposable {
  readonly port: number;
  readonly #folder: string;
  readonly #place: NatsPlace;
  #child: ChildProcess;

  private constructor(port: number, folder: string, place: NatsPlace) {
    this.port = port;
    this.#folder = folder;
    this.#place = place;
    this.#child = run(folder, place);
  }

  /** `settings` is added to its configuration, such as users and TLS. */
  static async start(settings = "", place: NatsPlace = LOOPBACK): Promise<NatsServer> {
    const folder = mkdtempSync(join(tmpdir(), "trunkline-nats-"));
    const port = await freePort();
    configure(folder, port, settings, place);
    const server = new NatsServer(port, folder, place);
    await server.#listening(MOST_TRIES);
    return server;
  }

  /** Servers of one cluster, each in a place of its own. */
  static async spread(places: readonly NatsPlace[]): Promise<NatsServer[]> {
    const routes = places.map(({ host }) => `nats://${host}:6222`).join(", ");
    const settings = ({ host }: NatsPlace) =>
      `cluster { name: c, host: ${host}, port: 6222, routes: [${routes}] }`;
    return await Promise.all(places.map((place) => NatsServer.start(settings(place), place)));
  }

  /** Servers of one cluster, which elect a leader when more than half of them are there. */
  static async cluster(count: number): Promise<NatsServer[]> {
    const ports: number[] = [];
    for (let at = 0; at < count; at++) ports.push(await freePort());
    const routes = ports.map((port) => `nats://127.0.0.1:${port}`).join(", ");
    const settings = (port: number) =>
      `cluster { name: c, host: 127.0.0.1, port: ${port}, routes: [${routes}] }`;
    return await Promise.all(ports.map((port) => NatsServer.start(settings(port))));
  }

  get url(): string {
    return `nats://${this.#place.host}:${this.port}`;
  }

  /** What JetStream keeps on disk. */
  get data(): string {
    return join(this.#folder, "data");
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Ends it at once, as a crash does. */
  async kill(): Promise<void> {
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await ended;
  }

  /** Stops it (SIGSTOP), and waits until none of its threads runs any more, where that can be seen. */
  async pause(): Promise<void> {
    this.#child.kill("SIGSTOP");
    const folder = `/proc/${this.pid}/task`;
    while (existsSync(folder) && readdirSync(folder).some((thread) => runs(join(folder, thread)))) {
      await delay(1);
    }
  }

  resume(): void {
    this.#child.kill("SIGCONT");
  }

  /** Starts it again with the same data. */
  async restart(): Promise<void> {
    rmSync(join(this.#folder, "log"));
    this.#child = run(this.#folder, this.#place);
    await this.#listening(MOST_TRIES);
  }

  /** Gives it other settings while it runs. */
  async reload(settings: string): Promise<void> {
    configure(this.#folder, this.port, settings, this.#place);
    const reloads = (): number => this.#log.split("Reloaded server configuration").length;
    const before = reloads();
    this.#child.kill("SIGHUP");
    while (reloads() === before) await delay(20);
  }

  get #log(): string {
    return readFileSync(join(this.#folder, "log"), "utf8");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) await this.kill();
    rmSync(this.#folder, { recursive: true });
  }

  async #listening(tries: number): Promise<void> {
    while (!(await greets(this.#place.host, this.port, basename(this.#folder)))) {
      const { exitCode, signalCode } = this.#child;
      await delay(20);
      if (exitCode === null && signalCode === null) continue;
      // Another test may just look whether the port is free (free-port.ts).
      if (tries > 1 && this.#log.includes("address already in use")) {
        this.#child = run(this.#folder, this.#place);
        return this.#listening(tries - 1);
      }
      throw new Error(`nats-server ended with ${signalCode ?? exitCode}: ${this.#log}`);
    }
  }
}

function configure(folder: string, port: number, settings: string, { host }: NatsPlace): void {
  writeFileSync(
    join(folder, "nats.conf"),
    `server_name: ${basename(folder)}\nhost: ${host}\nport: ${port}\njetstream { store_dir: "${folder}/data" }\n${settings}\n`,
  );
}

function run(folder: string, { within = [] }: NatsPlace): ChildProcess {
  const options = ["-c", join(folder, "nats.conf"), "-l", join(folder, "log")];
  const [command = "", ...args] = [...within, NATS ?? "nats-server", ...options];
  return spawn(command, args, { stdio: "ignore" });
}

function runs(thread: string): boolean {
  // After the name, which may contain anything.
  const state = /\) (\w)/.exec(readFileSync(join(thread, "stat"), "latin1"));
  return state?.[1] !== "T";
}

/** Whether the server of this name listens: a port may be taken by somebody else. */
async function greets(host: string, port: number, name: string): Promise<boolean> {
  const socket = connect(port, host).setTimeout(5_000, () => socket.destroy());
  try {
    const [info] = await Promise.race([once(socket, "data"), once(socket, "close")]);
    return String(info).includes(`"server_name":"${name}"`);
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

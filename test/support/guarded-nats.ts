import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { errors, nkeys } from "@nats-io/transport-node";

import { FleetConnection } from "../../src/fleet/connection/connect.ts";
import { type FleetUser, userSettings } from "../../src/fleet/connection/credentials.ts";
import { subjectsOf } from "../../src/fleet/subjects.ts";
import { NatsServer } from "./nats-server.ts";

export type GuardedNode = Omit<FleetUser, "nkey">;

/** A NATS server that lets each of these nodes do what the permissions of its role say. */
export class GuardedNats implements AsyncDisposable {
  readonly server: NatsServer;
  /** A folder for what belongs to the nodes. */
  readonly folder: string;
  /** What the server has refused to connected nodes. */
  readonly refused: string[] = [];
  readonly #nodes: readonly GuardedNode[];
  readonly #folder: Awaited<ReturnType<typeof mkdtempDisposable>>;
  #settings: string;

  private constructor(
    server: NatsServer,
    nodes: readonly GuardedNode[],
    folder: Awaited<ReturnType<typeof mkdtempDisposable>>,
    settings: string,
  ) {
    this.server = server;
    this.#settings = settings;
    this.folder = folder.path;
    this.#nodes = nodes;
    this.#folder = folder;
  }

  static async start(nodes: readonly GuardedNode[]): Promise<GuardedNats> {
    const folder = await mkdtempDisposable(join(tmpdir(), "trunkline-guarded-"));
    const users: FleetUser[] = [];
    for (const node of nodes) {
      const key = nkeys.createUser();
      users.push({ ...node, nkey: key.getPublicKey() });
      await writeFile(join(folder.path, `${node.name}.key`), key.getSeed(), { mode: 0o600 });
    }
    const settings = natsSettings(users);
    return new GuardedNats(await NatsServer.start(settings), nodes, folder, settings);
  }

  async connect(name: string): Promise<FleetConnection> {
    const node = this.#nodes.find((each) => each.name === name);
    const connection = await FleetConnection.open({
      url: this.server.url,
      credentials: join(this.folder, `${name}.key`),
      subjects: subjectsOf(node?.pool ?? ""),
      name,
    });
    void this.#note(connection);
    return connection;
  }

  /** Withdraws a permission from all nodes that have it, while they are connected. */
  async withdraw(subject: string): Promise<void> {
    const lines = this.#settings.split("\n");
    const left = lines.filter((line) => line.trim() !== `"${subject}"`);
    if (left.length === lines.length) throw new Error(`No node may use '${subject}'`);
    this.#settings = left.join("\n");
    await this.server.reload(this.#settings);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    await this.#folder.remove();
  }

  async #note({ nats, name }: FleetConnection): Promise<void> {
    for await (const status of nats.status()) {
      if (status.type !== "error") continue;
      const { error } = status;
      if (error instanceof errors.PermissionViolationError) {
        this.refused.push(`${name} ${error.operation} ${error.subject}`);
      }
    }
  }
}

/**
 * The settings of nats-server that let these users do what they need in their pools, and nothing else.
 * Each pool is an account, which has subjects and streams of its own: whoever may create or change a
 * stream could otherwise have it copy any other stream of the server.
 */
export function natsSettings(users: readonly FleetUser[]): string {
  const pools = Map.groupBy(users, ({ pool }) => pool);
  const accounts = [...pools].map(
    ([pool, theirs]) =>
      `  TL_${pool} {\n    jetstream: enabled\n    users: [\n` +
      `${theirs.map((user) => userSettings(user)).join("")}    ]\n  }\n`,
  );
  return `accounts {\n${accounts.join("")}}\n`;
}

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { jetstream, JetStreamApiCodes, jetstreamManager, type StreamAPI } from "@nats-io/jetstream";

import type { FleetConnection } from "../../src/fleet/connection/connect.ts";

import type { SharedState } from "../../src/fleet/replication/shared-state.ts";
import { SharedAudit } from "../../src/fleet/replication/shared-audit.ts";
import { shareStores } from "../../src/fleet/replication/shared-stores.ts";
import { isCode } from "../../src/fleet/stream-reader.ts";
import { subjectsOf } from "../../src/fleet/subjects.ts";
import { AccessTokens } from "../../src/store/access/access-tokens.ts";
import { AuditLog } from "../../src/store/audit/audit-log.ts";
import { Reviews } from "../../src/store/review/reviews.ts";
import { SessionLog } from "../../src/store/session/session-log.ts";
import { SessionRules } from "../../src/store/session/session-rules.ts";
import { connectTo } from "./fleet-node.ts";
import { NatsServer } from "./nats-server.ts";
import { until } from "./until.ts";

const SUBJECTS = subjectsOf("p");

/** A real NATS server, and nodes with data folders of their own that share their stores over it. */
export class Fleet implements AsyncDisposable {
  readonly nats: NatsServer;
  readonly #folder = mkdtempSync(join(tmpdir(), "trunkline-fleet-"));

  #connection: FleetConnection | undefined;

  private constructor(nats: NatsServer) {
    this.nats = nats;
  }

  static async start(): Promise<Fleet> {
    return new Fleet(await NatsServer.start());
  }

  /** The data folder of a node. */
  folder(name: string): string {
    return join(this.#folder, name);
  }

  /** The tokens of a node that need not run. */
  tokens(name: string): AccessTokens {
    return new AccessTokens(this.folder(name));
  }

  /** The reviews of a node that need not run. */
  reviews(name: string): Promise<Reviews> {
    return Reviews.open(this.folder(name));
  }

  /** How many messages the stream of tokens has. */
  async messages(): Promise<number> {
    const streams = await this.#streams();
    const info = await streams.info(SUBJECTS.tokens).catch(() => undefined);
    return info?.state.messages ?? 0;
  }

  /** The last message of a node's audit. */
  async audited(node: string): Promise<string | undefined> {
    const query = { last_by_subj: SUBJECTS.audit(node) };
    const streams = await this.#streams();
    return (await streams.getMessage(SUBJECTS.audits, query).catch(() => null))?.string();
  }

  /** Drops all messages of audits, as if they were too many. */
  async dropAudits(): Promise<void> {
    await (await this.#streams()).purge(SUBJECTS.audits);
  }

  /** Deletes all that was shared. */
  async forget(): Promise<void> {
    const streams = await this.#streams();
    await streams.delete(SUBJECTS.shared);
    await streams.delete(SUBJECTS.tokens);
    await streams.delete(SUBJECTS.audits);
  }

  async publish(kind: string, key: string, text: string): Promise<void> {
    const { prefix } = await this.#streamOf(kind);
    await jetstream((await this.#own()).nats).publish(`${prefix}${kind}.${key}`, text);
  }

  /** The last message of a row. */
  async published(kind: string, key: string): Promise<string | undefined> {
    const { name, prefix } = await this.#streamOf(kind);
    const query = { last_by_subj: `${prefix}${kind}.${key}` };
    return (await (await this.#streams()).getMessage(name, query))?.string();
  }

  /** The keys of the rows of a kind. */
  async keys(kind: string): Promise<string[]> {
    const { name, prefix } = await this.#streamOf(kind);
    const query = { subjects_filter: `${prefix}${kind}.>` };
    const { state } = await (await this.#streams()).info(name, query);
    return Object.keys(state.subjects ?? {}).map((each) => each.slice(`${prefix}${kind}.`.length));
  }

  /** The stream with the rows of a kind, once a node has made it, and what its subjects begin with. */
  async #streamOf(kind: string): Promise<{ name: string; prefix: string }> {
    const name = kind === "token" ? SUBJECTS.tokens : SUBJECTS.shared;
    const streams = await this.#streams();
    await until(() => streams.info(name).then(() => true, isMissing));
    const { config } = await streams.info(name);
    return { name, prefix: config.subjects[0]?.replace("*.>", "") ?? "" };
  }

  async #streams(): Promise<StreamAPI> {
    return (await jetstreamManager((await this.#own()).nats)).streams;
  }

  async #own(): Promise<FleetConnection> {
    this.#connection ??= await connectTo(this.nats.url, "test");
    return this.#connection;
  }

  /** Starts a node; one of the same name goes on with its data. `url` is another way to NATS. */
  async node(
    name: string,
    role: "gateway" | "worker" = "gateway",
    url: string = this.nats.url,
  ): Promise<FleetNode> {
    const connection = await connectTo(url, name);
    return FleetNode.start(this.folder(name), name, connection, role);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connection?.[Symbol.asyncDispose]();
    await this.nats[Symbol.asyncDispose]();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

export class FleetNode implements AsyncDisposable {
  readonly data: string;
  readonly tokens: AccessTokens;
  readonly rules: SessionRules;
  readonly reviews: Reviews;
  readonly shared: SharedState;
  /** Of a worker undefined. */
  readonly tokensShared: SharedState | undefined;
  readonly audit: AuditLog;
  readonly #owned: AsyncDisposableStack;

  private constructor(
    data: string,
    parts: Pick<FleetNode, "rules" | "reviews" | "shared" | "tokensShared" | "audit">,
    owned: AsyncDisposableStack,
  ) {
    this.data = data;
    this.tokens = new AccessTokens(data);
    this.rules = parts.rules;
    this.reviews = parts.reviews;
    this.shared = parts.shared;
    this.tokensShared = parts.tokensShared;
    this.audit = parts.audit;
    this.#owned = owned;
  }

  static async start(
    data: string,
    name: string,
    connection: FleetConnection,
    role: "gateway" | "worker",
  ): Promise<FleetNode> {
    await using opened = new AsyncDisposableStack();
    opened.use(connection);
    // The program has connections of its own to the same files.
    const log = opened.use(await SessionLog.open(data));
    const reviews = opened.use(await Reviews.open(data));
    const report = (): void => {};
    const sharing = { connection, data, report };
    const stores = opened.use(await shareStores(sharing, role));
    const { state: shared, tokens: tokensShared } = stores;
    const audit = opened.use(new AuditLog(data));
    opened.use(await SharedAudit.open({ ...sharing, name }));
    const parts = { rules: new SessionRules(log.database), reviews, shared, tokensShared, audit };
    return new FleetNode(data, parts, opened.move());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
    await this.tokens[Symbol.asyncDispose]();
  }
}

/** False for a stream that nobody has made yet. */
function isMissing(error: unknown): false {
  if (isCode(error, JetStreamApiCodes.StreamNotFound)) return false;
  throw error;
}

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { AccessTokens } from "../../../src/store/access/access-tokens.ts";
import { Reviews } from "../../../src/store/review/reviews.ts";
import type { FaultRig, Step } from "../store-fault-contract.ts";
import { GatewayDoor, OTHER_AGENT } from "./gateway-door.ts";

/** What a page of the dashboard reads when it is opened. */
const READS = [
  "/api/me",
  "/api/overview",
  "/api/sessions",
  "/api/runs",
  "/api/threads",
  "/api/identities",
  "/api/tools",
  "/api/approvals",
  "/api/calls?minutes=60",
  "/api/servers",
  "/api/plugins",
  "/api/audit?q=x",
  "/api/tokens",
];

/** A person at the dashboard: reads every page, prompts, answers, replies, hands out tokens. */
class DashboardRig implements FaultRig {
  readonly folder: string;
  readonly steps: readonly Step[];
  readonly #door: GatewayDoor;
  #session = "";
  #thread = "";
  #count = 0;
  /** What was acknowledged. */
  readonly #prompted: { readonly session: string; readonly text: string }[] = [];
  readonly #answered: { readonly session: string; readonly requestId: string }[] = [];
  readonly #replied: { readonly thread: string; readonly text: string }[] = [];
  readonly #tokens = new Map<string, "created" | "revoked">();

  constructor(door: GatewayDoor) {
    this.#door = door;
    this.folder = door.home.data;
    this.steps = this.#steps();
  }

  async prepare(): Promise<void> {
    // The first round is to open the dashboard itself.
    if (this.#count > 0) await this.#quiet();
    if (this.#count++ % 50 === 0) this.#session = await this.#door.newSession();
    const { project, data } = this.#door.home;
    using reviews = await Reviews.open(data);
    const { id } = await reviews.add({
      repository: { gitDir: join(project, ".git"), root: project },
      anchor: { path: "a.txt", side: "new", line: 1, end: 1 },
      comment: `comment ${this.#count}`,
      severity: "should",
      by: "ada",
      source: "test",
    });
    this.#thread = id;
  }

  /** All that was acknowledged is there, once. */
  async verify(): Promise<void> {
    await this.#quiet();
    const logs = new Map<string, Awaited<ReturnType<GatewayDoor["logOf"]>>>();
    const logOf = async (session: string) => {
      const log = logs.get(session) ?? (await this.#door.logOf(session));
      logs.set(session, log);
      return log;
    };
    for (const { session, text } of this.#prompted) {
      const prompts = (await logOf(session)).filter(({ kind }) => kind === "prompt");
      const same = prompts.filter((event) => JSON.stringify(event).includes(`"${text}"`));
      assert.equal(same.length, 1, `'${text}' is there once`);
    }
    for (const { session, requestId } of this.#answered) {
      const answers = (await logOf(session)).filter(
        (event) => event.kind === "answer" && event.requestId === requestId,
      );
      assert.equal(answers.length, 1, "an answer is there once");
    }
    using reviews = await Reviews.open(this.folder);
    for (const { thread, text } of this.#replied) {
      const said = (await reviews.history(thread)).filter((event) => event.text === text);
      assert.equal(said.length, 1, `'${text}' is there once`);
    }
    const there = new Set(new AccessTokens(this.folder).list().map(({ id }) => id));
    for (const [id, state] of this.#tokens) assert.equal(there.has(id), state === "created");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#door[Symbol.asyncDispose]();
  }

  /** Waits until no turn runs in the session. */
  async #quiet(): Promise<void> {
    for (;;) {
      const { row } = await this.#door.send("GET", `/api/sessions/${this.#session}`);
      if (row.state === "idle") return;
      if (row.state === "waiting") await this.#act("cancel").catch(() => {});
      await delay(5);
    }
  }

  #act(what: string, body: object = {}): Promise<unknown> {
    return this.#door.send("POST", `/api/sessions/${this.#session}/${what}`, body);
  }

  #steps(): Step[] {
    const door = this.#door;
    return [
      ...READS.map((path) => ({ name: path, run: () => door.send("GET", path) })),
      {
        name: "prompt",
        run: async () => {
          const text = `say word${this.#count}-${Math.random().toString(36).slice(2)}`;
          await this.#act("prompt", { text });
          this.#prompted.push({ session: this.#session, text });
          await this.#quiet();
        },
      },
      {
        name: "permission",
        run: async () => {
          await this.#act("prompt", { text: "permission" });
          for (;;) {
            const { row, asks } = await door.send("GET", `/api/sessions/${this.#session}`);
            if (row.state === "idle") return;
            const [ask] = asks as { id: string }[];
            if (ask === undefined) {
              await delay(5);
              continue;
            }
            await this.#act("answer", { id: ask.id, optionId: "once" });
            this.#answered.push({ session: this.#session, requestId: ask.id });
            break;
          }
          await this.#quiet();
        },
      },
      { name: "events", run: () => door.send("GET", `/api/sessions/${this.#session}/events`) },
      { name: "files", run: () => door.send("GET", `/api/sessions/${this.#session}/files`) },
      {
        name: "export",
        run: () => door.send("GET", `/api/sessions/${this.#session}/export?format=ndjson`),
      },
      {
        name: "reply",
        run: async () => {
          const text = `answer ${this.#count}`;
          await door.send("POST", `/api/threads/${this.#thread}/reply`, { text });
          this.#replied.push({ thread: this.#thread, text });
        },
      },
      {
        name: "token",
        run: async () => {
          const name = `t${this.#count}-${Math.random().toString(36).slice(2)}`;
          const { row } = await door.send("POST", "/api/tokens", { name, scopes: ["tools"] });
          this.#tokens.set(row.id, "created");
          await door.send("POST", `/api/tokens/${row.id}/revoke`);
          this.#tokens.set(row.id, "revoked");
        },
      },
      {
        name: "live events",
        run: async () => {
          const over = new AbortController();
          const url = `${door.server.origin}/api/events?session=${this.#session}`;
          const response = await fetch(url, { headers: door.owner, signal: over.signal });
          if (!response.ok) throw new Error(((await response.json()) as { error: string }).error);
          await response.body?.getReader().read();
          over.abort();
        },
      },
    ];
  }
}

export async function dashboard(): Promise<FaultRig> {
  const door = await GatewayDoor.open({ ...OTHER_AGENT, review: { dropFiles: false } });
  execFileSync("git", ["init", "--quiet"], { cwd: door.home.project });
  writeFileSync(join(door.home.project, "a.txt"), "one\n");
  return new DashboardRig(door);
}

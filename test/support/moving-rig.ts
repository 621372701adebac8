import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { chmod, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { type HttpServer, openHttpServer } from "../../src/app/serve/http-server.ts";
import { AppContext } from "../../src/config/app-context.ts";
import { Journal } from "../../src/agent/files/journal.ts";
import { SessionLog } from "../../src/store/session/session-log.ts";
import { SessionUsage } from "../../src/store/session/session-usage.ts";
import { SampleCommandLine } from "../samples/sample-command-line.ts";
import { gatewaySources } from "./gateway-sources.ts";
import type { Ran } from "./run-in-process.ts";

export const SESSION = "11111111-2222-4333-8444-555555555555";

const prompt = (turnId: string, text: string): object => ({
  kind: "prompt",
  turnId,
  prompt: [{ type: "text", text }],
  by: "zed",
});

/** Everything of a work tree that has to be the same: files, modes, links, index and commit. */
export function snapshot(top: string): object {
  const git = (...args: string[]): string =>
    execFileSync("git", args, { cwd: top, encoding: "utf8" });
  const files: Record<string, string> = {};
  const visit = (folder: string): void => {
    for (const name of readdirSync(join(top, folder))) {
      const path = join(folder, name);
      if (name === ".git") continue;
      const stats = lstatSync(join(top, path));
      if (stats.isDirectory()) visit(path);
      else if (stats.isSymbolicLink()) files[path] = `link ${readlinkSync(join(top, path))}`;
      else {
        const mode = (stats.mode & 0o100) === 0 ? "" : "x ";
        files[path] = mode + readFileSync(join(top, path)).toString("base64");
      }
    }
  };
  visit("");
  const head = git("rev-parse", "HEAD").trim();
  const branch = git("rev-parse", "--abbrev-ref", "HEAD").trim();
  const index = git("ls-files", "--stage");
  return { files, head, branch, index, status: git("status", "--porcelain") };
}

/** Adds events to a session, as one turn does. */
export async function say(data: string, text: string): Promise<void> {
  await using log = await SessionLog.open(data);
  const { key } = await log.hold(SESSION);
  const turnId = crypto.randomUUID();
  log.append(key, "client", JSON.stringify(prompt(turnId, text)));
  const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "Done" } };
  log.append(key, "agent", JSON.stringify({ kind: "update", update }));
  log.append(key, "agent", JSON.stringify({ kind: "end", turnId, stopReason: "end_turn" }));
  await log.flush();
  await log.release(key);
}

/** The texts of all prompts, in their order, after a check that each event has its number. */
export async function prompts(data: string, id = SESSION): Promise<string[]> {
  await using log = await SessionLog.open(data);
  const events = (await Array.fromAsync(log.read(id))).flat();
  assert.deepEqual(
    events.map(({ seq }) => seq),
    events.map((_, at) => at + 1),
    "every event once",
  );
  return events.flatMap(({ message }) => {
    const { kind, prompt: said } = message as { kind: string; prompt?: { text: string }[] };
    return kind === "prompt" ? [said?.[0]?.text ?? ""] : [];
  });
}

export interface MovingOptions {
  /** That of what moves to the server. */
  readonly sandbox?: "on" | "unsafe-off";
  /** Agents of both sides; the session is one of the first. */
  readonly agents?: object;
  /** What else both sides are configured with. */
  readonly config?: object;
}

/** A laptop with a session that has every kind of work, and a server. */
export class MovingRig implements AsyncDisposable {
  readonly laptop: SampleCommandLine;
  readonly server: SampleCommandLine;
  #http: HttpServer | undefined;
  #port = 0;

  private constructor(laptop: SampleCommandLine, server: SampleCommandLine) {
    this.laptop = laptop;
    this.server = server;
  }

  /** `port` is that of a gateway which the test itself runs. */
  static async create(
    port?: number,
    { sandbox = "unsafe-off", agents = {}, config: both = {} }: MovingOptions = {},
  ): Promise<MovingRig> {
    const config = { sessions: { worktree: { carry: ["*.local", ".env"] } }, agents, ...both };
    const rig = new MovingRig(
      await SampleCommandLine.create(config),
      await SampleCommandLine.create({ remote: { sandbox }, agents, ...both }),
    );
    await rig.#work();
    await rig.#converse(Object.keys(agents)[0] ?? "trunkline");
    if (port === undefined) await rig.serve();
    else rig.#port = port;
    return rig;
  }

  get top(): string {
    return this.laptop.home.project;
  }

  /** Where the session works at the server. */
  get there(): string {
    const folder = join(this.server.home.data, "worktrees", SESSION);
    return join(folder, readdirSync(folder).find((name) => name.startsWith("work-")) ?? "");
  }

  get url(): string {
    return `ws://127.0.0.1:${this.#port}/acp`;
  }

  async serve(): Promise<void> {
    const { config } = await this.server.home.load();
    const quiet = { ...config, log: { ...config.log, level: "error" as const } };
    const serve = { ...quiet.serve, port: this.#port };
    this.#http = await openHttpServer(new AppContext({ ...quiet, serve }), {
      sources: gatewaySources(),
    });
    this.#port = Number(new URL(this.#http.origin).port);
    this.laptop.env.TRUNKLINE_TOKEN = readFileSync(this.#http.tokenFile, "utf8").trim();
  }

  async stop(): Promise<void> {
    await this.#http?.close(0);
    this.#http = undefined;
  }

  async moveTo(...more: string[]): Promise<Ran> {
    return await this.laptop.run("session", "move", SESSION, "--to", this.url, ...more);
  }

  async moveHere(...more: string[]): Promise<Ran> {
    return await this.laptop.run("session", "move", SESSION, "--here", ...more);
  }

  write(path: string, text: string | Buffer): Promise<void> {
    mkdirSync(join(this.top, path, ".."), { recursive: true });
    return writeFile(join(this.top, path), text);
  }

  async #work(): Promise<void> {
    const { laptop } = this;
    await this.write(".gitignore", "*.local\n.env\nnode_modules/\n");
    await this.write(".gitattributes", "*.txt text=auto\n");
    await this.write("a.txt", "one\n");
    await this.write("gone.txt", "gone\n");
    await this.write("old name.txt", "renamed\n".repeat(20));
    await this.write("both.txt", "first\n");
    laptop.git("add", ".");
    laptop.git("commit", "-qm", "Pushed");
    await this.write("a.txt", "two\n");
    laptop.git("commit", "-qam", "Not pushed");
    laptop.git("mv", "old name.txt", "new näme.txt");
    await this.write("both.txt", "staged\n");
    laptop.git("add", "both.txt");
    await this.write("both.txt", "staged\nand not staged\n");
    laptop.git("rm", "-q", "gone.txt");
    await this.write("mixed.txt", "one\r\ntwo\nthree\r\n");
    await this.write("run.sh", "#!/bin/sh\n");
    await chmod(join(this.top, "run.sh"), 0o755);
    await symlink("a.txt", join(this.top, "link"));
    await this.write("sub/bytes.bin", Buffer.from([0, 1, 2, 255, 13, 10]));
    await this.write("settings.local", "carried\n");
    await this.write(".env", "SECRET=1\n");
    await this.write("node_modules/x/index.js", "1\n");
  }

  async #converse(agent: string): Promise<void> {
    const { data } = this.laptop.home;
    const file = join(this.top, "a.txt");
    mkdirSync(data, { recursive: true });
    {
      await using log = await SessionLog.open(data);
      const notes = { chosen: { modeId: "auto-accept", modelId: "m" } };
      const session = { id: SESSION, cwd: this.top, agent, title: "Work", notes };
      const { key } = await log.create(session);
      await log.release(key);
      const amounts = { tokens: 10, cost: 1, steps: 2, time: 3, reportedCost: undefined };
      const turn = { turn: "t1", session: SESSION, principal: "", day: "2026-11-19" };
      await new SessionUsage(log.database).note({ ...turn, ...amounts });
    }
    const turn = new Journal(data, SESSION).begin();
    await turn.before(file, Buffer.from("one\n"));
    await turn.after(file, [Buffer.from("two\n")]);
    await say(data, `Change ${file}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.laptop[Symbol.asyncDispose]();
    await this.server[Symbol.asyncDispose]();
  }
}

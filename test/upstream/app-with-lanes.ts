import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Log } from "../../src/base/log.ts";
import { McpDoor } from "../../src/protocol/mcp/serve/door.ts";
import { AuditLog } from "../../src/store/audit/audit-log.ts";
import { AUDIT_FILE } from "../../src/store/audit/audit-names.ts";
import { Offer } from "../../src/tool/offer/offer.ts";
import { Upstreams } from "../../src/upstream/upstreams.ts";
import { type Json, RawClient, type RawClientOptions } from "./raw-client.ts";
import { LEGACY, type Script, Scripts, type ScriptedServer } from "./scripted-server.ts";

const QUICK = { firstWait: 5, longestWait: 20, rest: 40, firstList: 20_000, gather: 5 };

/** A server behind a door, and a client of it that has called it once, so that its tool has a lane. */
export class AppWithLanes implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), "trunkline-lanes-"));
  readonly audit = new AuditLog(this.folder);
  readonly offer = new Offer({ audit: this.audit });
  readonly door = new McpDoor({ offer: this.offer });
  readonly scripts: Scripts;
  readonly upstreams: Upstreams;

  constructor(script: Script) {
    this.scripts = new Scripts({ a: script });
    this.upstreams = new Upstreams({
      offer: this.offer,
      folder: this.folder,
      log: new Log("error", () => {}),
      open: this.scripts.open,
      limits: QUICK,
    });
  }

  /** A client with a lane. The first call is not passed on as text, and neither are those until then. */
  async client(options: Omit<RawClientOptions, "revision"> = {}): Promise<RawClient> {
    await this.upstreams.configure({ a: { command: "a" } });
    await this.upstreams.known();
    const client = await RawClient.connect(this.door, { revision: "2025-11-25", ...options });
    const server = await this.scripts.start("a");
    do await client.callTool("echo", { text: "first" });
    while (!isPassed(server));
    return client;
  }

  get server(): ScriptedServer {
    const server = this.scripts.of("a").at(-1);
    if (server === undefined) throw new Error("No server was started");
    return server;
  }

  /** The records of calls, in order. */
  get records(): Json[] {
    this.audit.flush();
    const lines = readFileSync(join(this.folder, AUDIT_FILE), "utf8").trim().split("\n");
    return lines.map((line) => JSON.parse(line) as Json).filter((line) => !("seal" in line));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.upstreams[Symbol.asyncDispose]();
    this.audit[Symbol.dispose]();
    rmSync(this.folder, { recursive: true });
  }
}

/** Whether the last call came as text: such a call has no progress token unless its caller sent one. */
export function isPassed(server: ScriptedServer): boolean {
  const last = server.asked("tools/call").at(-1);
  return last !== undefined && last["params"]._meta?.progressToken === undefined;
}

/** LEGACY with another answer to calls whose text is not "first". */
export function answering(call: Script[string], more: Script = {}): Script {
  const handle: Script[string] = (params, server) =>
    params["arguments"]?.text === "first" ? { content: [] } : call(params, server);
  return { ...LEGACY, "tools/call": handle, ...more };
}

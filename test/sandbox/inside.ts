import { once } from "node:events";
import { chownSync, mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import type { Server } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";

import { usualVariables } from "../../src/base/process/environment.ts";
import { defaultConfig } from "../../src/config/config.ts";
import { AppContext } from "../../src/config/app-context.ts";
import { openLocalSandbox } from "../../src/sandbox/open/local-sandbox.ts";
import type { Program } from "../../src/sandbox/bubblewrap.ts";
import { EgressProxy } from "../../src/sandbox/egress-proxy.ts";
import { probeSandbox } from "../../src/sandbox/probe.ts";
import { openSandbox } from "../../src/sandbox/sandbox.ts";
import { spawnWrapped } from "../support/spawn-wrapped.ts";

/** A person's machine, and a sandbox on it that a hostile program runs in. */
export interface Inside extends AsyncDisposable {
  /** The folder that the program works in. */
  readonly work: string;
  /** The person's home folder. */
  readonly home: string;
  /** Trunkline's data. */
  readonly data: string;
  /** Runs a line in a shell, and returns all its output. Throws if the sandbox refuses to start it. */
  sh(line: string): Promise<string>;
}

export type OpenInside = (env: NodeJS.ProcessEnv) => Promise<Inside>;

async function machine() {
  const folder = realpathSync(await mkdtemp(join(tmpdir(), "inside-")));
  const [home, data] = [join(folder, "home"), join(folder, "home/.local/state/trunkline")];
  const work = join(home, "work", "project");
  for (const each of [work, data]) mkdirSync(each, { recursive: true });
  return { folder, home, data, work };
}

/** Writes a file of the person. */
export function inHome({ home }: Pick<Inside, "home">, name: string, content: string): string {
  const file = join(home, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  return file;
}

function shell(line: string, env: NodeJS.ProcessEnv, cwd: string): Program {
  return { command: "/bin/sh", args: ["-c", `exec 2>&1\n${line}`], env, cwd };
}

/** A command of a local session. */
export const localSession: OpenInside = async (env) => {
  const { folder, home, data, work } = await machine();
  const base = defaultConfig(data);
  const files = { ...base.agent.files, show: [process.execPath] };
  const app = new AppContext({ ...base, agent: { ...base.agent, files } });
  const own = { ...process.env, ...env, HOME: home };
  const sandbox = openLocalSandbox(app, [work], own);
  return {
    ...{ work, home, data },
    async sh(line) {
      await using inside = await sandbox.enter(async () => false);
      const child = spawnWrapped(inside.confine(shell(line, own, work)) as Program);
      const [out] = await Promise.all([text(child.stdout as Readable), once(child, "exit")]);
      return out;
    },
    async [Symbol.asyncDispose]() {
      await sandbox[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
};

/** The agent of a remote run, or a command that it starts. */
export const remoteRun: OpenInside = async () => {
  const { folder, home, data } = await machine();
  const { parts, findings } = await probeSandbox(join(data, "probe"));
  if (parts === undefined) throw new Error(findings[0]?.detail);
  const tree = join(data, "runs/one/tree");
  const agentHome = join(data, "runs/one/home");
  const user = process.getuid?.() === 0 ? { uid: 271_828, gid: 271_828 } : undefined;
  for (const each of [tree, agentHome]) {
    mkdirSync(each, { recursive: true });
    if (user !== undefined) chownSync(each, user.uid, user.gid);
  }
  const egress = new EgressProxy({ allowHosts: [], setting: "`x`" });
  const sandbox = await openSandbox({
    ...{ name: "attacks", data: join(data, "runs/one/sandbox"), parts, egress, user },
    ...{ write: [tree], read: [], also: [{ path: tree, at: "/workspaces/one" }] },
    home: agentHome,
  });
  return {
    ...{ work: tree, home, data },
    async sh(line) {
      const wrapped = sandbox.wrap(shell(line, usualVariables(), tree));
      const child = spawnWrapped(wrapped, true);
      child.on("message", (_, listener) => {
        egress.serve(listener as Server);
      });
      const [out] = await Promise.all([text(child.stdout as Readable), once(child, "exit")]);
      return out;
    },
    async [Symbol.asyncDispose]() {
      egress[Symbol.dispose]();
      await sandbox[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
};

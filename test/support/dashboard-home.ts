import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { runFromShell } from "./run-from-shell.ts";
import type { AcpSocket } from "./acp-socket.ts";
import { DashboardPage } from "./dashboard-page.ts";
import type { GuardedGateway, GuardedHome } from "./guarded-gateway.ts";

const AGENT = join(import.meta.dirname, "acp-agent.mjs");
export const CONFIG = {
  agent: "other",
  agents: { other: { command: process.execPath, args: [AGENT, "--loads"] } },
};

/** It has the shape of a secret. */
export const SECRET = "ghp_plantedplantedplantedplanted1234";

export function folderIn(home: GuardedHome, name = "work"): string {
  const folder = join(home.path, name);
  mkdirSync(folder, { recursive: true });
  return folder;
}

/** A repository with one commit. */
export function repositoryIn(home: GuardedHome, name = "work"): string {
  const folder = folderIn(home, name);
  writeFileSync(join(folder, "a.txt"), "one\ntwo\nthree\n");
  const git = (...args: string[]): void => {
    const who = ["-c", "user.name=t", "-c", "user.email=t@example.com"];
    runFromShell("git", [...who, ...args], { cwd: folder });
  };
  git("init", "-b", "main");
  git("add", ".");
  git("commit", "-m", "first");
  return folder;
}

export async function begin(editor: AcpSocket, cwd: string): Promise<string> {
  const { sessionId } = await editor.ask("session/new", { cwd, mcpServers: [] });
  return String(sessionId);
}

export const said = (text: string): object => [{ type: "text", text }];

export const pageOf = (gateway: GuardedGateway): DashboardPage =>
  new DashboardPage(gateway.ready.url, gateway.owner);

import { readFileSync } from "node:fs";
import { type OpenKeys, storedKey } from "../../agent/models/models.ts";
import type { RunSetup } from "../environment/environments.ts";
import type { SandboxParts } from "../../sandbox/probe.ts";
import type { Config } from "../../config/config.ts";
import { parseFile } from "../../config/file/parse-file.ts";
import { join } from "node:path";
import { currentSession } from "../../base/background.ts";
import { OwnedChild } from "../../base/process/child-process.ts";
import { usualVariables } from "../../base/process/environment.ts";
import type { OpenSetupPlace, SetupPlace } from "../environment/run-steps.ts";
import { EgressProxy } from "../../sandbox/egress-proxy.ts";
import { openSandbox } from "../../sandbox/sandbox.ts";
import { LIMITS, SAFE } from "./confined-agent.ts";

export interface RunSetupOptions {
  readonly parts: SandboxParts | undefined;
  readonly env?: NodeJS.ProcessEnv;
  readonly open: OpenKeys;
}

/** The configured set-up of repositories. Secrets come from the environment of the server, or are stored. */
export function runSetup(
  { setup, egress }: Config["remote"],
  { parts, env = process.env, open }: RunSetupOptions,
): RunSetup {
  return {
    settings: setup,
    mostLayers: setup.layers,
    openPlace: setupPlaces(parts, egress.allowHosts),
    maxLayer: setup.maxLayer,
    findSecret: async (name) => env[name] || storedKey(name, open),
    parse: (path, text) => parseFile(path, text).value,
    machine: thisMachine(),
  };
}

/** Compiled programs may not run on another system, or on another release of it. */
function thisMachine(): string {
  let release = "";
  try {
    release = readFileSync("/etc/os-release", "utf8");
  } catch {
    // Not every system has this file.
  }
  return `${process.platform} ${process.arch} ${release}`;
}

/**
 * Runs a command in a shell that redirects stderr to stdout, so that both stay in order. The repository
 * may choose the variables. They are set here, inside the sandbox, not for the programs that create it:
 * those would load the library of an `LD_PRELOAD` outside of the sandbox.
 */
function shellFor(env: Readonly<Record<string, string>>, command: readonly string[]) {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const args = ["-c", 'exec env -- "$@" 2>&1', "sh", ...variables, ...command];
  return { command: "/bin/sh", args };
}

/**
 * Opens places for set-up: sandboxes like those of agents, because set-up runs code of the repository.
 * Only the allowed hosts differ. `allowHosts` are those of agents.
 */
export function setupPlaces(
  parts: SandboxParts | undefined,
  allowHosts: readonly string[],
): OpenSetupPlace {
  return async (options) => {
    const { name, workspace, folder, owner, home, objects, refused } = options;
    const own = { ...usualVariables(), ...options.secrets };
    if (parts === undefined) return unconfined(workspace.tree, own, options.env);
    const egress = new EgressProxy({
      allowHosts: [...allowHosts, ...options.allowHosts],
      setting: "`allowHosts` of `remote.setup.repositories` or `remote.egress.allowHosts`",
      refused: (_, why) => refused(why),
    });
    const sandbox = await openSandbox({
      name,
      // It is removed with the workspace, even if we are killed.
      data: join(workspace.folder, "sandbox"),
      parts,
      write: [workspace.tree],
      also: [{ path: workspace.tree, at: folder }],
      home,
      read: [objects],
      limits: LIMITS,
      egress,
      user: owner,
    });
    return {
      start: (command) => {
        const env = { ...own, ...SAFE };
        const program = { ...shellFor(options.env, command), env, cwd: folder };
        return OwnedChild.start({ ...sandbox.wrap(program), serves: currentSession() });
      },
      [Symbol.asyncDispose]: async () => {
        egress[Symbol.dispose]();
        await sandbox[Symbol.asyncDispose]();
      },
    };
  };
}

function unconfined(
  cwd: string,
  env: NodeJS.ProcessEnv,
  more: Readonly<Record<string, string>>,
): SetupPlace {
  return {
    start: (command) =>
      OwnedChild.start({ ...shellFor(more, command), env, cwd, serves: currentSession() }),
    [Symbol.asyncDispose]: async () => {},
  };
}

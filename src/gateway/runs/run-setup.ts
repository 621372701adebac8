import { readFileSync } from "node:fs";

import { keysInKeychain } from "../../agent/models/model-keys.ts";
import type { Log } from "../../base/log.ts";
import type { RunSetup } from "../../run/environment/environments.ts";
import type { SandboxParts } from "../../sandbox/probe.ts";
import type { SecretStore } from "../../store/secret/secret-store.ts";
import type { Config } from "../config/config.ts";
import { parseFile } from "../config/file/parse-file.ts";
import { setupPlaces } from "./setup-place.ts";

export interface RunSetupOptions {
  readonly parts: SandboxParts | undefined;
  readonly log: Log;
  readonly env?: NodeJS.ProcessEnv;
  /** Opens the keychain; by default the system's. */
  readonly open?: () => Promise<SecretStore>;
}

/** The configured set-up of repositories. Secrets come from the environment of the server, or its keychain. */
export function runSetup(
  { setup, egress }: Config["remote"],
  { parts, log, env = process.env, open }: RunSetupOptions,
): RunSetup {
  const keychain = { env, log, ...(open === undefined ? {} : { open }) };
  return {
    settings: setup,
    mostLayers: setup.layers,
    openPlace: setupPlaces(parts, egress.allowHosts),
    maxLayer: setup.maxLayer,
    findSecret: async (name) => env[name] || (await keysInKeychain([name], keychain)).get(name),
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

import { readFileSync } from "node:fs";

import { type OpenKeys, storedKey } from "../../agent/models/models.ts";
import type { RunSetup } from "../environment/environments.ts";
import type { SandboxParts } from "../../sandbox/probe.ts";
import type { Config } from "../../config/config.ts";
import { parseFile } from "../../config/file/parse-file.ts";
import { setupPlaces } from "./setup-place.ts";

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

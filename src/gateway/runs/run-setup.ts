import { readFileSync } from "node:fs";

import type { RunSetup } from "../../run/environment/environments.ts";
import type { SandboxParts } from "../../sandbox/probe.ts";
import type { Config } from "../config/config.ts";
import { parseFile } from "../config/file/parse-file.ts";
import { removeSandbox } from "./confined-agent.ts";
import { setupPlaces } from "./setup-place.ts";

/** How repositories are set up, as it is configured. Secrets are in the environment of the server. */
export function runSetup(
  { setup, egress }: Config["remote"],
  parts: SandboxParts | undefined,
  env: NodeJS.ProcessEnv = process.env,
): RunSetup {
  return {
    settings: setup,
    mostLayers: setup.layers,
    removePlace: removeSandbox,
    openPlace: setupPlaces(parts, egress.allowHosts),
    findSecret: (name) => env[name],
    parse: (path, text) => parseFile(path, text).value,
    machine: thisMachine(),
  };
}

/** Programs that are compiled on one system need not run on another, or on its next release. */
function thisMachine(): string {
  let release = "";
  try {
    release = readFileSync("/etc/os-release", "utf8");
  } catch {
    // Not every system says what it is.
  }
  return `${process.platform} ${process.arch} ${release}`;
}

import { readFileSync } from "node:fs";

import type { RunSetup } from "../../run/environment/environments.ts";
import type { SandboxParts } from "../../sandbox/probe.ts";
import type { Config } from "../config/config.ts";
import { parseFile } from "../config/file/parse-file.ts";
import { setupPlaces } from "./setup-place.ts";

/** The configured set-up of repositories. Secrets come from the environment of the server. */
export function runSetup(
  { setup, egress }: Config["remote"],
  parts: SandboxParts | undefined,
  env: NodeJS.ProcessEnv = process.env,
): RunSetup {
  return {
    settings: setup,
    mostLayers: setup.layers,
    openPlace: setupPlaces(parts, egress.allowHosts),
    findSecret: (name) => env[name],
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

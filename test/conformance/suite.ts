import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposable, readdir, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Packages } from "../support/packages.ts";

export const packages = new Packages("test/conformance");

export interface Check {
  readonly scenario: string;
  readonly id: string;
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "SKIPPED" | "INFO";
  readonly errorMessage?: string;
}

export interface Report {
  /** The exit code, or the signal that ended the suite. */
  readonly exit: number | string;
  readonly scenarios: readonly string[];
  readonly checks: readonly Check[];
  readonly output: string;
}

/**
 * Runs the official suite against a server and reads what it wrote down of every check: its own
 * exit code says nothing of warnings, nor of the scenarios that it does not score.
 */
export async function runSuite(url: string, revision: string): Promise<Report> {
  await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-conformance-"));
  const script = packages.path("@modelcontextprotocol/conformance/dist/index.js");
  const args = [script, "server", "--url", url, "--requirements", revision, "-o", folder.path];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  }
  const [code, signal] = (await once(child, "close")) as [number | null, string | null];
  const scenarios: string[] = [];
  const checks: Check[] = [];
  for (const name of await readdir(folder.path)) {
    const scenario = name.replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, "");
    const found = JSON.parse(
      await readFile(join(folder.path, name, "checks.json"), "utf8"),
    ) as Omit<Check, "scenario">[];
    scenarios.push(scenario);
    checks.push(...found.map((check) => ({ ...check, scenario })));
  }
  return { exit: code ?? signal ?? "", scenarios, checks, output };
}

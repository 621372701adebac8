import { statSync } from "node:fs";
import { resolve } from "node:path";

import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { busPlan, busTransport } from "../../plugin/open/bus.ts";
import { untilSignal } from "../../base/process/long-running.ts";
import { checkSubject, type Outcome } from "../../plugin/conformance/check-subject.ts";
import { type OpenedSubject, openSubject } from "../../plugin/conformance/open-subject.ts";
import type { SafeCall } from "../../plugin/conformance/probe.ts";
import type { Role } from "../../plugin/conformance/probe.ts";
import { startSubject } from "../../plugin/conformance/open-subject.ts";
import { findPlugin, type FoundPlugin } from "../../plugin/installed-plugin.ts";
import type { Invocation, OptionValues } from "../shell/command.ts";
import { openQuietApp } from "../shell/open-app.ts";
import { readArguments } from "../tools/tools.ts";

type TestValues = OptionValues<"addr" | "certs-dir" | "tool" | "stream", "verbose"> & {
  readonly role?: Role;
  readonly args: string;
  readonly timeout: string;
};

/** `trunkline plugin test --addr HOST:PORT|PLUGIN…` */
export async function run(invocation: Invocation<TestValues>): Promise<number> {
  const { values, out } = invocation;
  const patience = patienceOf(values.timeout);
  const { signal } = stopper();
  await using subject = await open(invocation, signal);
  const outcomes: Outcome[] = [];
  const isJson = values.json === true;
  if (!isJson) out(`${visibleLine(subject.name)}\n\n`);
  for await (const outcome of checkSubject(subject, { patience, signal })) {
    outcomes.push(outcome);
    if (!isJson) out(lineOf(outcome));
  }
  const count = (kind: Outcome["outcome"]): number =>
    outcomes.filter(({ outcome }) => outcome === kind).length;
  const counts = { passed: count("passed"), failed: count("failed"), skipped: count("skipped") };
  const { name, role } = subject;
  if (isJson) out(`${JSON.stringify({ name, role, ...counts, rules: outcomes }, null, 2)}\n`);
  else out(`\n${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped.\n`);
  return counts.failed === 0 ? 0 : 1;
}

function patienceOf(seconds: string): number {
  const value = Number(seconds);
  if (value > 0 && value <= 86_400) return value * 1_000;
  throw new TrunklineError("usage", `Cannot wait '${seconds}' seconds: give a number above 0.`);
}

function lineOf({ rule, section, says, outcome, why }: Outcome): string {
  const line = `${outcome.padEnd(8)} ${rule.padEnd(22)} ${says} (${section})\n`;
  return why === undefined ? line : `${line}${" ".repeat(32)}${visibleLine(why)}\n`;
}

/** Ctrl-C ends the plugin first, and removes what was made for it. */
function stopper(): AbortController {
  const stopping = new AbortController();
  background(
    untilSignal().then((signal) => {
      stopping.abort(new TrunklineError("cancelled", `The test was ended by ${signal}.`));
    }),
    "Ending the test",
  );
  return stopping;
}

async function open(
  invocation: Invocation<TestValues>,
  signal: AbortSignal,
): Promise<OpenedSubject> {
  const { values, positionals, cwd, err } = invocation;
  const { addr, tool, stream } = values;
  const [command, ...args] = positionals;
  if ((addr === undefined) === (command === undefined)) {
    const what = "name either the command of a plugin, or --addr of a program that runs";
    throw new TrunklineError("usage", `Cannot tell what to test: ${what}.`);
  }
  const given = await readArguments(values.args);
  const callOf = (name: string | undefined): SafeCall | undefined =>
    name === undefined ? undefined : { name, args: given };
  const calls = { call: callOf(tool), stream: callOf(stream) };
  const transport = await busTransport();
  if (addr !== undefined) {
    const certs = values["certs-dir"];
    const app = await openQuietApp(invocation);
    const certsDir = certs === undefined ? busPlan(app.config).certsDir : resolve(cwd, certs);
    return openSubject({ address: addr, certsDir, role: values.role, transport, ...calls });
  }
  const program = programOf(command ?? "", cwd);
  // Hidden by default: most lines are errors that the rules provoke.
  const said = (line: string): void => {
    if (values.verbose === true) err(`${visibleLine(line)}\n`);
  };
  const all = [...program.args, ...args];
  return startSubject({ command: program.command, args: all, transport, said, signal, ...calls });
}

/** A file or a folder is examined; anything else is a command that is searched for in PATH. */
function programOf(command: string, cwd: string): Pick<FoundPlugin, "command" | "args"> {
  const isThere = statSync(resolve(cwd, command), { throwIfNoEntry: false }) !== undefined;
  return isThere ? findPlugin(command, cwd) : { command, args: [] };
}

import { TrunklineError } from "../base/errors.ts";
import { askLine } from "../cli/shell/ask.ts";
import type { Invocation, OptionValues } from "../cli/shell/command.ts";
import { print, table } from "../cli/shell/layout.ts";
import { findPrograms, type FoundProgram } from "./found.ts";
import { checkJetbrains, type JetbrainsValues, setupJetbrains } from "./jetbrains.ts";
import { type LazygitValues, setupLazygit } from "./lazygit.ts";
import { setupNeovim } from "./neovim.ts";
import { type ProgramValues, setUpProgram } from "./program.ts";
import { TARGETS } from "./targets.ts";

export type SetupValues = ProgramValues &
  JetbrainsValues &
  LazygitValues &
  OptionValues<never, "import" | "yes">;

/** Options that only some targets have. */
const SPECIAL: Readonly<Record<string, string>> = {
  user: "lazygit",
  repo: "lazygit",
  remote: "jetbrains",
  name: "jetbrains",
};

/** `trunkline setup [TARGET]` */
export async function run(invocation: Invocation<SetupValues>): Promise<number> {
  const { values, positionals } = invocation;
  const [target] = positionals;
  checkOptions(values, target);
  if (values.import === true) {
    const { importServers } = await import("./import/import.ts");
    return importServers(invocation, target);
  }
  return target === undefined ? listAndAsk(invocation) : setUp(invocation, target);
}

function checkOptions(values: SetupValues, target: string | undefined): void {
  const given = (name: string): boolean => values[name as keyof SetupValues] !== undefined;
  const wrong = Object.keys(SPECIAL).find((name) => given(name) && SPECIAL[name] !== target);
  if (wrong !== undefined)
    throw usage(`Cannot use --${wrong}: it is an option of ${SPECIAL[wrong]}.`);
  if (values.http === true && (target === "lazygit" || target === "neovim")) {
    throw usage(`Cannot use --http: ${target} starts Trunkline itself.`);
  }
  if (values.remove === true && target === "neovim") {
    throw usage("Cannot use --remove: nothing was written for neovim. Take it out of your Lua.");
  }
  if (values.yes === true && values.import !== true) {
    throw usage("Cannot use --yes: it is an option of --import.");
  }
  const modes = ["print", "dry-run", "import"].filter(given);
  if (values.print === true && values.remove === true) modes.push("remove");
  if (modes.length > 1 && !(modes.length === 2 && given("dry-run") && given("import"))) {
    throw usage(`Cannot use --${modes.join(" and --")} together: give one of them.`);
  }
  if (target === undefined && values.import !== true) {
    const lonely = ["print", "dry-run", "remove", "http"].find(given);
    if (lonely !== undefined) throw usage(`Cannot use --${lonely} without a program: name one.`);
  }
}

async function setUp(invocation: Invocation<SetupValues>, name: string): Promise<number> {
  const { values } = invocation;
  if (name === "lazygit") return setupLazygit(invocation);
  if (name === "neovim") return setupNeovim(invocation);
  const target = TARGETS.find((each) => each.name === name);
  if (target === undefined) throw usage(`Cannot set up '${name}': it is not known.`);
  checkJetbrains(values);
  const isRemote = values.remote !== undefined || values.remove === true;
  if (name === "jetbrains" && isRemote) return setupJetbrains(invocation, target);
  return setUpProgram(invocation, target);
}

/** Shows what is here, and at a terminal asks what to set up. */
async function listAndAsk(invocation: Invocation<SetupValues>): Promise<number> {
  const { values, err } = invocation;
  const all = findPrograms(invocation);
  const found = all.filter(({ at }) => at !== undefined);
  const open = found.filter(({ state }) => state === "no" || state === "differs");
  print(invocation, { programs: all }, found.length === 0 ? NONE : tableOf(found));
  if (values.json !== true) {
    for (const { problem } of found) if (problem !== undefined) err(`${problem}\n`);
  }
  if (open.length === 0) return 0;
  if (values.json === true || !invocation.isTerminal || !process.stdin.isTTY) {
    if (values.json !== true) {
      err(
        "`trunkline setup PROGRAM` sets one up; with --dry-run it only shows what it would do.\n",
      );
    }
    return 1;
  }
  const names = open.map(({ name }) => name);
  const answer = await askLine(`Set up which? ${names.join(", ")}, or all (Enter: none) `);
  const chosen = answer === "all" ? names : answer.split(/[\s,]+/).filter(Boolean);
  return setUpAll(invocation, chosen);
}

/** One that fails does not keep the others from being set up. */
async function setUpAll(
  invocation: Invocation<SetupValues>,
  names: readonly string[],
): Promise<number> {
  let code = 0;
  for (const name of names) {
    try {
      await setUp(invocation, name);
    } catch (error) {
      code = 1;
      invocation.err(`${name}: ${(error as Error).message}\n`);
    }
  }
  return code;
}

const NONE =
  "None of the programs that can be set up was found here. `trunkline setup --help` lists them; one " +
  "that is not in PATH can be set up by its name.\n";

const STATES: Readonly<Record<FoundProgram["state"], string>> = {
  yes: "yes",
  http: "yes, over HTTP",
  differs: "yes, with another command: run it again",
  no: "no",
  unknown: "cannot tell",
  "by-hand": "by hand: see `trunkline setup neovim`",
};

function tableOf(found: readonly FoundProgram[]): string {
  const rows = found.map(({ name, at = "", state }) => [name, STATES[state], at]);
  return table([["PROGRAM", "SET UP", "FOUND"], ...rows]);
}

function usage(says: string): TrunklineError {
  return new TrunklineError("usage", says);
}

import { setValue } from "../../config/edit/set-value.ts";
import {
  addEntry,
  type EntrySection,
  noteMissingProgram,
  programOf,
  removeEntry,
} from "../config/edit-entry.ts";
import { readPairs } from "../config/read-pairs.ts";
import { type Editing, inputOf, kindOf } from "../config/tell-edited.ts";
import { BUILT_IN } from "../../config/config.ts";
import { TrunklineError } from "../../base/errors.ts";
import type { Invocation } from "../shell/command.ts";

const AGENTS: EntrySection = { what: "agent", path: ["agents"] };

type AgentValues = Editing & {
  readonly env?: readonly string[];
  readonly identity?: string;
  readonly default?: boolean;
  readonly replace?: boolean;
};

/** `trunkline agent add NAME -- COMMAND…` */
export async function add(invocation: Invocation<AgentValues>): Promise<number> {
  const { values, positionals } = invocation;
  const [name = "", ...command] = positionals;
  if (name === BUILT_IN) {
    const says = "the built-in agent has that name";
    throw new TrunklineError("usage", `Cannot add agent '${name}': ${says}.`);
  }
  const { env, identity } = values;
  const variables = await readPairs("--env", env);
  const settings = {
    ...programOf(invocation, command),
    ...(env === undefined ? {} : { env: variables }),
    ...(identity === undefined ? {} : { identity }),
  };
  const next = `Test it with \`trunkline agent test ${/\s/.test(name) ? `'${name}'` : name}\`.`;
  const code = await addEntry(invocation, AGENTS, name, settings, next);
  noteMissingProgram(invocation, command[0] ?? "");
  if (values.default === true) {
    // The name is written as JSON, so that one such as `1` stays a text.
    const chosen = JSON.stringify(name);
    const { notes } = await setValue(inputOf(invocation), kindOf(invocation), "agent", chosen);
    for (const note of notes) invocation.err(`note: ${note}\n`);
  }
  return code;
}

/** `trunkline agent remove NAME` */
export async function remove(invocation: Invocation<Editing>): Promise<number> {
  return removeEntry(invocation, AGENTS, invocation.positionals[0] ?? "");
}

import { visibleLine } from "../../base/text/visible.ts";
import type { ConfigInput } from "../../config/config.ts";
import type { EditedConfig, EditedKind } from "../../config/edit/edit-config.ts";
import type { Invocation, Values } from "../shell/command.ts";
import { configFlags } from "../shell/open-app.ts";

/** Options of commands that change the configuration. */
export interface Editing extends Values {
  readonly project?: boolean;
  readonly json?: boolean;
}

export function inputOf({ cwd, env, values }: Invocation<Editing>): ConfigInput {
  return { cwd, env, flags: configFlags(values) };
}

export function kindOf({ values }: Invocation<Editing>): EditedKind {
  return values.project === true ? "project" : "user";
}

/** Says which file was changed, and what stands in the way. `did` ends before the file's name. */
export function tellEdited(
  { values, out, err }: Invocation<Editing>,
  edited: EditedConfig,
  did: string,
  next?: string,
): number {
  if (values.json === true) {
    out(`${JSON.stringify(edited, null, 2)}\n`);
    return 0;
  }
  const { file, isChanged, isCreated, notes } = edited;
  const says = isChanged ? did : "Nothing had to be changed in";
  out(`${visibleLine(says)} ${visibleLine(file)}${isCreated ? " (new file)" : ""}.\n`);
  if (next !== undefined) out(`${next}\n`);
  for (const note of notes) err(`note: ${note}\n`);
  return 0;
}

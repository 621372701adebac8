import { resolve } from "node:path";

import { TrunklineError } from "../base/errors.ts";
import { visibleLine } from "../base/text/visible.ts";
import { lazygitChange, lazygitText } from "../review/transfer/lazygit-setup.ts";
import type { Invocation, OptionValues } from "../cli/shell/command.ts";
import type { ChangeValues } from "./change.ts";
import { diffText } from "./diff-text.ts";
import { readProgramFile, writeProgramFile } from "./program-file.ts";

export type LazygitValues = ChangeValues & OptionValues<"repo", "user">;

const DONE = {
  written: "Added the commands to",
  removed: "Removed the commands from",
  unchanged: "Nothing to change in",
} as const;

/** `trunkline setup lazygit` */
export async function setupLazygit(invocation: Invocation<LazygitValues>): Promise<number> {
  const { values, cwd, env, out, err, data } = invocation;
  const { user = false, remove = false } = values;
  if (user && values.repo !== undefined) {
    throw new TrunklineError("usage", "Cannot use both --user and --repo: give one of them.");
  }
  const target = user ? {} : { repo: resolve(cwd, values.repo ?? ".") };
  if (values.print === true) {
    err("In the configuration of lazygit:\n");
    data(lazygitText(env));
    return 0;
  }
  const { file, before, after, hasOurs } = lazygitChange({ ...target, env, remove });
  const isChanged = before !== after;
  if (values["dry-run"] === true) {
    const nothing = `${DONE.unchanged} ${visibleLine(file)}.\n`;
    out(isChanged ? diffText(file, before ?? "", after ?? "") : nothing);
    return 0;
  }
  if (isChanged) {
    const present = readProgramFile(file);
    const text = after?.slice(present.mark.length);
    const isRestored = remove && text === present.backup;
    const backup = isRestored ? "drop" : hasOurs && !remove ? "keep" : "take";
    await writeProgramFile(present, { after: text, isSecret: false, backup });
  }
  const change = isChanged ? (remove ? "removed" : "written") : "unchanged";
  if (values.json === true) out(`${JSON.stringify({ file, change }, null, 2)}\n`);
  else {
    out(`${DONE[change]} ${visibleLine(file)}.\n`);
    if (change === "written") out("In lazygit: Y comments on a line, Ctrl-Y shows the threads.\n");
  }
  return 0;
}

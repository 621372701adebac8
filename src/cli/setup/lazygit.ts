import { resolve } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { setUpLazygit } from "../../review/transfer/lazygit-setup.ts";
import type { Invocation } from "../shell/command.ts";
import { visibleLine } from "../../base/text/visible.ts";

type SetupValues = {
  readonly user?: boolean;
  readonly remove?: boolean;
  readonly repo?: string;
  readonly json?: boolean;
};

const DONE = {
  written: "Added the commands to",
  removed: "Removed the commands from",
  unchanged: "Nothing to change in",
} as const;

/** `trunkline setup lazygit` */
export async function setupLazygit(invocation: Invocation<SetupValues>): Promise<number> {
  const { values, cwd, env, out } = invocation;
  const { user = false, remove = false } = values;
  if (user && values.repo !== undefined) {
    throw new TrunklineError("usage", "Cannot use both --user and --repo: give one of them.");
  }
  const target = user ? {} : { repo: resolve(cwd, values.repo ?? ".") };
  const done = await setUpLazygit({ ...target, env, remove });
  if (values.json === true) out(`${JSON.stringify(done, null, 2)}\n`);
  else {
    out(`${DONE[done.change]} ${visibleLine(done.file)}.\n`);
    if (done.change === "written")
      out("In lazygit: Y comments on a line, Ctrl-Y shows the threads.\n");
  }
  return 0;
}

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { text as readAll } from "node:stream/consumers";

import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import { followReviews, type Happening } from "../../review/inbox/follow-reviews.ts";
import { exportReviews, importReviews } from "../../review/transfer/import-export.ts";
import { untilSignal } from "../../gateway/long-running.ts";
import type { Invocation } from "../shell/command.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { firstLine } from "../shell/layout.ts";
import { openCommands, type RepoValues } from "./open-reviews.ts";

/** `trunkline review watch` */
export async function watch(invocation: Invocation<RepoValues>): Promise<number> {
  const { values, out, err } = invocation;
  const over = new AbortController();
  background(
    untilSignal().then(() => over.abort()),
    "Stopping to watch reviews",
  );
  using commands = await openCommands(invocation);
  err(`Watching ${commands.repository?.root ?? "all repositories"}. Stop with Ctrl-C.\n`);
  const tell = (happening: Happening): void => {
    if (values.json === true) return out(`${JSON.stringify(happening)}\n`);
    const { at, thread, kind, file, by, text = "" } = happening;
    return out(
      `${at}  ${thread}  ${kind}  ${visibleLine(file)}  ${visibleLine(by)}  ${firstLine(text)}\n`,
    );
  };
  await followReviews(commands, tell, over.signal);
  return 0;
}

/** `trunkline review import FILE` */
export async function importFile(invocation: Invocation<RepoValues>): Promise<number> {
  const { values, positionals, out, err, cwd } = invocation;
  const [file = ""] = positionals;
  using commands = await openCommands(invocation);
  const imported = await importReviews(commands, await read(cwd, file));
  const { added, known, refused } = imported;
  for (const why of refused) err(`${why}\n`);
  if (values.json === true) out(`${JSON.stringify(imported, null, 2)}\n`);
  else out(`Opened ${added} threads; ${known} existed already; ${refused.length} were refused.\n`);
  return refused.length > 0 && added + known === 0 ? 1 : 0;
}

/** `trunkline review export` */
export async function exportAll(
  invocation: Invocation<RepoValues & { readonly format: "json" | "sarif" }>,
): Promise<number> {
  using commands = await openCommands(invocation);
  invocation.out(await exportReviews(commands, invocation.values.format));
  return 0;
}

async function read(cwd: string, file: string): Promise<string> {
  if (file === "-") return readAll(process.stdin);
  try {
    return readFileSync(resolve(cwd, file), "utf8");
  } catch (error) {
    const { message } = error as Error;
    throw new TrunklineError("config", `Cannot read '${file}': ${message}`, { cause: error });
  }
}

import type { ThreadView } from "../../review/thread-view.ts";
import type { ThreadMessage } from "../../store/review/reviews.ts";
import type { Invocation, OptionValues } from "../shell/command.ts";
import { linesText, print } from "../shell/layout.ts";
import { openCommands, personIn, type RepoValues } from "./open-reviews.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { whereOf } from "./thread-text.ts";
import { readComment } from "./comment-text.ts";

type SayValues = OptionValues<"repo" | "comment" | "as">;

/** `trunkline review reply ID` */
export async function reply(invocation: Invocation<SayValues>): Promise<number> {
  using commands = await openCommands(invocation);
  const { id, comment } = await commands.show(invocation.positionals[0] ?? "");
  const text = await readComment(invocation, invocation.values.comment, comment);
  return printThreads(invocation, [
    await commands.say("reply", id, { ...(await speaker(invocation)), text }),
  ]);
}

/** `trunkline review resolve ID…` */
export async function resolve(invocation: Invocation<SayValues>): Promise<number> {
  using commands = await openCommands(invocation);
  // Look all of them up first, so that none is resolved if one does not exist.
  const ids: string[] = [];
  for (const given of invocation.positionals) ids.push((await commands.show(given)).id);
  const threads: ThreadView[] = [];
  const person = await speaker(invocation);
  for (const id of ids) threads.push(await commands.say("resolve", id, person));
  return printThreads(invocation, threads);
}

/** `trunkline review reopen ID` */
export async function reopen(invocation: Invocation<SayValues>): Promise<number> {
  using commands = await openCommands(invocation);
  return printThreads(invocation, [
    await commands.say("reopen", invocation.positionals[0] ?? "", await speaker(invocation)),
  ]);
}

/** `trunkline review apply ID` */
export async function apply(
  invocation: Invocation<RepoValues & OptionValues<"as">>,
): Promise<number> {
  const { positionals } = invocation;
  using commands = await openCommands(invocation);
  const by = await personIn(invocation);
  const { path: file, patch, thread } = await commands.apply(positionals[0] ?? "", by);
  const { id, state } = thread;
  const text = `Changed ${visibleLine(file)}. ${id} is ${state}.\n`;
  return print(invocation, { file, patch, id, state }, text);
}

async function speaker(invocation: Invocation<SayValues>): Promise<ThreadMessage> {
  return { by: await personIn(invocation), role: "person", text: invocation.values.comment };
}

function printThreads(invocation: Invocation<SayValues>, threads: readonly ThreadView[]): number {
  const lines = threads.map((each) => `${each.id} is ${each.state}: ${whereOf(each)}`);
  return print(invocation, threads.length === 1 ? threads[0] : { threads }, linesText(lines));
}

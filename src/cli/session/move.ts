import type { SessionRecord } from "../../session/store.ts";
import { resolve } from "node:path";

import { background } from "../../base/background.ts";
import { localSharing } from "../../app/session/lazy-sessions.ts";
import { TrunklineError } from "../../base/errors.ts";
import { OWNER } from "../../base/principal.ts";
import { visibleLine } from "../../base/text/visible.ts";
import type { AppContext } from "../../config/app-context.ts";
import { closeAt } from "../../protocol/acp/attach.ts";
import { betweenCalls } from "../../session/open/move/let-go.ts";
import { Mover } from "../../session/open/move/mover.ts";
import { moveHere, moveTo } from "../../session/open/move/other-side.ts";
import { SessionCommands } from "../../session/open/session-commands.ts";
import type { Invocation, OptionValues } from "../shell/command.ts";
import { gatewayOf, httpGateway } from "../shell/gateway-url.ts";
import { linesText, print } from "../shell/layout.ts";
import { openQuietApp } from "../shell/open-app.ts";

type MoveValues = OptionValues<"to" | "url", "here" | "with-secrets" | "interrupt" | "new-key">;

/** `trunkline session move ID --to URL | --here` */
export async function move(invocation: Invocation<MoveValues>): Promise<number> {
  const { values, positionals, env, err } = invocation;
  const given = positionals[0] ?? "";
  const isHere = values.here === true;
  if (isHere === (values.to !== undefined)) {
    throw new TrunklineError("usage", "Say where to move it: --to URL, or --here.");
  }
  const app = await openQuietApp(invocation);
  await using mover = await Mover.open(app.config, env);
  const wish = {
    withSecrets: values["with-secrets"] === true,
    interrupts: values.interrupt === true,
    newKey: values["new-key"] === true,
  };
  if (isHere) {
    const { id } = values.url === undefined ? await find(app, given) : { id: given };
    const acp = gatewayOf(invocation) ?? (await mover.moves.away()).get(id);
    if (acp === undefined) throw new TrunklineError("usage", `Name the gateway of '${id}': --url.`);
    const gateway = await httpGateway(invocation, app.config.data, acp);
    return said(invocation, id, await moveHere(mover, id, gateway, wish));
  }
  const record = await find(app, given);
  const { to: url = "" } = values;
  const acp = gatewayOf({ ...invocation, values: { ...values, url } }) ?? url;
  const gateway = await httpGateway(invocation, app.config.data, acp);
  const stays = await mover.parcels.staysHere(record, wish.withSecrets);
  err(linesText(["These stay here:", ...stays.map((each) => `  ${visibleLine(each)}`)]));
  const letGo = (): Promise<void> => closeElsewhere(app, mover, record.id, wish.interrupts);
  // What a kill interrupts goes on by itself; what a person ends does not.
  const quit = (): void => background(giveUp(mover, record.id), "Giving a move up");
  process.once("SIGINT", quit);
  using ends = new DisposableStack();
  ends.defer(() => process.off("SIGINT", quit));
  return said(invocation, record.id, await moveTo(mover, record.id, gateway, { ...wish, letGo }));
}

function said(
  invocation: Invocation,
  id: string,
  { folder, says }: { readonly folder: string; readonly says: readonly string[] },
  done = `Moved ${id}`,
): number {
  const lines = [`${done}. It works in ${folder} now.`, ...says].map((each) => visibleLine(each));
  return print(invocation, { session: id, folder, says }, linesText(lines));
}

async function giveUp(mover: Mover, id: string): Promise<void> {
  const out = await mover.moves.find(id, "out");
  if (out?.state === "moving") await mover.giveUp(id, out.move);
  process.exit(130);
}

async function find({ config }: AppContext, id: string): Promise<SessionRecord> {
  await using commands = await SessionCommands.open(config.data);
  return await commands.find(id);
}

/** Has the process that has the session open close it. A running turn ends its tool call first. */
async function closeElsewhere(
  { config }: AppContext,
  { log }: Mover,
  id: string,
  isInterrupted: boolean,
): Promise<void> {
  if (!isInterrupted) await betweenCalls(log, id);
  const holder = await log.holderOf(id);
  if (holder === undefined) return;
  const channel = await localSharing(config.data).holders.reach(holder, OWNER);
  await closeAt(channel, id, "trunkline session move");
}

/** `trunkline session export ID --bundle FILE` */
export async function exportBundle(
  invocation: Invocation<OptionValues<"bundle", "share">>,
): Promise<number> {
  const { values, positionals, env, cwd } = invocation;
  const app = await openQuietApp(invocation);
  const session = await find(app, positionals[0] ?? "");
  await using mover = await Mover.open(app.config, env);
  const path = resolve(cwd, values.bundle ?? "");
  await mover.parcels.pack(session, { path, isShare: values.share === true });
  const next = `Continue it elsewhere: trunkline session import ${path}`;
  return print(invocation, { session: session.id, bundle: path }, `Wrote ${path}.\n${next}\n`);
}

/** `trunkline session import FILE` */
export async function importBundle(invocation: Invocation): Promise<number> {
  const { positionals, env, cwd } = invocation;
  const { config } = await openQuietApp(invocation);
  await using mover = await Mover.open(config, env);
  const { id, folder, says } = await mover.import(resolve(cwd, positionals[0] ?? ""));
  const next = `Continue it: trunkline chat --session ${id}`;
  return said(invocation, id, { folder, says: [...says, next] }, `Imported as ${id}`);
}

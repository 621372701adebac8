import type { Invocation } from "../shell/command.ts";
import { openCommands } from "./open-identities.ts";
import { toJson } from "./identity.ts";
import { columns } from "../shell/layout.ts";

/** `trunkline identity gpg [NAME]` */
export async function gpg(invocation: Invocation<{ readonly json?: boolean }>): Promise<number> {
  const { values, positionals, out } = invocation;
  await using commands = await openCommands(invocation);
  const ready = await commands.signing(positionals[0]);
  if (values.json) out(toJson(ready));
  else {
    const rows: (readonly [string, string])[] = [
      ["Identity", ready.identity],
      ["Signs by", ready.format ?? "nothing"],
      ["Key", ready.key ?? "none"],
      ["Device", ready.hardware ? (ready.needsTouch ? "yes, wants a touch" : "yes") : "no"],
      ["Signs alone", ready.canSign ? "yes" : "no"],
      ["", ready.says],
      ["To do", ready.guidance],
    ];
    for (const line of columns(rows, invocation.width)) out(`${line}\n`);
  }
  return ready.canSign ? 0 : 1;
}

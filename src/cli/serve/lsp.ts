import { serveLspOnStdio } from "../../app/door/lsp-on-stdio.ts";
import type { Invocation, OptionValues } from "../shell/command.ts";
import { openLastingApp } from "../shell/open-app.ts";
import { personIn, type RepoValues } from "../review/open-reviews.ts";

/** `trunkline lsp` */
export async function run(
  invocation: Invocation<RepoValues & OptionValues<"as">>,
): Promise<number> {
  await serveLspOnStdio(await openLastingApp(invocation), await personIn(invocation));
  return 0;
}

import { serveLspOnStdio } from "../../app/door/lsp-on-stdio.ts";
import type { Invocation } from "../shell/command.ts";
import { openLastingApp } from "../shell/open-app.ts";
import { personIn } from "../review/open-reviews.ts";

/** `trunkline lsp` */
export async function run(invocation: Invocation): Promise<number> {
  await serveLspOnStdio(await openLastingApp(invocation), personIn(invocation.env));
  return 0;
}

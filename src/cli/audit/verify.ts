import { resolve } from "node:path";

import { verifyAudit } from "../../store/audit/verify-audit.ts";
import { visibleLine } from "../../base/text/visible.ts";
import type { Invocation } from "../shell/command.ts";
import { openQuietApp } from "../shell/open-app.ts";
import { counted } from "../shell/layout.ts";

/** `trunkline audit verify` */
export async function verify(
  invocation: Invocation<{ readonly anchor?: string; readonly json?: boolean }>,
): Promise<number> {
  const { values, cwd, out, err } = invocation;
  const { config } = await openQuietApp(invocation);
  const anchor = values.anchor === undefined ? config.audit?.anchor : resolve(cwd, values.anchor);
  const verdict = await verifyAudit(config.data, anchor);
  const { problems, sealed, unsealed, older, damaged, cut, writers, repairs } = verdict;
  if (values.json === true) out(`${JSON.stringify(verdict, null, 2)}\n`);
  else {
    const by = counted(writers, "process", "processes");
    out(`${counted(sealed, "entry", "entries")} of ${by} match their seals.\n`);
    if (unsealed > 0) {
      out(`${unsealed} have no seal: their process was killed just after them.\n`);
    }
    if (older > 0) out(`${older} were written by a version that did not seal them.\n`);
    if (damaged > 0) out(`${damaged} lines are damaged, as after a full disk.\n`);
    for (const { time, lines, file, moved } of repairs) {
      const what = `${lines === 1 ? "1 damaged line was" : `${lines} damaged lines were`} moved`;
      out(visibleLine(`${what} from ${file} to ${moved} by \`doctor --fix\`, on ${time}.`) + "\n");
    }
    if (cut > 0) {
      out(`${cut} of other machines cannot be checked: earlier ones are not here.\n`);
    }
    for (const { where, says } of problems) err(`${where}: ${says}.\n`);
    if (anchor === undefined) {
      err("Entries that were removed with their seals are found only with `audit.anchor`.\n");
    }
  }
  return problems.length === 0 ? 0 : 1;
}

import { TrunklineError } from "../../base/errors.ts";
import type { Invocation } from "../shell/command.ts";
import { openCommands } from "./open-identities.ts";
import { validationSummary } from "../../identity/validate/validate.ts";
import { columns } from "../shell/layout.ts";
import { NO_IDENTITIES, toJson } from "./identity.ts";
import { visibleLine } from "../../base/text/visible.ts";

type Validating = {
  readonly json?: boolean;
  readonly offline?: boolean;
  readonly signing?: boolean;
  readonly timeout?: string;
};

const LABELS = { pass: "PASS", fail: "FAIL", warn: "WARN", skip: "SKIP" } as const;

/** `trunkline identity validate [NAME…]` */
export async function validate(invocation: Invocation<Validating>): Promise<number> {
  const { values, positionals, out, err } = invocation;
  const timeout = Number(values.timeout);
  if (!Number.isFinite(timeout) || timeout <= 0 || timeout > 600) {
    const says = `Cannot wait '${values.timeout}' seconds: give a number above 0, up to 600`;
    throw new TrunklineError("usage", says);
  }
  await using commands = await openCommands(invocation);
  const names =
    positionals.length > 0 ? positionals : commands.identities.list.map(({ name }) => name);
  if (names.length === 0) err(NO_IDENTITIES);
  const found = await commands.validate(names, {
    testAuth: values.offline !== true,
    checkGPG: values.signing === true,
    timeout: Math.ceil(timeout * 1000),
  });
  if (values.json) out(toJson({ identities: found }));
  else {
    for (const each of found) {
      out(`${visibleLine(each.identity)}\n`);
      for (const { outcome, says } of each.findings) out(`  ${LABELS[outcome]} ${says}\n`);
      out(`  ${validationSummary(each)}\n`);
    }
  }
  return found.every(({ isOk }) => isOk) ? 0 : 1;
}

/** `trunkline identity gpg [NAME]` */
export async function gpg(invocation: Invocation<{ readonly json?: boolean }>): Promise<number> {
  const { values, positionals, out } = invocation;
  await using commands = await openCommands(invocation);
  const ready = await commands.signing(positionals[0]);
  if (values.json) out(toJson(ready));
  else {
    const rows: (readonly [string, string])[] = [
      ["Identity", ready.identity],
      ["Signing", ready.format ?? "no commit signing"],
      ["Key", ready.key ?? "none"],
      ["Hardware key", ready.hardware ? (ready.needsTouch ? "yes, needs a touch" : "yes") : "no"],
      ["Can sign now", ready.canSign ? "yes" : "no"],
      ["", ready.says],
      ["Next step", ready.guidance],
    ];
    for (const line of columns(rows, invocation.width)) out(`${line}\n`);
  }
  return ready.canSign ? 0 : 1;
}

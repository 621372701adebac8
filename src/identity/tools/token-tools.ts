import { type Arguments, textResult, type ToolResult } from "../../tool/tool.ts";
import { JugglerFault, withKeychain } from "./fault.ts";
import type { ToolCommands } from "./tool-commands.ts";

/** `juggler_store_token` */
export async function storeToken(args: Arguments, commands: ToolCommands): Promise<ToolResult> {
  const identity = commands.identities.find(String(args.identity));
  const kept = await withKeychain(() => commands.tokenCommands.save(identity, String(args.token)));
  return textResult(
    [
      `Token stored for identity: ${identity.name}`,
      `[OK] ${kept.token} in ${kept.where}`,
      ...(kept.expires === undefined ? [] : [`[INFO] It expires on ${kept.expires}.`]),
      ...kept.notes.map((note) => `[WARN] ${note}`),
    ].join("\n"),
  );
}

/** `juggler_token_get`: always masked. */
export async function getToken(args: Arguments, commands: ToolCommands): Promise<ToolResult> {
  const identity = commands.identities.find(String(args.identity));
  const { token, where, expires } = await withKeychain(() => commands.tokenCommands.show(identity));
  if (token === undefined) return textResult(`No token stored for identity: ${identity.name}`);
  const lines = [`Token for identity: ${identity.name}`, `Token: ${token}`, `Source: ${where}`];
  return textResult(
    [...lines, ...(expires === undefined ? [] : [`Expires: ${expires}`])].join("\n"),
  );
}

/** `juggler_token_clear` */
export async function clearToken(args: Arguments, commands: ToolCommands): Promise<ToolResult> {
  const identity = commands.identities.find(String(args.identity));
  const wasThere = await withKeychain(() => commands.tokenCommands.clear(identity));
  return textResult(
    wasThere
      ? `Token cleared for identity: ${identity.name}`
      : `No token stored for identity: ${identity.name}`,
  );
}

/** `juggler_token_verify` */
export async function verifyToken(
  args: Arguments,
  commands: ToolCommands,
  folder: string | undefined,
): Promise<ToolResult> {
  const isNamed = typeof args.identity === "string";
  const name = isNamed ? String(args.identity) : await commands.nameHere(folder ?? "");
  const verdict = await commands.tokenCommands.verify(commands.identities.find(name));
  const { isOk, says, user, scopes = [], expires } = verdict;
  const text = [
    `Token verification for: ${name}`,
    `${isOk ? "[PASS]" : "[FAIL]"} The token ${says}`,
    ...(user === undefined ? [] : [`User: ${user}`]),
    ...(scopes.length === 0 ? [] : [`Scopes: ${scopes.join(", ")}`]),
    ...(expires === undefined ? [] : [`Expires: ${expires}`]),
  ].join("\n");
  return failing(isOk, text, { identity: name });
}

const LABELS = { pass: "[PASS]", fail: "[FAIL]", warn: "[WARN]", skip: "[SKIP]" } as const;

/** `juggler_validate` */
export async function validateTool(args: Arguments, commands: ToolCommands): Promise<ToolResult> {
  const identity = commands.identities.find(String(args.identity));
  const [found] = await commands.validate([identity.name], {
    testAuth: args.testAuth !== false,
    checkGPG: args.checkGPG === true,
  });
  const { validationSummary } = await import("../validate/validate.ts");
  if (found === undefined) throw new Error("no identity was validated");
  const { isOk, findings } = found;
  const lines = findings.map(({ outcome, says }) => `${LABELS[outcome]} ${says}`);
  const title = `Validating identity: ${identity.name}`;
  const text = [title, ...lines, validationSummary(found)].join("\n");
  return failing(isOk, text, { identity: identity.name });
}

/** The text is the same either way; a failure also has an error code. */
function failing(isOk: boolean, text: string, details: object): ToolResult {
  if (isOk) return textResult(text);
  throw new JugglerFault("validation-failed", text, { ...details });
}

/** `juggler_gpg_status` */
export async function gpgStatus(
  args: Arguments,
  commands: ToolCommands,
  folder: string | undefined,
): Promise<ToolResult> {
  const name = typeof args.identity === "string" ? args.identity : undefined;
  const ready = await commands.signing(name, folder);
  return textResult(
    [
      `GPG/SSH Signing Status: ${ready.identity}`,
      ...(name === undefined ? [`Repository: ${folder}`] : []),
      `Format: ${ready.format ?? "none"}`,
      `Key: ${ready.key ?? "none"}`,
      `Key Found: ${yesNo(ready.isFound)}`,
      `Hardware Key: ${yesNo(ready.hardware)}`,
      `Touch Required: ${yesNo(ready.needsTouch)}`,
      `Can Sign Automatically: ${yesNo(ready.canSign)}`,
      `Security Mode: ${await commands.modes.get()}`,
      `Details: ${ready.says}`,
      `Agent Guidance: ${ready.guidance}`,
    ].join("\n"),
  );
}

function yesNo(value: boolean): string {
  return value ? "yes" : "no";
}

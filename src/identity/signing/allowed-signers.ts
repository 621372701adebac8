import { mkdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";

import { replaceFile } from "../../store/replace-file.ts";
import type { Identity } from "../identity.ts";
import type { RunQuietly } from "./signing-readiness.ts";

/** Lists the signing keys of all identities, as ssh-keygen(1), "ALLOWED SIGNERS", has it. */
export async function writeAllowedSigners(
  path: string,
  identities: readonly Identity[],
  ask: RunQuietly,
): Promise<void> {
  const lines = await Promise.all(identities.map((identity) => signerLine(identity, ask)));
  const text = lines.filter((line) => line !== undefined).map((line) => `${line}\n`);
  // Every command of an agent comes here.
  if ((await readFile(path, "utf8").catch(() => undefined)) === text.join("")) return;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await replaceFile(path, text.join(""));
}

async function signerLine(identity: Identity, ask: RunQuietly): Promise<string | undefined> {
  const { signing, sshKey, email } = identity;
  const key = signing?.key ?? sshKey;
  if (signing?.format !== "ssh" || key === undefined || email === undefined) return undefined;
  // An address with these would be read as a list, a pattern or options.
  if (/[\s,*?!"#]/.test(email)) return undefined;
  const known = await publicKey(key, ask);
  return known && `${email} namespaces="git" ${known}`;
}

const PUBLIC = /^(?:key::)?((?:ssh|ecdsa|sk)-[\w@.-]+ [A-Za-z0-9+/=]+)/;

/** The type and the key, without its comment. A key that nobody can read is left out. */
async function publicKey(key: string, ask: RunQuietly): Promise<string | undefined> {
  const literal = PUBLIC.exec(key)?.[1];
  if (literal !== undefined) return literal;
  for (const path of [`${key}.pub`, key]) {
    const found = PUBLIC.exec(await readFile(path, "utf8").catch(() => ""))?.[1];
    if (found !== undefined) return found;
  }
  // Without a passphrase it can be told from the secret key; never ask for one.
  const { isOk, out } = await ask("ssh-keygen", ["-y", "-P", "", "-f", key]);
  return isOk ? PUBLIC.exec(out)?.[1] : undefined;
}

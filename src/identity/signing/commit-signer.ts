import { mkdir, mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import type { Git } from "../../git/git.ts";
import { replaceFile } from "../../store/replace-file.ts";
import type { Identity, Signing } from "../identity.ts";
import { parseGpgKeys, type QuietRunner, sshKeyFacts } from "./signing-readiness.ts";

/** Who signed a commit: the fingerprints of the signing key and of its primary key. */
type Signer = { readonly keys: readonly string[] } | "nobody" | "unknown";

/** A commit without its signature, and the signature. */
function split(
  commit: Buffer,
): { readonly payload: Buffer; readonly signature: string } | undefined {
  const text = commit.toString("latin1");
  const end = text.indexOf("\n\n");
  const head = text.slice(0, end + 1);
  const found = /^gpgsig(?:-sha256)? (.*\n(?: .*\n)*)/m.exec(head);
  if (found === null) return undefined;
  const payload = head.slice(0, found.index) + head.slice(found.index + found[0].length);
  return {
    payload: Buffer.from(payload + text.slice(end + 1), "latin1"),
    signature: (found[1] ?? "").replaceAll(/^ /gm, ""),
  };
}

/** Who signed a commit, as gpg or ssh-keygen reports it. No list of trusted signers is used. */
export async function signerOf(git: Git, commit: string, ask: QuietRunner): Promise<Signer> {
  const parts = split((await git.run(["cat-file", "commit", commit])).stdout);
  if (parts === undefined) return "nobody";
  await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-signature-"));
  const file = join(folder.path, "signature");
  const signed = join(folder.path, "signed");
  await writeFile(file, parts.signature);
  await writeFile(signed, parts.payload);
  if (parts.signature.startsWith("-----BEGIN SSH SIGNATURE")) {
    const args = ["-Y", "check-novalidate", "-n", "git", "-s", file];
    const { isOk, out } = await ask("ssh-keygen", args, parts.payload);
    const key = /key (SHA256:\S+)/.exec(out)?.[1];
    return isOk && key !== undefined ? { keys: [key] } : "unknown";
  }
  const args = ["--batch", "--no-tty", "--status-fd", "1", "--verify", file, signed];
  const { out } = await ask("gpg", args);
  const [, key, primary] = /^\[GNUPG:\] VALIDSIG (\S+)(?: \S+){8}(?: (\S+))?/m.exec(out) ?? [];
  return key === undefined ? "unknown" : { keys: primary === undefined ? [key] : [key, primary] };
}

/** The fingerprints of the keys that an identity may sign with. */
export async function signingKeysOf(
  identity: Identity,
  signing: Signing,
  ask: QuietRunner,
): Promise<readonly string[]> {
  if (signing.format === "ssh") {
    const facts = await sshKeyFacts(signing.key ?? identity.sshKey ?? "", ask);
    return facts === undefined ? [] : [facts.fingerprint];
  }
  const wanted = signing.key ?? identity.email ?? "";
  const args = ["--batch", "--no-tty", "--with-colons", "--list-keys", "--", wanted];
  return parseGpgKeys((await ask("gpg", args)).out).map(({ fingerprint }) => fingerprint);
}

/** Lists the signing keys of all identities, as ssh-keygen(1), "ALLOWED SIGNERS", has it. */
export async function writeAllowedSigners(
  path: string,
  identities: readonly Identity[],
  ask: QuietRunner,
): Promise<void> {
  const lines = await Promise.all(identities.map((identity) => signerLine(identity, ask)));
  const text = lines.filter((line) => line !== undefined).map((line) => `${line}\n`);
  // Every command of an agent comes here.
  if ((await readFile(path, "utf8").catch(() => undefined)) === text.join("")) return;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await replaceFile(path, text.join(""));
}

async function signerLine(identity: Identity, ask: QuietRunner): Promise<string | undefined> {
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
async function publicKey(key: string, ask: QuietRunner): Promise<string | undefined> {
  const literal = PUBLIC.exec(key)?.[1];
  if (literal !== undefined) return literal;
  for (const path of [`${key}.pub`, key]) {
    const found = PUBLIC.exec(await readFile(path, "utf8").catch(() => ""))?.[1];
    if (found !== undefined) return found;
  }
  // It can be derived from a secret key without a passphrase; never prompt for one.
  const { isOk, out } = await ask("ssh-keygen", ["-y", "-P", "", "-f", key]);
  return isOk ? PUBLIC.exec(out)?.[1] : undefined;
}

import type { Identity, Signing } from "../identity.ts";
import { type RunQuietly, type SigningReadiness, TOUCH, verdict } from "./signing-readiness.ts";

/** The output of `ssh-keygen -lf` for a key: `256 SHA256:… comment (ED25519-SK)`. */
export interface SshKeyFacts {
  readonly fingerprint: string;
  readonly type: string;
  /** FIDO: the secret key is on a hardware device. */
  readonly isDevice: boolean;
}

function parseSshKey(text: string): SshKeyFacts | undefined {
  const [, fingerprint, type = ""] = /^\d+ (SHA256:\S+) .*\(([^)]+)\)\s*$/m.exec(text) ?? [];
  if (fingerprint === undefined) return undefined;
  return { fingerprint, type, isDevice: /-SK$/i.test(type) };
}

/**
 * The facts of a signing key. Git accepts a file, or the key itself after `key::` (git-config(1),
 * `user.signingKey`).
 */
export async function sshKeyFacts(key: string, ask: RunQuietly): Promise<SshKeyFacts | undefined> {
  const literal = /^(?:key::)?((?:ssh|ecdsa|sk)-\S+ \S+.*)$/.exec(key)?.[1];
  const listed =
    literal === undefined
      ? await ask("ssh-keygen", ["-lf", key])
      : await ask("ssh-keygen", ["-lf", "-"], `${literal}\n`);
  return listed.isOk ? parseSshKey(listed.out) : undefined;
}

export async function sshReadiness(
  identity: Identity,
  signing: Signing,
  ask: RunQuietly,
  tries: boolean,
): Promise<SigningReadiness> {
  const key = signing.key ?? identity.sshKey ?? "";
  const say = (facts: Parameters<typeof verdict>[2]): SigningReadiness => {
    return verdict(identity, "ssh", { key, ...facts });
  };
  const found = await sshKeyFacts(key, ask);
  if (found === undefined) {
    const says = `Cannot read the SSH key '${key}'.`;
    const guidance = `Ask the person to configure another: \`trunkline identity edit ${identity.name} --signing-key FILE\`.`;
    return say({ isFound: false, says, guidance });
  }
  const hardware = found.isDevice || signing.hardware === true;
  const facts = { key: found.fingerprint, hardware };
  const touch = signing.touchPolicy ?? (hardware ? "on" : "off");
  if (hardware && touch !== "off") return say({ ...facts, needsTouch: true, ...TOUCH });
  const ready = "Commits can be made now.";
  if (!tries) return say({ ...facts, canSign: true, says: "The key exists.", guidance: ready });
  const tried = await ask(
    "ssh-keygen",
    ["-Y", "sign", "-n", "trunkline", "-f", key],
    "Trunkline asks whether this key can sign.\n",
  );
  if (tried.isOk) {
    return say({
      ...facts,
      canSign: true,
      says: "The key can sign without a person.",
      guidance: ready,
    });
  }
  if (tried.isLate) {
    const says = "ssh-keygen did not answer in time: it may be waiting for a person or an agent.";
    return say({ ...facts, says, guidance: "Do not commit now: it would hang. Tell the person." });
  }
  const isLocked = /passphrase|agent|No private key found|Couldn't load/i.test(tried.err);
  return say({
    ...facts,
    says: isLocked
      ? "The key is locked, or only its public part is here, and no agent holds it."
      : `ssh-keygen cannot sign: ${tried.err.trim().split("\n").at(-1)}`,
    guidance: `Ask the person to add it to an agent: \`ssh-add ${key.replace(/\.pub$/, "")}\`.`,
  });
}

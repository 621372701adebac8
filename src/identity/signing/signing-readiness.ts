import { gitEnvironment } from "../../git/git.ts";
import { type ProgramEnd, runProgram } from "../../git/run-program.ts";
import type { Identity, Signing, SigningFormat } from "../identity.ts";

/** Whether an identity can sign now, without a person. */
export interface SigningReadiness {
  readonly identity: string;
  /** Undefined if the identity does not sign. */
  readonly format: SigningFormat | undefined;
  /** The fingerprint, or the configured key if it was not found. */
  readonly key: string | undefined;
  readonly isFound: boolean;
  readonly hardware: boolean;
  /** A person has to touch the device for each signature. */
  readonly needsTouch: boolean;
  /** It signs without a prompt and without a touch. */
  readonly canSign: boolean;
  /** In words. */
  readonly says: string;
  /** What the agent or the person should do next. */
  readonly guidance: string;
}

interface ReadinessOptions {
  readonly env: NodeJS.ProcessEnv;
  /** Milliseconds for each program. */
  readonly timeout?: number;
  /** Makes a test signature; if false, only looks for the key. */
  readonly tries?: boolean;
}

const TIMEOUT = 5_000;
const MAX_OUTPUT = 1024 * 1024;

/** Checks whether an identity can sign. Never prompts, and ends within its timeout. */
export async function signingReadiness(
  identity: Identity,
  options: ReadinessOptions,
): Promise<SigningReadiness> {
  const { signing } = identity;
  if (signing === undefined) {
    const says = "This identity does not sign commits.";
    const guidance = "Commits can be made now; they are not signed.";
    return verdict(identity, undefined, { isFound: false, canSign: true, says, guidance });
  }
  const ask = quietRunner(options);
  const readiness = signing.format === "ssh" ? sshReadiness : gpgReadiness;
  return await readiness(identity, signing, ask, options.tries ?? true);
}

/** Runs a program without prompts, for a limited time. */
export type QuietRunner = (
  command: string,
  args: readonly string[],
  input?: string | Buffer,
) => Promise<QuietResult>;

interface QuietResult {
  /** Undefined where it was not run to its end: `err` says why. */
  readonly code?: ProgramEnd["code"];
  readonly isOk: boolean;
  readonly isLate: boolean;
  readonly isMissing: boolean;
  readonly out: string;
  readonly err: string;
}

export function quietRunner({ env, timeout = TIMEOUT }: ReadinessOptions): QuietRunner {
  const { GPG_TTY: _, DISPLAY: __, ...own } = gitEnvironment(env);
  const quiet = { ...own, SSH_ASKPASS_REQUIRE: "never", SSH_ASKPASS: "" };
  return async (command, args, input = "") => {
    const limits = { timeout, maxOutput: MAX_OUTPUT };
    try {
      const end = await runProgram({ command, args, env: quiet, input, ...limits });
      const { code, stdout, stderr: err } = end;
      const out = stdout.toString("utf8");
      return { code, isOk: code === 0, isLate: false, isMissing: false, out, err };
    } catch (error) {
      const { code, message: err } = error as { code?: string; message: string };
      const isLate = code === "timeout";
      return { isOk: false, isLate, isMissing: code === "unavailable", out: "", err };
    }
  };
}

/** A result with the common defaults. */
function verdict(
  identity: Identity,
  format: SigningFormat | undefined,
  facts: Partial<SigningReadiness> & Pick<SigningReadiness, "says" | "guidance">,
): SigningReadiness {
  return {
    identity: identity.name,
    format,
    key: undefined,
    isFound: true,
    hardware: false,
    needsTouch: false,
    canSign: false,
    ...facts,
  };
}

/** The text for every device that needs a touch. */
const TOUCH = {
  says: "The key is on a hardware device that needs a touch for each signature.",
  guidance:
    "Tell the person before you commit: they have to touch the device when it blinks. " +
    "Do not try again and again; each try waits for a touch.",
} as const;

/** Clears gpg-agent's cache, so that it asks again. */
export async function forgetPassphrases(env: NodeJS.ProcessEnv): Promise<void> {
  await quietRunner({ env })("gpgconf", ["--reload", "gpg-agent"]);
}

const QUIET = ["--batch", "--no-tty", "--with-colons", "--fixed-list-mode"] as const;

async function gpgReadiness(
  identity: Identity,
  signing: Signing,
  ask: QuietRunner,
  tries: boolean,
): Promise<SigningReadiness> {
  const wanted = signing.key ?? identity.email ?? "";
  const say = (facts: Parameters<typeof verdict>[2]): SigningReadiness => {
    return verdict(identity, "openpgp", { key: wanted, ...facts });
  };
  const list = await ask("gpg", [...QUIET, "--list-secret-keys", "--", wanted]);
  if (list.isMissing) {
    const guidance = "Ask the person to install GnuPG, or use an identity that signs with SSH.";
    return say({ isFound: false, says: "gpg is not installed.", guidance });
  }
  if (list.isLate) return say(late("gpg"));
  const keys = parseGpgKeys(list.out).filter(({ signs }) => signs);
  const key = keys.findLast(({ isValid }) => isValid) ?? keys.at(-1);
  if (key === undefined) {
    const says = `gpg has no secret key for '${wanted}' that can sign.`;
    const guidance = `Ask the person to import it, or to configure another: \`trunkline identity edit ${identity.name} --signing-key KEY\`.`;
    return say({ isFound: false, says, guidance });
  }
  const found = { key: key.fingerprint };
  if (!key.isValid) {
    return say({
      ...found,
      says: `The key ${key.fingerprint} is ${key.trouble}.`,
      guidance: "Ask the person to renew it, or to configure another.",
    });
  }
  if (key.secret === "missing") {
    return say({
      ...found,
      says: `The secret part of the key ${key.fingerprint} is not on this machine.`,
      guidance: "Ask the person to import it, or connect its device.",
    });
  }
  const hardware = key.secret === "device" || signing.hardware === true;
  const facts = { ...found, hardware };
  if (hardware) {
    const trouble = await deviceTrouble(key, signing, ask);
    if (trouble !== undefined) return say({ ...facts, ...trouble });
  }
  if (!tries) return say({ ...facts, ...READY, says: "The key exists." });
  const tried = await ask(
    "gpg",
    [
      ...["--batch", "--no-tty", "--pinentry-mode", "error", "--local-user"],
      ...[`${key.fingerprint}!`, "--output", "-", "--detach-sign"],
    ],
    TEST_TEXT,
  );
  return say({ ...facts, ...outcome(tried, hardware) });
}

/** What is signed to find out whether a key can. */
const TEST_TEXT = "Trunkline asks whether this key can sign.\n";

const READY = {
  canSign: true,
  says: "The key can sign without a person.",
  guidance: "Commits can be made now.",
} as const;

async function deviceTrouble(
  key: GpgKey,
  signing: Signing,
  ask: QuietRunner,
): Promise<Pick<SigningReadiness, "says" | "guidance" | "needsTouch"> | undefined> {
  const card = await ask("gpg", [...QUIET, "--card-status"]);
  if (!card.isOk && key.secret === "device") {
    const says = card.isLate
      ? "The hardware device with the key does not answer."
      : `The hardware device with the key (${key.device}) is not connected.`;
    return { needsTouch: false, says, guidance: "Ask the person to connect it." };
  }
  const { touchPolicy } = signing;
  // The device's answer counts; without one, the configured policy.
  const wantsTouch =
    cardWantsTouch(card.out) ?? (touchPolicy !== undefined && touchPolicy !== "off");
  return wantsTouch ? { needsTouch: true, ...TOUCH } : undefined;
}

function outcome(
  tried: QuietResult,
  hardware: boolean,
): Pick<SigningReadiness, "canSign" | "says" | "guidance"> {
  if (tried.isOk) return READY;
  if (tried.isLate) return { canSign: false, ...late("gpg") };
  const secret = hardware ? "PIN" : "passphrase";
  if (/No pinentry|pinentry|passphrase|PIN|Inappropriate ioctl|cancel/i.test(tried.err)) {
    return {
      canSign: false,
      says: `The key is locked: its ${secret} is needed.`,
      guidance: `Ask the person to sign something once in a terminal, so that gpg-agent remembers the ${secret}: \`echo | gpg --clearsign\`.`,
    };
  }
  const [last = "gpg could not sign"] = tried.err.trim().split("\n").slice(-1);
  return { canSign: false, says: `gpg cannot sign: ${last}`, guidance: "Tell the person." };
}

function late(program: string): { says: string; guidance: string } {
  return {
    says: `${program} did not answer in time: it may be waiting for a person, a device or an agent.`,
    guidance: "Do not commit now: it would hang. Tell the person.",
  };
}

/** The output of `ssh-keygen -lf` for a key: `256 SHA256:… comment (ED25519-SK)`. */
interface SshKeyFacts {
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
export async function sshKeyFacts(key: string, ask: QuietRunner): Promise<SshKeyFacts | undefined> {
  const literal = /^(?:key::)?((?:ssh|ecdsa|sk)-\S+ \S+.*)$/.exec(key)?.[1];
  const listed =
    literal === undefined
      ? await ask("ssh-keygen", ["-lf", key])
      : await ask("ssh-keygen", ["-lf", "-"], `${literal}\n`);
  return listed.isOk ? parseSshKey(listed.out) : undefined;
}

async function sshReadiness(
  identity: Identity,
  signing: Signing,
  ask: QuietRunner,
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
  if (!tries) return say({ ...facts, ...READY, says: "The key exists." });
  const tried = await ask("ssh-keygen", ["-Y", "sign", "-n", "trunkline", "-f", key], TEST_TEXT);
  if (tried.isOk) return say({ ...facts, ...READY });
  if (tried.isLate) return say({ ...facts, ...late("ssh-keygen") });
  return say({
    ...facts,
    says: /passphrase|agent|No private key found|Couldn't load/i.test(tried.err)
      ? "The key is locked, or only its public part is here, and no agent holds it."
      : `ssh-keygen cannot sign: ${tried.err.trim().split("\n").at(-1)}`,
    guidance: `Ask the person to add it to an agent: \`ssh-add ${key.replace(/\.pub$/, "")}\`.`,
  });
}

/** A key as `gpg --with-colons` lists it (GnuPG's doc/DETAILS), primary or not. */
interface GpgKey {
  readonly fingerprint: string;
  /** The key itself can sign. */
  readonly signs: boolean;
  readonly isValid: boolean;
  /** What is wrong with it. */
  readonly trouble: "expired" | "revoked" | "disabled" | "invalid" | undefined;
  /** Where the secret key is: on this machine, on a hardware device, or unknown to gpg. */
  readonly secret: "here" | "device" | "missing";
  readonly device: string | undefined;
}

const TROUBLES: Readonly<Record<string, NonNullable<GpgKey["trouble"]>>> = {
  e: "expired",
  r: "revoked",
  d: "disabled",
  i: "invalid",
};

/** Every key and subkey in a listing. */
export function parseGpgKeys(text: string): GpgKey[] {
  const keys: GpgKey[] = [];
  let begun: Omit<GpgKey, "fingerprint"> | undefined;
  for (const line of text.split("\n")) {
    const fields = line.split(":");
    const [kind = ""] = fields;
    if (/^(?:sec|ssb|pub|sub)$/.test(kind)) begun = keyOf(fields);
    else if (kind === "fpr" && begun !== undefined) {
      keys.push({ fingerprint: fields[9] ?? "", ...begun });
      begun = undefined;
    }
  }
  return keys;
}

function keyOf(fields: readonly string[]): Omit<GpgKey, "fingerprint"> {
  const [, validity = "", , , , , , , , , , abilities = "", , , token = ""] = fields;
  const trouble = TROUBLES[validity];
  const isDevice = /^[0-9A-Fa-f]{8,}$/.test(token);
  return {
    // Lower-case letters are the key's own capabilities, upper-case those of the whole key (GnuPG,
    // doc/DETAILS, field 12).
    signs: abilities.includes("s"),
    isValid: trouble === undefined,
    trouble,
    secret: isDevice ? "device" : token === "#" ? "missing" : "here",
    device: isDevice ? token : undefined,
  };
}

/**
 * Whether a card needs a touch to sign, from `gpg --card-status --with-colons`; undefined if it
 * does not say.
 */
export function cardWantsTouch(text: string): boolean | undefined {
  const sign = /^uif:([^:]*):/m.exec(text)?.[1];
  if (sign === undefined || sign === "") return undefined;
  return sign !== "0" && sign !== "off";
}

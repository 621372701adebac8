import type { Identity, Signing } from "../identity.ts";
import { cardWantsTouch, type GpgKey, parseGpgKeys } from "./gpg-keys.ts";
import {
  type Answer,
  type RunQuietly,
  type SigningReadiness,
  TOUCH,
  verdict,
} from "./signing-readiness.ts";

const QUIET = ["--batch", "--no-tty", "--with-colons", "--fixed-list-mode"] as const;

export async function gpgReadiness(
  identity: Identity,
  signing: Signing,
  ask: RunQuietly,
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
    const says = `The key ${key.fingerprint} is ${key.trouble}.`;
    return say({
      ...found,
      says,
      guidance: "Ask the person to renew it, or to configure another.",
    });
  }
  if (key.secret === "missing") {
    const says = `The secret part of the key ${key.fingerprint} is not on this machine.`;
    return say({
      ...found,
      says,
      guidance: "Ask the person to import it, or connect its device.",
    });
  }
  const hardware = key.secret === "device" || signing.hardware === true;
  const facts = { ...found, hardware };
  if (hardware) {
    const trouble = await deviceTrouble(key, signing, ask);
    if (trouble !== undefined) return say({ ...facts, ...trouble });
  }
  if (!tries) return say({ ...facts, canSign: true, says: "The key exists.", guidance: READY });
  const tried = await ask(
    "gpg",
    [
      ...["--batch", "--no-tty", "--pinentry-mode", "error", "--local-user"],
      ...[`${key.fingerprint}!`, "--output", "-", "--detach-sign"],
    ],
    "Trunkline asks whether this key can sign.\n",
  );
  return say({ ...facts, ...outcome(tried, hardware) });
}

const READY = "Commits can be made now.";

async function deviceTrouble(
  key: GpgKey,
  signing: Signing,
  ask: RunQuietly,
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
  tried: Answer,
  hardware: boolean,
): Pick<SigningReadiness, "canSign" | "says" | "guidance"> {
  if (tried.isOk)
    return { canSign: true, says: "The key can sign without a person.", guidance: READY };
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
    says: `${program} did not answer in time: it may be waiting for a person or a device.`,
    guidance: "Do not commit now: it would hang. Tell the person.",
  };
}

/** A key as `gpg --with-colons` lists it (GnuPG's doc/DETAILS), primary or not. */
export interface GpgKey {
  readonly fingerprint: string;
  readonly keyId: string;
  /** The key itself can sign. */
  readonly signs: boolean;
  readonly isValid: boolean;
  /** What is wrong with it. */
  readonly trouble: "expired" | "revoked" | "disabled" | "invalid" | undefined;
  readonly expires: string | undefined;
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
  const [, validity = "", , , keyId = "", , expiry = "", , , , , abilities = "", , , token = ""] =
    fields;
  const trouble = TROUBLES[validity];
  const isDevice = /^[0-9A-Fa-f]{8,}$/.test(token);
  return {
    keyId,
    // Lower-case letters are the key's own capabilities, upper-case those of the whole key (GnuPG,
    // doc/DETAILS, field 12).
    signs: abilities.includes("s"),
    isValid: trouble === undefined,
    trouble,
    expires: expiry === "" ? undefined : new Date(Number(expiry) * 1000).toISOString(),
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

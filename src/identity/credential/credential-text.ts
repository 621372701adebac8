import { TrunklineError } from "../../base/errors.ts";

/** What git asks a credential helper for (gitcredentials(7), git-credential(1)). */
export interface CredentialQuestion {
  readonly protocol: string;
  /** As it is written in the URL, with its port if it has one. */
  readonly host: string;
  /** Only sent if `credential.useHttpPath` is true. */
  readonly path: string | undefined;
  readonly username: string | undefined;
  readonly password: string | undefined;
}

const MAX_SIZE = 64 * 1024;

/** Reads what git writes to a helper: `key=value` lines up to an empty one. */
export function parseCredential(text: string): CredentialQuestion {
  if (text.length > MAX_SIZE) {
    throw new TrunklineError(
      "limit",
      `Cannot read git's credential request: it is over ${MAX_SIZE} characters`,
    );
  }
  const values = new Map<string, string>();
  for (const line of text.split("\n")) {
    if (line === "") break;
    const end = line.indexOf("=");
    if (end > 0) values.set(line.slice(0, end), line.slice(end + 1));
  }
  return {
    protocol: values.get("protocol") ?? "",
    host: (values.get("host") ?? "").toLowerCase(),
    path: values.get("path"),
    username: values.get("username"),
    password: values.get("password"),
  };
}

/** A helper's answer with a user name and a password. */
export function credentialText(
  username: string,
  password: string,
  expires: string | undefined,
): string {
  const end = expires === undefined ? undefined : Math.floor(Date.parse(expires) / 1000);
  const expiry = end === undefined || Number.isNaN(end) ? "" : `password_expiry_utc=${end}\n`;
  return `username=${username}\npassword=${password}\n${expiry}`;
}

/** A helper's answer that makes git stop: it asks no other helper and fails. */
export const QUIT = "quit=1\n";

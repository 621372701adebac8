/** Names that often hold secrets. */
export const DENIED_NAMES = [
  ...[".env", ".env.*", ".netrc"],
  ...["*.pem", "*.key", "*.p12", "*.pfx", "id_rsa", "id_ed25519"],
];

/** Decides which names are never committed. `*` in those that are given is any text within a name. */
export function nameJudge(denied: readonly string[]): (path: string) => string | undefined {
  const patterns = denied.map((name) => {
    const text = name.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`).replaceAll("*", "[^/]*");
    return new RegExp(`(?:^|/)${text}$`, "i");
  });
  return (path) => {
    if (patterns.some((pattern) => pattern.test(path))) {
      const why = "they often hold secrets, or `remote.scan.deny` has their name";
      return `files of this name are not committed: ${why}`;
    }
    return HIDING.test(path) ? "its name holds characters that are not seen" : undefined;
  };
}

/** Control characters, and those that turn the direction of a text. */
const HIDING = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/u;

/** macOS leaves these out of names (git's utf8.c, next_hfs_char). */
const IGNORED = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/gu;

/**
 * Whether a part of a path is `.git` or `.gitmodules` to Windows or macOS, and something else here: letters of
 * either size, short names such as `GIT~1`, streams and ends that Windows leaves out.
 */
export function isDisguised(path: string): boolean {
  return path.split("/").some((name) => name !== ".gitmodules" && name.split("\\").some(isGits));
}

/** Whether a part of a path is where git keeps something of its own, on any system. */
export function isGits(part: string): boolean {
  const [plain = ""] = part.replaceAll(IGNORED, "").toLowerCase().split(":");
  const name = plain.replace(/[. ]+$/, "");
  return (
    name === ".git" || name === ".gitmodules" || /^(?:git~1|gitmod~[1-4]|gi7eba~\d)$/.test(name)
  );
}

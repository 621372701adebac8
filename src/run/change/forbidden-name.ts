/** Names that often hold secrets. */
export const DENIED_NAMES = [
  ...[".env", ".env.*", ".netrc"],
  ...["*.pem", "*.key", "*.p12", "*.pfx", "id_rsa", "id_ed25519"],
];

/** Decides which names are never committed. In `denied`, `*` matches any text without a slash. */
export function nameJudge(denied: readonly string[]): (path: string) => string | undefined {
  const patterns = denied.map((name) => {
    const text = name.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`).replaceAll("*", "[^/]*");
    return new RegExp(`(?:^|/)${text}$`, "i");
  });
  return (path) => {
    if (patterns.some((pattern) => pattern.test(path))) {
      const why = "they often hold secrets, or `remote.scan.deny` lists them";
      return `files of this name are not committed: ${why}`;
    }
    return HIDING.test(path) ? "its name contains invisible characters" : undefined;
  };
}

/** Control characters, and characters that change the direction of text. */
const HIDING = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/u;

/** macOS ignores these characters in names (git's utf8.c, next_hfs_char). */
const IGNORED = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/gu;

/**
 * Whether Windows or macOS would read a part of a path as `.git` or `.gitmodules`, though Linux does not: other
 * letter case, short names such as `GIT~1`, streams (`.git:x`), and the dots and spaces at the end that
 * Windows drops.
 */
export function isDisguised(path: string): boolean {
  return path.split("/").some((name) => name !== ".gitmodules" && name.split("\\").some(isGitName));
}

/** Whether any system reads a part of a path as `.git` or `.gitmodules`. */
export function isGitName(part: string): boolean {
  const [plain = ""] = part.replaceAll(IGNORED, "").toLowerCase().split(":");
  const name = plain.replace(/[. ]+$/, "");
  return (
    name === ".git" || name === ".gitmodules" || /^(?:git~1|gitmod~[1-4]|gi7eba~\d)$/.test(name)
  );
}

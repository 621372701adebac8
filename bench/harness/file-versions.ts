import { execFileSync } from "node:child_process";

/** One version of a file, at the commit that made it. */
export interface FileVersion {
  readonly commit: string;
  readonly text: string;
}

/** The versions of every file of a repository along its first parents, oldest first. */
export function fileVersions(repository: string, head: string): Map<string, FileVersion[]> {
  const git = (args: string[], input = ""): Buffer =>
    execFileSync("git", args, { cwd: repository, input, maxBuffer: 1 << 30 });
  const how = ["--first-parent", "--reverse", "-m", "--no-renames", "--raw", "-z", "--no-abbrev"];
  const log = git(["log", ...how, "--format=%H", head]).toString("utf8");
  const changes: { path: string; commit: string; blob: string }[] = [];
  let commit = "";
  const fields = log.split(/[\0\n]/).filter(Boolean);
  for (const [at, field] of fields.entries()) {
    if (/^[0-9a-f]{40}$/.test(field)) commit = field;
    const [, blob] = /^:\d+ 100\d+ \S+ (\S+) [AM]$/.exec(field) ?? [];
    if (blob !== undefined) changes.push({ path: fields[at + 1] ?? "", commit, blob });
  }
  const texts = textsOf(git, [...new Set(changes.map(({ blob }) => blob))]);
  const versions = new Map<string, FileVersion[]>();
  for (const { path, commit: at, blob } of changes) {
    const text = texts.get(blob);
    if (text === undefined || text === "" || text.includes("\0")) continue;
    versions.set(path, [...(versions.get(path) ?? []), { commit: at, text }]);
  }
  return versions;
}

function textsOf(
  git: (args: string[], input?: string) => Buffer,
  blobs: readonly string[],
): Map<string, string> {
  const all = git(["cat-file", "--batch"], blobs.map((blob) => `${blob}\n`).join(""));
  const texts = new Map<string, string>();
  for (let at = 0; at < all.length;) {
    const line = all.indexOf("\n", at);
    const [blob = "", , size] = all.toString("latin1", at, line).split(" ");
    const to = line + 1 + Number(size);
    texts.set(blob, all.toString("utf8", line + 1, to));
    at = to + 1;
  }
  return texts;
}

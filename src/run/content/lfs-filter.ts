import { shellQuote } from "../../base/text/shell-word.ts";
import { writeProgram } from "../../git/server/pin-connection.ts";

/**
 * Git's filter for files of Git LFS, without git-lfs: `clean` makes a pointer of content, `smudge` content of
 * a pointer if one of the folders has it. What is a pointer already, or not in its normal form
 * (git-lfs, "docs/spec.md"), stays as it is, so that `clean` undoes `smudge` byte for byte.
 */
const FILTER = `#!/bin/sh
set -e
verb=$1 oid= its=
shift
whole=$(mktemp)
trap 'rm -f "$whole"' EXIT
cat >"$whole"
size=$(($(wc -c <"$whole")))
pointer() { printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:%s\\nsize %s\\n' "$1" "$2"; }
if [ "$size" -lt 1024 ]; then
  oid=$(sed -n 's/^oid sha256:\\([0-9a-f]\\{64\\}\\)$/\\1/p' "$whole")
  its=$(sed -n 's/^size \\([0-9]\\{1,\\}\\)$/\\1/p' "$whole")
fi
if [ "$size" = 0 ] || [ -n "$oid" ] || [ "$verb" = smudge ]; then
  for folder in "$@"; do
    if [ -f "$folder/$oid" ] && [ "$(pointer "$oid" "$its"; echo .)" = "$(cat "$whole"; echo .)" ]; then
      cat "$folder/$oid"
      exit
    fi
  done
  cat "$whole"
  exit
fi
sum=$(sha256sum <"$whole" || shasum -a 256 <"$whole")
pointer "\${sum%% *}" "$size"
`;

/** Writes the filter, which is run for files of untrusted repositories and reads nothing else. Returns its path. */
export async function writeLfsFilter(folder: string): Promise<string> {
  return await writeProgram(folder, "lfs-filter", FILTER, 0o755);
}

/** Where an agent's git folder has the filter. */
export const LFS_FILTER = ".git/lfs-filter";

/** The same as lines of a configuration, in which backslashes and quotes are escaped. */
export function lfsConfig(filter: string | undefined, folders: readonly string[]): string {
  return lfsSettings(filter, folders)
    .map((each) => each.split("="))
    .map(([key = "", ...value]) => {
      const text = value.join("=").replaceAll(/["\\]/g, String.raw`\$&`);
      return `[filter "lfs"]\n\t${key.replace("filter.lfs.", "")} = "${text}"\n`;
    })
    .join("");
}

/** Settings of git for the filter. `folders` have the objects. */
export function lfsSettings(filter: string | undefined, folders: readonly string[]): string[] {
  if (filter === undefined) return [];
  const program = shellQuote(filter);
  return [
    `filter.lfs.clean=${program} clean`,
    `filter.lfs.smudge=${program} smudge ${folders.map(shellQuote).join(" ")}`,
  ];
}

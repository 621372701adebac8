// Reads unified diffs as git prints them. An own reader and renderer: diff2html makes HTML text, which
// this page never inserts, and costs a fifth of the whole budget; comments need rows of our own anyway.

export interface DiffFile {
  readonly path: string;
  /** The former path of a renamed file. */
  readonly from?: string;
  readonly isBinary: boolean;
  readonly hunks: readonly DiffHunk[];
}

export interface DiffHunk {
  /** What git prints after the second @@: the function around the change. */
  readonly heading: string;
  readonly lines: readonly DiffLine[];
}

export interface DiffLine {
  readonly kind: "same" | "added" | "removed";
  readonly text: string;
  readonly old?: number;
  readonly new?: number;
}

// The heading is a line of the file, which may have characters that end a line for an expression.
const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$/s;

export function parseDiff(diff: string): DiffFile[] {
  const files: { path: string; from?: string; isBinary: boolean; hunks: DiffHunk[] }[] = [];
  const lines = diff.split("\n");
  let file: (typeof files)[number] | undefined;
  const begin = (path: string): NonNullable<typeof file> => {
    const made: NonNullable<typeof file> = { path, isBinary: false, hunks: [] };
    files.push(made);
    return made;
  };
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? "";
    const hunk = HUNK.exec(line);
    if (hunk !== null) {
      file ??= begin("");
      const [parsed, next] = hunkFrom(lines, at + 1, hunk);
      file.hunks.push(parsed);
      at = next - 1;
    } else if (line.startsWith("diff --git ")) {
      file = begin(pathAfterBoth(line.slice("diff --git ".length)));
    } else if (line.startsWith("--- ")) {
      if (file === undefined || file.isBinary || file.hunks.length > 0) file = begin("");
      const path = pathIn(line);
      if (path !== undefined && file.path === "") file.path = path;
    } else if (line.startsWith("+++ ") && file !== undefined) {
      file.path = pathIn(line) ?? file.path;
    } else if (line.startsWith("rename from ") && file !== undefined) {
      file.from = unquoted(line.slice("rename from ".length));
    } else if (/^(?:Binary files |GIT binary patch)/.test(line) && file !== undefined) {
      file.isBinary = true;
    }
  }
  return files;
}

/** The lines of a hunk are counted, since a removed line may look like a header. */
function hunkFrom(
  lines: readonly string[],
  from: number,
  hunk: RegExpExecArray,
): [DiffHunk, number] {
  let old = Number(hunk[1]);
  let fresh = Number(hunk[3]);
  const oldEnd = old + Number(hunk[2] ?? 1);
  const freshEnd = fresh + Number(hunk[4] ?? 1);
  const found: DiffLine[] = [];
  let at = from;
  for (; at < lines.length && (old < oldEnd || fresh < freshEnd); at++) {
    const line = lines[at] ?? "";
    const text = line.slice(1);
    if (line.startsWith("+")) found.push({ kind: "added", text, new: fresh++ });
    else if (line.startsWith("-")) found.push({ kind: "removed", text, old: old++ });
    else if (line.startsWith("\\")) continue;
    else found.push({ kind: "same", text, old: old++, new: fresh++ });
  }
  return [{ heading: hunk[5] ?? "", lines: found }, at];
}

function pathIn(line: string): string | undefined {
  const path = unquoted(line.slice(4).split("\t")[0] ?? "");
  return path === "/dev/null" ? undefined : path.replace(/^[ab]\//, "");
}

/** Both names of a file, which are the same unless it was renamed. A name may look like two. */
function pathAfterBoth(names: string): string {
  const second = unquoted(names.slice(names.length / 2 + 1));
  const isSame = unquoted(names.slice(0, names.length / 2)).slice(2) === second.slice(2);
  return isSame ? second.slice(2) : (/ "?b\/(.*?)"?$/s.exec(names)?.[1] ?? "");
}

const ESCAPES: Readonly<Record<string, string>> = {
  ...{ a: "\x07", b: "\b", t: "\t", n: "\n", v: "\v", f: "\f", r: "\r" },
};

/** Git quotes names with quotes, backslashes and control characters, and often all but ASCII. */
function unquoted(name: string): string {
  if (name.length < 2 || !name.startsWith('"') || !name.endsWith('"')) return name;
  return name.slice(1, -1).replaceAll(/(?:\\[0-7]{3})+|\\([^])/g, (bytes, letter?: string) => {
    if (letter !== undefined) return ESCAPES[letter] ?? letter;
    const octals = bytes.slice(1).split("\\");
    return new TextDecoder().decode(Uint8Array.from(octals, (octal) => Number.parseInt(octal, 8)));
  });
}

const ESCAPES: Readonly<Record<string, string>> = {
  ...{ a: "\x07", b: "\b", t: "\t", n: "\n", v: "\v", f: "\f", r: "\r" },
};
const LETTERS = new Map(Object.entries(ESCAPES).map(([letter, meant]) => [meant, letter]));
const NOWHERE = "/dev/null";

/** A name as git writes it in a patch (git's quote.c): one with a line end would look like a header. */
export function quotedName(name: string): string {
  // oxlint-disable-next-line no-control-regex -- Git quotes these.
  const escaped = name.replaceAll(/["\\\x00-\x1f\x7f]/g, (character) => {
    if (character === '"' || character === "\\") return `\\${character}`;
    const octal = character.charCodeAt(0).toString(8).padStart(3, "0");
    return `\\${LETTERS.get(character) ?? octal}`;
  });
  return escaped === name ? name : `"${escaped}"`;
}

/** The same in a line of its own, where what follows a space might be a time. */
export function lineName(name: string): string {
  const written = quotedName(name);
  return written === name && name.includes(" ") ? `${name}\t` : written;
}

/** The name that git has written in a patch. */
export function unquotedName(written: string): string {
  const text = written.endsWith("\t") ? written.slice(0, -1) : written;
  if (text.length < 2 || !text.startsWith('"') || !text.endsWith('"')) return text;
  return text.slice(1, -1).replaceAll(/(?:\\[0-7]{3})+|\\([^])/g, (bytes, letter?: string) => {
    if (letter !== undefined) return ESCAPES[letter] ?? letter;
    const octals = bytes.slice(1).split("\\");
    return new TextDecoder().decode(Uint8Array.from(octals, (octal) => Number.parseInt(octal, 8)));
  });
}

/** What a patch does to one file. */
export interface PatchPart {
  /** The name that the file has afterwards, or had if it is deleted. */
  readonly path: string;
  readonly text: string;
  /** Its lines from the first hunk on. */
  readonly body: readonly string[];
}

/**
 * The parts of a patch by git, one for each file. Only a newline ends a line: other characters that end
 * lines, in a regular expression too, may be part of a changed line, which could look like a header then.
 */
export function partsOfPatch(patch: string): PatchPart[] {
  const parts: string[][] = [];
  for (const line of patch.split("\n")) {
    if (line.startsWith("diff --git ")) parts.push([]);
    parts.at(-1)?.push(line);
  }
  return parts.map((lines) => {
    const from = lines.findIndex((line) => line.startsWith("@@ "));
    const head = from < 0 ? lines : lines.slice(0, from);
    const body = from < 0 ? [] : lines.slice(from);
    return { path: pathIn(head), text: lines.join("\n"), body };
  });
}

function pathIn(head: readonly string[]): string {
  const named = (start: string): string | undefined => {
    const written = head.find((line) => line.startsWith(start))?.slice(start.length);
    return written === undefined ? undefined : unquotedName(written);
  };
  const [from, to] = [named("--- "), named("+++ ")];
  if (to !== undefined && to !== NOWHERE) return withoutSide(to);
  if (from !== undefined && from !== NOWHERE) return withoutSide(from);
  const both = head[0]?.slice("diff --git ".length) ?? "";
  // Without lines that changed, the same name is there twice, unless the file is a renamed one.
  return (
    named("rename to ") ??
    named("copy to ") ??
    withoutSide(unquotedName(both.slice(both.length / 2 + 1)))
  );
}

/** Without `a/` or `b/`. */
function withoutSide(name: string): string {
  return name.slice(2);
}

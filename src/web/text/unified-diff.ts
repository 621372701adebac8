/** A hunk of a unified diff, as git prints it. */
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

/** The hunks of a unified diff. Their lines are counted, since a removed line may look like a header. */
export function hunksIn(diff: string): DiffHunk[] {
  const hunks: DiffHunk[] = [];
  const lines = diff.split("\n");
  for (let at = 0; at < lines.length; at++) {
    const hunk = HUNK.exec(lines[at] ?? "");
    if (hunk === null) continue;
    let old = Number(hunk[1]);
    let fresh = Number(hunk[3]);
    const oldEnd = old + Number(hunk[2] ?? 1);
    const freshEnd = fresh + Number(hunk[4] ?? 1);
    const found: DiffLine[] = [];
    while (at + 1 < lines.length && (old < oldEnd || fresh < freshEnd)) {
      const line = lines[++at] ?? "";
      const text = line.slice(1);
      if (line.startsWith("+")) found.push({ kind: "added", text, new: fresh++ });
      else if (line.startsWith("-")) found.push({ kind: "removed", text, old: old++ });
      else if (!line.startsWith("\\")) found.push({ kind: "same", text, old: old++, new: fresh++ });
    }
    hunks.push({ heading: hunk[5] ?? "", lines: found });
  }
  return hunks;
}

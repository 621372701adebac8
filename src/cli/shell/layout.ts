import { visible, visibleLine } from "../../base/text/visible.ts";

/** Breaks text into lines of at most `width` columns; a word longer than that stands alone. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(/\s+/).filter((part) => part !== "")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else {
      line = line === "" ? word : `${line} ${word}`;
    }
  }
  return line === "" ? lines : [...lines, line];
}

/** Two columns: labels, and their texts beside them, or below a label that is too long. */
export function columns(rows: readonly (readonly [string, string])[], width: number): string[] {
  const widest = Math.max(0, ...rows.map(([label]) => label.length));
  // Labels may fill half of the line; more would leave too little room for the text.
  const left = Math.min(widest, Math.floor(width / 2) - 4) + 4;
  return rows.flatMap(([label, text]) => {
    const [first = "", ...more] = wrap(text, width - left);
    const indented = more.map((line) => " ".repeat(left) + line);
    const head = `  ${label}`;
    if (head.length + 2 <= left) return [(head.padEnd(left) + first).trimEnd(), ...indented];
    return [head, " ".repeat(left) + first, ...indented];
  });
}

/** Rows in columns that are as wide as their longest cell. The first row has the headings. */
export function table(rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map(visibleLine));
  const widths = cells[0]?.map((_, at) => Math.max(...cells.map((row) => row[at]?.length ?? 0)));
  return cells
    .map((row) => row.map((cell, at) => cell.padEnd(widths?.[at] ?? 0)).join("  "))
    .map((line) => `${line.trimEnd()}\n`)
    .join("");
}

/** `1 tool`, `2 tools`. */
export function counted(count: number, one: string, several = `${one}s`): string {
  return `${count} ${count === 1 ? one : several}`;
}

/** The first line that is not blank. */
export function firstLine(text: string): string {
  const lines = text.trimStart();
  const end = lines.indexOf("\n");
  const line = visible((end === -1 ? lines : lines.slice(0, end)).trimEnd());
  return line.includes("\t") ? line.replaceAll("\t", " ") : line;
}

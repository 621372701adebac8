import { lineName, quotedName } from "../../../base/text/patch-names.ts";

const CONTEXT = 3;

/** A change of a file as a git patch with one hunk. `firstLine` is the first line of excerpts. */
export function gitPatch(
  path: string,
  oldText: string | undefined,
  newText: string,
  firstLine = 1,
): string {
  const name = path.replace(/^\/+/, "");
  const before = linesOf(oldText ?? "");
  const after = linesOf(newText);
  const [same, tail] = inCommon(before, after);
  const head = Math.max(0, same - CONTEXT);
  const removed = before.slice(same, before.length - tail);
  const added = after.slice(same, after.length - tail);
  const ending = before.slice(before.length - tail, before.length - tail + CONTEXT);
  const hunk = [
    ...before.slice(head, same).map((line) => ` ${line}`),
    ...removed.map((line) => `-${line}`),
    ...added.map((line) => `+${line}`),
    ...ending.map((line) => ` ${line}`),
  ];
  const around = same - head + ending.length;
  const start = firstLine + head;
  const range = (count: number): string => `${count === 0 ? start - 1 : start},${count}`;
  return [
    `diff --git ${quotedName(`a/${name}`)} ${quotedName(`b/${name}`)}\n`,
    ...(oldText === undefined
      ? ["new file mode 100644\n", "--- /dev/null\n"]
      : [`--- ${lineName(`a/${name}`)}\n`]),
    `+++ ${lineName(`b/${name}`)}\n`,
    `@@ -${range(removed.length + around)} +${range(added.length + around)} @@\n`,
    ...hunk.map((line) => (line.endsWith("\n") ? line : `${line}\n\\ No newline at end of file\n`)),
  ].join("");
}

/** The lines of a text, with their line ends. */
function linesOf(text: string): string[] {
  return text === "" ? [] : text.split(/(?<=\n)/);
}

/** The numbers of equal lines at the beginning and at the end. */
function inCommon(a: readonly string[], b: readonly string[]): [number, number] {
  const most = Math.min(a.length, b.length);
  let head = 0;
  while (head < most && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < most - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  return [head, tail];
}

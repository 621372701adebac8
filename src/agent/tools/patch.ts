import { attempt } from "../../base/attempt.ts";
import { TrunklineError } from "../../base/errors.ts";

/** A part of a file that a patch changes. */
export interface Hunk {
  /** A line after which the part is, such as the head of a function. */
  readonly after: string | undefined;
  readonly old: string[];
  readonly fresh: string[];
  /** Of each new line: the index of the old one that it is, if it is unchanged. */
  readonly kept: (number | undefined)[];
  isAtEnd: boolean;
}

export type PatchedFile =
  | { readonly kind: "add"; readonly path: string; readonly text: string }
  | { readonly kind: "delete"; readonly path: string }
  | {
      readonly kind: "update";
      readonly path: string;
      readonly moveTo: string | undefined;
      readonly hunks: readonly Hunk[];
    };

const HEAD = /^\*\*\* (Add|Delete|Update) File: (.+)$/;

/** Reads a patch in the format of codex's `apply_patch`. Throws if it is not one, and says why. */
export function parsePatch(input: string): PatchedFile[] {
  const lines = linesOf(input.trim());
  // Some models wrap it in a here-document, as for a shell.
  const from = lines.indexOf("*** Begin Patch");
  const to = lines.lastIndexOf("*** End Patch");
  if (from < 0 || to < from) {
    throw misread("it has to begin with '*** Begin Patch' and to end with '*** End Patch'");
  }
  const body = lines.slice(from + 1, to);
  const files: PatchedFile[] = [];
  for (let at = 0; at < body.length;) {
    const [, kind, name = ""] = HEAD.exec(body[at] ?? "") ?? [];
    if (kind === undefined) {
      if (body[at]?.trim() === "" && at++ >= 0) continue;
      throw misread(`'${body[at]?.slice(0, 100)}' is no line of a file's change`);
    }
    const next = body.findIndex((line, index) => index > at && HEAD.test(line));
    const part = body.slice(at + 1, next < 0 ? body.length : next);
    files.push(fileOf(kind, name.trim(), part));
    at = next < 0 ? body.length : next;
  }
  if (files.length === 0) throw misread("it names no file");
  return files;
}

function fileOf(kind: string, path: string, part: readonly string[]): PatchedFile {
  if (kind === "Delete") return { kind: "delete", path };
  if (kind === "Add") {
    const wrong = part.find((line) => !line.startsWith("+") && line.trim() !== "");
    if (wrong !== undefined) throw misread(`each line of the new file '${path}' begins with '+'`);
    const lines = part.filter((line) => line.startsWith("+")).map((line) => `${line.slice(1)}\n`);
    return { kind: "add", path, text: lines.join("") };
  }
  const moveTo = /^\*\*\* Move to: (.+)$/.exec(part[0] ?? "")?.[1]?.trim();
  return { kind: "update", path, moveTo, hunks: hunksOf(part.slice(moveTo === undefined ? 0 : 1)) };
}

function hunksOf(lines: readonly string[]): Hunk[] {
  const hunks: Hunk[] = [];
  for (const line of lines) {
    const [, after] = /^@@ ?(.*)$/.exec(line) ?? [];
    let hunk = hunks.at(-1);
    if (after !== undefined || hunk === undefined) {
      hunk = { after: after?.trim() || undefined, old: [], fresh: [], kept: [], isAtEnd: false };
      hunks.push(hunk);
      if (after !== undefined) continue;
    }
    const text = line.slice(1);
    if (line === "*** End of File") hunk.isAtEnd = true;
    else if (line.startsWith("+")) {
      hunk.fresh.push(text);
      hunk.kept.push(undefined);
    } else if (line.startsWith("-")) hunk.old.push(text);
    else if (line.startsWith(" ") || line === "") {
      hunk.kept.push(hunk.old.push(text) - 1);
      hunk.fresh.push(text);
    } else throw misread(`'${line.slice(0, 100)}' begins with none of ' ', '+', '-' and '@@'`);
  }
  return hunks.filter(({ old, fresh }) => old.length + fresh.length > 0);
}

/** The files that a patch names. What is no patch names none: it changes nothing. */
export function pathsOfPatch(input: unknown): string[] {
  return attempt(() => parsePatch(String(input)), []).flatMap((file) => {
    const moveTo = file.kind === "update" ? file.moveTo : undefined;
    return moveTo === undefined ? [file.path] : [file.path, moveTo];
  });
}

export function linesOf(text: string): string[] {
  return text.split("\n").map((line) => line.replace(/\r$/, ""));
}

function misread(why: string): TrunklineError {
  return new TrunklineError("usage", `Cannot read the patch: ${why}`);
}

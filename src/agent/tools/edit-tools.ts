import { TrunklineError } from "../../base/errors.ts";
import { MASK } from "../../base/text/mask.ts";
import { counted } from "../../base/text/counted.ts";
import type { WorkspacePath } from "../files/workspace.ts";
import {
  type AgentTool,
  inputOf,
  textContent,
  type ToolAnswer,
  type ToolWork,
} from "./agent-tool.ts";
import { changeLocation, inCodeBlock, shownDiff, wholeDiff } from "./tool-runner.ts";
import { findLines, nearestLines } from "./match-text.ts";
import { type Hunk, linesOf, parsePatch, type PatchedFile } from "./patch.ts";

const PATH = { type: "string", description: "From the workspace's folder, or absolute." };
const EDIT = {
  old_string: {
    type: "string",
    minLength: 1,
    description: "Text that is there, with its blanks, long enough to be there only once.",
  },
  new_string: { type: "string", description: "Text to put in its place." },
  replace_all: { type: "boolean", description: "Replace it wherever it stands." },
};

export const editFile: AgentTool = {
  name: "edit_file",
  description: "Replaces one piece of text in a file by another.",
  inputSchema: inputOf({ path: PATH, ...EDIT }, ["path", "old_string", "new_string"]),
  example: { path: "src/a.ts", old_string: "  return a - b;", new_string: "  return a + b;" },
  kind: "edit",
  need: "write",
  title: ({ path }) => `Edit ${String(path)}`,
  call(args, work) {
    const { path, ...edit } = args as unknown as Edit & { path: string };
    return change(path, [edit], work);
  },
};

export const multiEdit: AgentTool = {
  name: "multi_edit",
  description:
    "Makes several replacements in one file, one after the other: all of them, or none if one " +
    "does not fit.",
  inputSchema: inputOf(
    {
      path: PATH,
      edits: {
        type: "array",
        minItems: 1,
        maxItems: 200,
        items: inputOf(EDIT, ["old_string", "new_string"]),
      },
    },
    ["path", "edits"],
  ),
  example: {
    path: "src/a.ts",
    edits: [{ old_string: "sum(", new_string: "total(", replace_all: true }],
  },
  kind: "edit",
  need: "write",
  title: ({ path }) => `Edit ${String(path)}`,
  call(args, work) {
    const { path, edits } = args as unknown as { path: string; edits: readonly Edit[] };
    return change(path, edits, work);
  },
};

export const writeFile: AgentTool = {
  name: "write_file",
  description:
    "Makes a file, or replaces all of its content. To change a part of a file, use edit_file.",
  inputSchema: inputOf(
    {
      path: { type: "string", description: "From the workspace's folder, or absolute." },
      content: { type: "string", description: "All that the file is to hold." },
    },
    ["path", "content"],
  ),
  example: { path: "src/sum.ts", content: "export const sum = (a: number, b: number) => a + b;\n" },
  kind: "edit",
  need: "write",
  title: ({ path }) => `Write ${String(path)}`,
  async call(args, work) {
    const { path, content } = args as { path: string; content: string };
    const target = await work.files.workspace.findToWrite(path);
    await work.show({ locations: [{ path: target.path }] });
    const old = await work.files.readToChange(target, "whole");
    return changeKnown(work, [{ target, old, text: content }]);
  },
};

/** What codex's models were trained to write. */
export function applyPatch(isKnown: () => boolean): AgentTool {
  return {
    name: "apply_patch",
    description:
      "Changes, adds, deletes and renames files by a patch: all of them, or none if a part does " +
      "not fit. Unchanged lines around each change say where it is.",
    inputSchema: inputOf({ input: { type: "string", description: PATCH_FORMAT } }, ["input"]),
    kind: "edit",
    need: "write",
    fits: isKnown,
    title: ({ input }) => {
      const names = [...String(input).matchAll(/^\*\*\* (?:Add|Delete|Update) File: (.+)$/gm)];
      return `Patch ${names.map(([, name]) => name).join(", ")}`;
    },
    async call(args, work) {
      const changes: FileChange[] = [];
      for (const file of parsePatch((args as { input: string }).input)) {
        changes.push(...(await changesOf(file, work)));
      }
      const twice = changes.find(({ target }, at) =>
        changes.some((other, index) => index < at && other.target.real === target.real),
      );
      if (twice !== undefined) throw unfit(`The patch names '${twice.target.name}' twice`);
      return changeKnown(work, changes);
    },
  };
}

const PATCH_FORMAT =
  "*** Begin Patch\n*** Update File: src/a.ts\n@@ function f() {\n   const a = 1;\n-  return a;\n" +
  "+  return a + 1;\n*** Add File: b.txt\n+its text\n*** Delete File: c.txt\n*** End Patch";

async function changesOf(file: PatchedFile, work: ToolWork): Promise<FileChange[]> {
  const { files } = work;
  const target = await files.workspace.findToWrite(file.path);
  const extent = file.kind === "update" ? "part" : "whole";
  const old = await files.readToChange(target, extent);
  if (file.kind === "add") {
    if (old !== undefined) throw unfit(`'${target.name}' is there already: update it instead`);
    return [{ target, old, text: file.text }];
  }
  const before = old ?? (await files.read(target));
  const mode = files.modeOf(target);
  const removed = { target, old: before, text: undefined, mode };
  if (file.kind === "delete") return [removed];
  const { text, notes } = applyHunks(before, file.hunks, target.name);
  if (file.moveTo === undefined) return [{ target, old: before, text, notes }];
  const to = await files.workspace.findToWrite(file.moveTo);
  if ((await files.readIfThere(to)) !== undefined) throw unfit(`'${to.name}' is there already`);
  return [{ target: to, old: undefined, text, notes, mode }, removed];
}

async function change(path: string, edits: readonly Edit[], work: ToolWork): Promise<ToolAnswer> {
  const target = await work.files.workspace.findToWrite(path);
  await work.show({ locations: [{ path: target.path }] });
  const old = (await work.files.readToChange(target, "part")) ?? (await work.files.read(target));
  return changeKnown(work, [{ target, old, ...applyEdits(old, edits, target.name) }]);
}

/** Makes changes of the model, which then knows what the files hold. */
async function changeKnown(work: ToolWork, changes: readonly FileChange[]): Promise<ToolAnswer> {
  const answer = await changeFiles(work, changes);
  for (const { target, text } of changes) work.files.seen.wrote(target.real, text);
  const broken = (await work.diagnostics?.after(changes, work)) ?? "";
  if (broken === "") return answer;
  const content = [...(answer.content ?? []), textContent(inCodeBlock(broken))];
  return { ...answer, text: `${answer.text}\n${broken}`, content };
}

/**
 * Whether a file is only worked on. Editors and tools run what files such as `.vscode/tasks.json` or
 * `.envrc` say, and a link may lead to one.
 */
function isPlain({ name, real }: WorkspacePath): boolean {
  return !/(?:^|[\\/])\./.test(name) && real.endsWith(`/${name}`);
}

/** One file of a change. */
interface FileChange {
  readonly target: WorkspacePath;
  readonly old: string | undefined;
  /** Undefined to remove it. */
  readonly text: string | undefined;
  /** What was tolerated, for the model. */
  readonly notes?: readonly string[];
  /** The mode of a file that is removed or moved. */
  readonly mode?: number | undefined;
}

/** Shows a person the diffs of files, and changes all of them if they allow it, or none. */
export async function changeFiles(
  work: Pick<ToolWork, "allow" | "files">,
  changes: readonly FileChange[],
): Promise<ToolAnswer> {
  for (const each of changes) checkChange(each);
  const locations = changes.map(({ target, old, text = "" }) =>
    changeLocation(target.path, old, text),
  );
  const title = changes.map((each) => `${verbOf(each)} ${each.target.name}`).join(", ");
  await work.allow({
    subject: { action: "edit" },
    covers: "every change of a file",
    title,
    content: changes.map(({ target, old, text = "" }) => wholeDiff(target.path, old, text)),
    locations,
    isPlainEdit: changes.every(({ target }) => isPlain(target)),
  });
  const done: FileChange[] = [];
  try {
    for (const each of changes) {
      await make(work, each);
      done.push(each);
    }
  } catch (error) {
    // Only what is still as it was left; otherwise somebody else has gone on with it.
    const left: string[] = [];
    for (const { target, old, text, mode } of done.toReversed()) {
      await make(work, { target, old: text, text: old, mode }).catch(() => left.push(target.name));
    }
    if (left.length === 0) throw error;
    const says = `${(error as Error).message}. Already changed, and not changed back: ${left.join(", ")}`;
    throw new TrunklineError("conflict", says, { cause: error });
  }
  const content = changes.map(({ target, old, text = "" }) => shownDiff(target.path, old, text));
  return { text: changes.map(changeText).join("\n"), content, locations };
}

function checkChange({ target, old, text }: FileChange): void {
  if (old === text) {
    const says = `'${target.name}' has this content already: nothing to change`;
    throw new TrunklineError("usage", says);
  }
  if ((text ?? "").split(MASK).length > (old ?? "").split(MASK).length) {
    const says =
      `Cannot write '${MASK}' to '${target.name}': it stands for a secret that you cannot see. ` +
      "Change only the lines around it, with edit_file";
    throw new TrunklineError("usage", says);
  }
}

async function make(
  { files }: Pick<ToolWork, "files">,
  { target, old, text, mode }: FileChange,
): Promise<void> {
  if (text !== undefined) await files.write(target, text, old, mode);
  else if (old !== undefined) await files.remove(target, old);
}

function verbOf({ old, text }: FileChange): string {
  return old === undefined ? "Create" : text === undefined ? "Delete" : "Edit";
}

function changeText({ target, old, text, notes = [] }: FileChange): string {
  if (text === undefined) return `Deleted ${target.name}.`;
  const lines = text === "" ? 0 : text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
  const verb = old === undefined ? "Created" : "Changed";
  const how = notes.map((note) => ` (It was found although ${note}.)`).join("");
  return `${verb} ${target.name} (${counted(lines, "line")} now).${how}`;
}

/** Member names that models know from other agents. */
export interface Edit {
  readonly old_string: string;
  readonly new_string: string;
  readonly replace_all?: boolean;
}

/** A text after edits, and what was tolerated to make them. */
interface EditedText {
  readonly text: string;
  readonly notes: readonly string[];
}

/** Applies replacements in order. Throws if one cannot be applied, and says what to do. */
export function applyEdits(text: string, edits: readonly Edit[], name: string): EditedText {
  let changed = text;
  const notes: string[] = [];
  for (const [index, edit] of edits.entries()) {
    const which = edits.length > 1 ? `Edit ${index + 1} of ${edits.length} in` : "The edit of";
    const done = applyEdit(changed, edit, `${which} '${name}'`);
    changed = done.text;
    notes.push(...done.notes);
  }
  return { text: changed, notes };
}

function applyEdit(text: string, edit: Edit, what: string): EditedText {
  const fitted = withLineEnds(text, edit);
  const { old_string: old, new_string: replacement } = fitted;
  const first = text.indexOf(old);
  if (first < 0) return applyTolerantly(text, edit, what);
  if (edit.replace_all === true) {
    return { text: text.replaceAll(old, () => replacement), notes: [] };
  }
  const second = text.indexOf(old, first + 1);
  if (second >= 0) throw ambiguous(what, [lineAt(text, first), lineAt(text, second)]);
  const after = text.slice(0, first) + replacement + text.slice(first + old.length);
  return { text: after, notes: [] };
}

/** Finds whole lines that differ only in blanks or typography, if there is one such place. */
function applyTolerantly(text: string, edit: Edit, what: string): EditedText {
  const lines = linesOf(text);
  const wanted = linesOf(edit.old_string);
  const endsLine = wanted.length > 1 && wanted.at(-1) === "";
  const given = endsLine ? wanted.slice(0, -1) : wanted;
  const isBlank = given.every((line) => line.trim() === "");
  const found = isBlank || edit.replace_all === true ? [] : findLines(lines, given);
  const [match, other] = found;
  if (match === undefined) throw notThere(what, lines, given, edit.new_string);
  if (other !== undefined) throw ambiguous(what, [match.from + 1, other.from + 1]);
  const start = offsetOf(text, match.from);
  const next = offsetOf(text, match.to);
  const end = endsLine || match.to === lines.length ? next : next - lineEnd(text).length;
  const fresh = match.fit(linesOf(edit.new_string)).join(lineEnd(text));
  const notes = match.differs === undefined ? [] : [match.differs];
  return { text: text.slice(0, start) + fresh + text.slice(end), notes };
}

/** Where a line begins; the end of the text after the last. */
function offsetOf(text: string, line: number): number {
  let offset = 0;
  for (let at = 0; at < line; at++) {
    const end = text.indexOf("\n", offset);
    if (end < 0) return text.length;
    offset = end + 1;
  }
  return offset;
}

function lineEnd(text: string): string {
  return text.includes("\r\n") ? "\r\n" : "\n";
}

/** Models write LF, so an edit of a CRLF file is converted. */
function withLineEnds(text: string, edit: Edit): Edit {
  if (text.includes(edit.old_string) || !text.includes("\r\n")) return edit;
  const crlf = (part: string): string => part.replaceAll(/\r?\n/g, "\r\n");
  return { ...edit, old_string: crlf(edit.old_string), new_string: crlf(edit.new_string) };
}

function notThere(
  what: string,
  lines: readonly string[],
  given: readonly string[],
  fresh: string,
): TrunklineError {
  const isDone = fresh.trim() !== "" && findLines(lines, linesOf(fresh.trimEnd())).length === 1;
  const done = isDone ? " The new text is there already: perhaps nothing is left to do." : "";
  return unfit(`${what} does not fit: the text is not there.${done}${nearest(lines, given)}`);
}

/** What is there instead, for the model. */
function nearest(lines: readonly string[], given: readonly string[]): string {
  const near = nearestLines(lines, given);
  return near === "" ? " Read the file again" : ` The nearest text, with line numbers:\n${near}`;
}

function ambiguous(what: string, lines: readonly number[]): TrunklineError {
  const where = `first in lines ${lines.join(" and ")}`;
  const next = "Give more of the text around it, or set replace_all";
  return unfit(`${what} does not fit: the text is there more than once, ${where}. ${next}`);
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}

function unfit(says: string): TrunklineError {
  return new TrunklineError("conflict", says);
}

/** A text after the hunks of a patch. Throws if one does not fit, or fits in several places. */
export function applyHunks(text: string, hunks: readonly Hunk[], name: string): EditedText {
  const lines = linesOf(text);
  const endsLine = lines.at(-1) === "";
  if (endsLine) lines.pop();
  const notes = new Set<string>();
  let next = 0;
  for (const [index, { after, old, fresh, kept, isAtEnd }] of hunks.entries()) {
    const what = `Part ${index + 1} of ${hunks.length} for '${name}'`;
    if (after !== undefined) {
      const at = findLines(lines, [after], next)[0] ?? looseLine(lines, after, next);
      if (at === undefined)
        throw unfit(`${what}: no line is '${after}'.${nearest(lines, [after])}`);
      // The line itself may be the first of the hunk.
      next = old[0]?.trim() === after ? at.from : at.to;
    }
    if (old.length === 0) {
      const end = isAtEnd || after === undefined ? lines.length : next;
      lines.splice(end, 0, ...fresh);
      next = end + fresh.length;
      continue;
    }
    const found = findLines(lines, old, next);
    const [first, second] = isAtEnd ? found.toReversed() : found;
    if (first === undefined) throw unfit(`${what} does not fit.${nearest(lines, old)}`);
    if (second !== undefined && after === undefined && !isAtEnd) {
      const where = `in lines ${first.from + 1} and ${second.from + 1}`;
      throw unfit(`${what} fits ${where}. Add lines around it, or '@@ ' and a line before it`);
    }
    if (first.differs !== undefined) notes.add(first.differs);
    const there = lines.slice(first.from, first.to);
    const made = first.fit(fresh).map((line, at) => there[kept[at] ?? -1] ?? line);
    lines.splice(first.from, old.length, ...made);
    next = first.from + fresh.length;
  }
  const joined = lines.join(lineEnd(text));
  const ends = (endsLine || text === "") && lines.length > 0 ? lineEnd(text) : "";
  return { text: joined + ends, notes: [...notes] };
}

/** Models give the head of a function without its indentation. */
function looseLine(lines: readonly string[], wanted: string, start: number) {
  const from = lines.findIndex((line, at) => at >= start && line.trim() === wanted);
  return from < 0 ? undefined : { from, to: from + 1 };
}

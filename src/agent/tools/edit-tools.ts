import { TrunklineError } from "../../base/errors.ts";
import { MASK } from "../../base/text/mask.ts";
import type { WorkspacePath } from "../files/workspace.ts";
import { type AgentTool, inputOf, type ToolAnswer, type ToolWork } from "./agent-tool.ts";
import { changeLocation, shownDiff, wholeDiff } from "./tool-runner.ts";

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
  kind: "edit",
  need: "write",
  title: ({ path }) => `Write ${String(path)}`,
  async call(args, work) {
    const { path, content } = args as { path: string; content: string };
    const target = await work.files.workspace.findToWrite(path);
    await work.show({ locations: [{ path: target.path }] });
    const old = await work.files.readToChange(target, "whole");
    return changeOf(work, target, { old, text: content });
  },
};

const change = async (
  path: string,
  edits: readonly Edit[],
  work: Parameters<AgentTool["call"]>[1],
): ReturnType<AgentTool["call"]> => {
  const target = await work.files.workspace.findToWrite(path);
  await work.show({ locations: [{ path: target.path }] });
  const old = (await work.files.readToChange(target, "part")) ?? (await work.files.read(target));
  return changeOf(work, target, { old, text: applyEdits(old, edits, target.name) });
};

/** Makes a change of the model, which then knows what the file holds. */
async function changeOf(
  work: ToolWork,
  target: WorkspacePath,
  change: { readonly old: string | undefined; readonly text: string },
): Promise<ToolAnswer> {
  const answer = await changeFile(work, target, change);
  work.files.seen.wrote(target.real, change.text);
  return answer;
}

/** Member names that models know from other agents. */
interface Edit {
  readonly old_string: string;
  readonly new_string: string;
  readonly replace_all?: boolean;
}

/** Applies replacements in order. Throws if one cannot be applied, and says what to do. */
export function applyEdits(text: string, edits: readonly Edit[], name: string): string {
  let changed = text;
  for (const [index, edit] of edits.entries()) {
    const which = edits.length > 1 ? `Edit ${index + 1} of ${edits.length} in` : "The edit of";
    changed = applyEdit(changed, edit, `${which} '${name}'`);
  }
  return changed;
}

function applyEdit(text: string, edit: Edit, what: string): string {
  const fitted = fit(text, edit);
  const { old_string: old, new_string: replacement } = fitted;
  const first = text.indexOf(old);
  if (first < 0) throw unfit(`${what} does not fit: the text is not there.${near(text, old)}`);
  if (edit.replace_all === true) return text.replaceAll(old, () => replacement);
  const second = text.indexOf(old, first + 1);
  if (second >= 0) {
    const lines = `first in lines ${lineAt(text, first)} and ${lineAt(text, second)}`;
    const next = "Give more of the text around it, or set replace_all";
    throw unfit(`${what} does not fit: the text is there more than once, ${lines}. ${next}`);
  }
  return text.slice(0, first) + replacement + text.slice(first + old.length);
}

/** Models write LF, so an edit of a CRLF file is converted. */
function fit(text: string, edit: Edit): Edit {
  if (text.includes(edit.old_string) || !text.includes("\r\n")) return edit;
  const crlf = (part: string): string => part.replaceAll(/\r?\n/g, "\r\n");
  return { ...edit, old_string: crlf(edit.old_string), new_string: crlf(edit.new_string) };
}

/** Points to a line that differs only in whitespace. */
function near(text: string, old: string): string {
  const wanted = old.split("\n").map((line) => line.trim());
  const first = wanted.find((line) => line !== "");
  if (first === undefined) return " Read the file again";
  const index = text.split("\n").findIndex((line) => line.trim() === first);
  if (index < 0) return " Read the file again";
  return ` Line ${index + 1} begins like it; mind blanks and what follows. Read the file again`;
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}

function unfit(says: string): TrunklineError {
  return new TrunklineError("conflict", says);
}

/**
 * Whether a file is only worked on. Editors and tools run what files such as `.vscode/tasks.json` or
 * `.envrc` say, and a link may lead to one.
 */
function isPlain({ name, real }: WorkspacePath): boolean {
  return !/(?:^|[\\/])\./.test(name) && real.endsWith(`/${name}`);
}

/** Shows a person the diff of a file, and writes it if they allow it. */
export async function changeFile(
  work: Pick<ToolWork, "allow" | "files">,
  target: WorkspacePath,
  change: { readonly old: string | undefined; readonly text: string },
): Promise<ToolAnswer> {
  const { old, text } = change;
  if (old === text) {
    throw new TrunklineError(
      "usage",
      `'${target.name}' has this content already: nothing to change`,
    );
  }
  if (text.split(MASK).length > (old ?? "").split(MASK).length) {
    const says =
      `Cannot write '${MASK}' to '${target.name}': it stands for a secret that you cannot see. ` +
      "Change only the lines around it, with edit_file";
    throw new TrunklineError("usage", says);
  }
  const locations = [changeLocation(target.path, old, text)];
  await work.allow({
    subject: { action: "edit" },
    covers: "every change of a file",
    title: `${old === undefined ? "Create" : "Edit"} ${target.name}`,
    content: [wholeDiff(target.path, old, text)],
    locations,
    isPlainEdit: isPlain(target),
  });
  await work.files.write(target, text, old);
  const lines = text === "" ? 0 : text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
  const says = `${old === undefined ? "Created" : "Changed"} ${target.name} (${lines} lines now).`;
  return { text: says, content: [shownDiff(target.path, old, text)], locations };
}

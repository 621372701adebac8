import { type AgentTool, inputOf } from "./agent-tool.ts";
import { applyEdits, type Edit } from "./apply-edits.ts";
import { changeFile } from "./change-file.ts";

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
    const old = await work.files.readIfThere(target);
    return changeFile(work, target, { old, text: content });
  },
};

const change = async (
  path: string,
  edits: readonly Edit[],
  work: Parameters<AgentTool["call"]>[1],
): ReturnType<AgentTool["call"]> => {
  const target = await work.files.workspace.findToWrite(path);
  await work.show({ locations: [{ path: target.path }] });
  const old = await work.files.read(target);
  return changeFile(work, target, { old, text: applyEdits(old, edits, target.name) });
};

import { type AgentTool, inputOf, textContent } from "./agent-tool.ts";

const MOST_LINES = 2_000;
const MOST_CHARACTERS = 60_000;
const LONGEST_LINE = 2_000;

interface Input {
  readonly path: string;
  readonly line?: number;
  readonly limit?: number;
}

export const readFile: AgentTool = {
  name: "read_file",
  description:
    "Reads a text file of the workspace, as the editor has it. Lines come with their numbers, " +
    "which are not part of the file.",
  inputSchema: inputOf(
    {
      path: { type: "string", description: "From the workspace's folder, or absolute." },
      line: { type: "integer", minimum: 1, description: "The first line to read; default 1." },
      limit: { type: "integer", minimum: 1, description: `Lines; at most ${MOST_LINES}.` },
    },
    ["path"],
  ),
  example: { path: "src/server.ts", line: 120, limit: 80 },
  kind: "read",
  need: "nothing",
  title: ({ path }) => `Read ${String(path)}`,
  async call(args, { files, show }) {
    const { path, line = 1, limit = MOST_LINES } = args as unknown as Input;
    const target = await files.workspace.find(path);
    const locations = [{ path: target.path, line }];
    await show({ locations });
    const text = await files.read(target);
    const { excerpt, last } = numbered(text, line, Math.min(limit, MOST_LINES));
    files.seen.shown(target.real, text, line, last);
    return { text: excerpt, content: [textContent(excerpt)], locations };
  },
};

/** Part of a text with line numbers and a note on what is left out, and the number of its last line. */
export function numbered(
  text: string,
  from: number,
  limit: number,
): { readonly excerpt: string; readonly last: number } {
  if (text === "") return { excerpt: "(The file is empty.)", last: 0 };
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  if (from > lines.length) {
    return { excerpt: `(The file has only ${lines.length} lines.)`, last: 0 };
  }
  const shown: string[] = [];
  let size = 0;
  for (const line of lines.slice(from - 1, from - 1 + limit)) {
    const cut = line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)}… (cut)` : line;
    if ((size += cut.length + 7) > MOST_CHARACTERS && shown.length > 0) break;
    shown.push(`${String(from + shown.length).padStart(5)}\t${cut.replace(/\r$/, "")}`);
  }
  const last = from - 1 + shown.length;
  const rest = `(Lines ${from} to ${last} of ${lines.length}; read on from line ${last + 1}.)`;
  const excerpt = last < lines.length ? `${shown.join("\n")}\n${rest}` : shown.join("\n");
  return { excerpt, last };
}

import { TrunklineError } from "../../base/errors.ts";
import { counted } from "../../base/text/counted.ts";
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
    "Reads a text file of the workspace, as the editor has it, or an image (PNG, JPEG, GIF, WebP). " +
    "Lines come with their numbers, which are not part of the file.",
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
    const image = IMAGE.test(target.name) ? imageIn(files.bytes(target)) : undefined;
    if (image !== undefined) {
      const size = Math.ceil((image.data.length * 3) / 4 / 1024);
      return { text: `(An image, ${image.mimeType}, ${size} KB.)`, images: [image], locations };
    }
    const text = await files.read(target);
    const { excerpt, last } = numbered(text, line, Math.min(limit, MOST_LINES));
    files.seen.shown(target.real, text, line, last);
    return { text: excerpt, content: [textContent(excerpt)], locations };
  },
};

const IMAGE = /\.(?:png|jpe?g|gif|webp)$/i;
/** Providers refuse larger ones. */
const LARGEST_IMAGE = 5 * 1024 * 1024;

/** The first bytes of each format that all providers read. */
const SIGNATURES: readonly (readonly [mimeType: string, start: RegExp])[] = [
  ["image/png", /^\x89PNG\r\n/],
  ["image/jpeg", /^\xff\xd8\xff/],
  ["image/gif", /^GIF8[79]a/],
  ["image/webp", /^RIFF[^]{4}WEBP/],
];

/** An image for the model; undefined if the content is none, whatever its name. */
function imageIn(bytes: Buffer | undefined): { data: string; mimeType: string } | undefined {
  const start = bytes?.subarray(0, 16).toString("latin1") ?? "";
  const [mimeType] = SIGNATURES.find(([, pattern]) => pattern.test(start)) ?? [];
  if (bytes === undefined || mimeType === undefined) return undefined;
  if (bytes.length > LARGEST_IMAGE) {
    const says = `The image has ${bytes.length} bytes; at most ${LARGEST_IMAGE} can be shown to you`;
    throw new TrunklineError("usage", says);
  }
  return { data: bytes.toString("base64"), mimeType };
}

/** Part of a text with line numbers and a note on what is left out, and the number of its last line. */
export function numbered(text: string, from: number, limit: number) {
  if (text === "") return { excerpt: "(The file is empty.)", last: 0 };
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  if (from > lines.length) {
    return { excerpt: `(The file has only ${counted(lines.length, "line")}.)`, last: 0 };
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

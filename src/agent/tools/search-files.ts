import { join } from "node:path";

import { type Hit, searchText } from "../files/search-text.ts";
import { type AgentTool, inputOf } from "./agent-tool.ts";

const MOST = 200;

interface Input {
  readonly pattern: string;
  readonly path?: string;
  readonly glob?: string;
  readonly literal?: boolean;
  readonly ignore_case?: boolean;
}

export const searchFiles: AgentTool = {
  name: "search_files",
  description: "Finds lines in the files of the workspace that git does not ignore.",
  inputSchema: inputOf(
    {
      pattern: { type: "string", minLength: 1, description: "Extended regular expression." },
      path: { type: "string", description: "The folder to search; default the workspace's." },
      glob: { type: "string", description: "Only files whose names fit, such as `*.ts`." },
      literal: { type: "boolean", description: "Take the pattern as plain text." },
      ignore_case: { type: "boolean" },
    },
    ["pattern"],
  ),
  example: { pattern: "function (parse|read)Config", glob: "*.ts" },
  kind: "search",
  need: "nothing",
  title: ({ pattern }) => `Search for ${String(pattern)}`,
  async call(args, { files, signal }) {
    const input = args as unknown as Input;
    const target = await files.workspace.find(input.path ?? ".");
    const found = await searchText({
      folder: target.real,
      pattern: input.pattern,
      literal: input.literal === true,
      ignoreCase: input.ignore_case === true,
      glob: input.glob,
      signal,
    });
    const isOwn = await files.workspace.own();
    const hits = found.filter(({ path }) => !isOwn(join(target.real, path)));
    const prefix = target.name === "." ? "" : `${target.name}/`;
    const named = hits.slice(0, MOST).map((hit) => ({ ...hit, path: prefix + hit.path }));
    const locations = named.slice(0, 20).map(({ path, line }) => {
      return { path: `${files.workspace.cwd}/${path}`, line };
    });
    return { text: hitsText(named, hits.length), locations };
  },
};

export function hitsText(hits: readonly Hit[], all: number): string {
  if (all === 0) return "(Nothing found.)";
  const lines = hits.map(({ path, line, text }) => `${path}:${line}: ${text}`);
  const rest = all > hits.length ? `\n(${all - hits.length} more; search for less.)` : "";
  return lines.join("\n") + rest;
}

import { join } from "node:path";

import { type Hit, searchText, walk } from "../files/search-text.ts";
import { type AgentTool, inputOf } from "./agent-tool.ts";
import { TrunklineError } from "../../base/errors.ts";

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

const MOST_NAMES = 1_000;
const DEEPEST = 20;

interface ListInput {
  readonly path?: string;
  readonly depth?: number;
  readonly pattern?: string;
}

export const listFiles: AgentTool = {
  name: "list_files",
  description:
    "Lists a folder of the workspace, or the files in it whose names fit a pattern such as " +
    "`**/*.ts`. Does not look into .git and node_modules.",
  inputSchema: inputOf(
    {
      path: { type: "string", description: "The folder; default the workspace's." },
      depth: { type: "integer", minimum: 1, maximum: DEEPEST, description: "Default 2." },
      pattern: { type: "string", description: "Glob; with it, the depth is unlimited." },
    },
    [],
  ),
  example: { path: "src", pattern: "**/*.test.ts" },
  kind: "search",
  need: "nothing",
  title: ({ path, pattern }) => `List ${(pattern ?? path ?? ".") as string}`,
  async call(args, { files, signal }) {
    const { path = ".", pattern, depth = pattern === undefined ? 2 : DEEPEST } = args as ListInput;
    const target = await files.workspace.find(path);
    const options = { depth, most: MOST_NAMES, pattern, signal };
    const { names, isCut } = await walk(target.real, options).catch((error: unknown) => {
      signal.throwIfAborted();
      const why = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
      throw new TrunklineError("not-found", `Cannot list '${target.name}': ${why}`);
    });
    const rest = isCut ? `\n(Cut at ${names.length}; list a smaller part.)` : "";
    const isOwn = await files.workspace.own();
    const shown = names.filter((name) => !isOwn(join(target.real, name)));
    return { text: shown.length === 0 ? "(Nothing.)" : shown.join("\n") + rest };
  },
};

import { join } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { walk } from "../files/search-text.ts";
import { type AgentTool, inputOf } from "./agent-tool.ts";

const MOST = 1_000;
const DEEPEST = 20;

interface Input {
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
    const { path = ".", pattern, depth = pattern === undefined ? 2 : DEEPEST } = args as Input;
    const target = await files.workspace.find(path);
    const { names, isCut } = await walk(target.real, { depth, most: MOST, pattern, signal }).catch(
      (error: unknown) => {
        signal.throwIfAborted();
        const why = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
        throw new TrunklineError("not-found", `Cannot list '${target.name}': ${why}`);
      },
    );
    const rest = isCut ? `\n(Cut at ${names.length}; list a smaller part.)` : "";
    const isOwn = await files.workspace.own();
    const shown = names.filter((name) => !isOwn(join(target.real, name)));
    return { text: shown.length === 0 ? "(Nothing.)" : shown.join("\n") + rest };
  },
};

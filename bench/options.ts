import { parseArgs } from "node:util";
import type { Bench, BenchOptions } from "./harness/bench.ts";

interface RunOptions extends BenchOptions {
  readonly benches: readonly Bench[];
  readonly json: string | undefined;
  readonly doc: string | undefined;
}

/** Returned instead of options if nothing is to be run. */
interface Word {
  readonly says: string;
  readonly exitCode: number;
}

export function parseOptions(args: string[], all: readonly Bench[]): RunOptions | Word {
  const names = all.map(({ name }) => name).join(", ");
  try {
    const { only, quick, json, doc, offline, help } = parseArgs({ args, options: OPTIONS }).values;
    if (help) return { says: usage(names), exitCode: 0 };
    const unknown = only.find((word) => !all.some((bench) => isCalled(bench, word)));
    if (unknown !== undefined) {
      const says = `Cannot run '${unknown}': no such bench. Benches: ${names}.\n`;
      return { says, exitCode: 2 };
    }
    if (quick && doc !== undefined) {
      return {
        says: "Cannot use --doc with --quick: its figures are not to quote.\n",
        exitCode: 2,
      };
    }
    const isChosen = (bench: Bench) => only.some((word) => isCalled(bench, word));
    return { benches: only.length === 0 ? all : all.filter(isChosen), quick, json, doc, offline };
  } catch (error) {
    return { says: `${(error as Error).message}\n\n${usage(names)}`, exitCode: 2 };
  }
}

const OPTIONS = {
  only: { type: "string", multiple: true, default: [] as string[] },
  quick: { type: "boolean", default: false },
  json: { type: "string" },
  doc: { type: "string" },
  offline: { type: "boolean", default: false },
  help: { type: "boolean", short: "h", default: false },
} as const;

function usage(names: string): string {
  return `npm run bench -- [--only NAME]… [--quick] [--json FILE] [--doc FILE] [--offline]

  --only NAME  one bench, or several when given again; the first word of a name will do
               ${names}
  --quick      fewer rounds: to see that it works, not to quote
  --json FILE  write the figures as JSON too
  --doc FILE   put the output into a document that has a block for it
  --offline    install nothing; what is missing is skipped and is no failure
`;
}

/** A prefix selects all benches that begin with it, such as `websocket`. */
function isCalled({ name }: Bench, word: string): boolean {
  return name === word || name.startsWith(`${word}-`);
}

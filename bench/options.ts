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
    const { values } = parseArgs({ args, options: OPTIONS });
    const { only, quick, json, doc, offline, before, help } = values;
    if (help) return { says: usage(names), exitCode: 0 };
    const chosen = only.map((word) => benchesCalled(word, all));
    const unknown = only.find((_, at) => chosen[at]?.length === 0);
    if (unknown !== undefined) {
      const says = `Cannot run '${unknown}': no such bench. Benches: ${names}.\n`;
      return { says, exitCode: 2 };
    }
    if (only.length > 0 && doc !== undefined) {
      return { says: "Cannot use --doc with --only: the table is written whole.\n", exitCode: 2 };
    }
    const benches = only.length === 0 ? all : all.filter((bench) => chosen.flat().includes(bench));
    return { benches, quick, json, doc, offline, before };
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
  before: { type: "string" },
  help: { type: "boolean", short: "h", default: false },
} as const;

function usage(names: string): string {
  return `npm run bench -- [--only NAME]… [--quick] [--json FILE] [--doc FILE] [--before FOLDER] [--offline]

  --only NAME  one bench, or several when given again; the first word of a name will do
               ${names}
  --quick      fewer rounds, without the programs of others: some six minutes
  --json FILE  write the figures as JSON too
  --doc FILE   write the table of limits into a document
  --before FOLDER
               a checkout of an earlier version that was built: the bus is compared with it
  --offline    install nothing; what is missing is skipped and is no failure
`;
}

/** The bench of this name; else all whose names begin with it, such as those of `websocket`. */
function benchesCalled(word: string, all: readonly Bench[]): readonly Bench[] {
  const [named] = all.filter(({ name }) => name === word);
  return named === undefined ? all.filter(({ name }) => name.startsWith(`${word}-`)) : [named];
}

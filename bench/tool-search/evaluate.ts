// How often a search finds the right tool among its first five, for real servers and queries.
//   node bench/tool-search/evaluate.ts tuning|held-out|sentences [--misses]
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { rankTools } from "../../src/tool/profile/rank-tools.ts";
import { textResult, type Tool } from "../../src/tool/tool.ts";

type SetName = "tuning" | "held-out";

/** `sentences` are about the tools of `held-out`, and were committed before the ranking was tuned for them. */
type QuerySet = SetName | "sentences";

interface CatalogueEntry {
  readonly set: SetName;
  readonly server: string;
  readonly package: string;
  readonly tools: readonly {
    readonly name: string;
    readonly description: string;
    readonly parameters: Readonly<Record<string, string>>;
  }[];
}

/** Something that a person wants, and the tools that do it. */
interface Query {
  readonly server: string;
  readonly right: readonly string[];
  readonly keywords: string;
  readonly sentence: string;
}

export interface Found {
  readonly tools: number;
  readonly servers: number;
  readonly queries: number;
  /** Shares of the queries with a right tool among the first five. */
  readonly keywords: number;
  readonly sentences: number;
  /** The same sentences without the name of the server. */
  readonly unnamed: number;
  /** Milliseconds of a search. */
  readonly time: number;
  readonly misses: readonly string[];
}

/** In place of keywords: the query is a sentence only. */
const NONE = "-";

const FIRST = 5;

/** The tools of a set of servers, or of all. */
export function catalogue(set?: SetName): Tool[] {
  const all = JSON.parse(read("catalogue.json")) as CatalogueEntry[];
  return all
    .filter((entry) => set === undefined || entry.set === set)
    .flatMap(({ server, tools }) =>
      tools.map(({ name, description, parameters }) => ({
        definition: {
          name,
          description,
          inputSchema: {
            type: "object",
            properties: Object.fromEntries(
              Object.entries(parameters).map(([key, text]) => [key, { description: text }]),
            ),
          },
        },
        source: { server, name },
        call: () => textResult(""),
      })),
    );
}

export function evaluate(set: QuerySet, tools: readonly Tool[]): Found {
  const queries = queriesOf(set);
  const misses: string[] = [];
  const share = (textOf: (query: Query) => string): number => {
    const asked = queries.filter((query) => textOf(query) !== NONE);
    const found = asked.filter((query) => {
      const best = rankTools(textOf(query), tools).slice(0, FIRST);
      const isFound = best.some(({ source }) => {
        return source?.server === query.server && query.right.includes(source.name);
      });
      if (!isFound) {
        const instead = best.map(({ source }) => `${source?.server}/${source?.name}`).join(" ");
        misses.push(`${textOf(query)} -> ${query.right.join(",")}: ${instead}`);
      }
      return isFound;
    });
    return asked.length === 0 ? 1 : found.length / asked.length;
  };
  const began = performance.now();
  const shares = {
    keywords: share(({ keywords }) => keywords),
    sentences: share(({ sentence }) => sentence),
    unnamed: share(({ sentence, server }) => sentence.replaceAll(server, "")),
  };
  const time = (performance.now() - began) / (3 * queries.length);
  const servers = new Set(tools.map(({ source }) => source?.server)).size;
  return { tools: tools.length, servers, queries: queries.length, ...shares, time, misses };
}

function queriesOf(set: QuerySet): Query[] {
  const lines = read(`queries-${set}.txt`).split("\n");
  const queries = lines
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const [server = "", right = "", keywords = "", sentence = ""] = line.split(" | ");
      return { server, right: right.split(", "), keywords, sentence };
    });
  const known = new Set(
    catalogue(toolsOf(set)).map(({ source }) => `${source?.server}/${source?.name}`),
  );
  for (const { server, right } of queries) {
    for (const name of right) {
      if (!known.has(`${server}/${name}`)) throw new Error(`There is no tool ${server}/${name}`);
    }
  }
  return queries;
}

function toolsOf(set: QuerySet): SetName {
  return set === "sentences" ? "held-out" : set;
}

function read(name: string): string {
  return readFileSync(join(import.meta.dirname, name), "utf8");
}

if (import.meta.main) {
  const [, , set, option] = process.argv;
  if (set !== "tuning" && set !== "held-out" && set !== "sentences")
    throw new Error("Which set: tuning, held-out or sentences?");
  for (const tools of [catalogue(toolsOf(set)), catalogue()]) {
    const { misses, ...figures } = evaluate(set, tools);
    console.log(JSON.stringify(figures));
    if (option === "--misses") console.log(misses.join("\n"));
  }
}

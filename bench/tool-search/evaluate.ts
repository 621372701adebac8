// How often a search finds the right tool among its first five, for real servers and queries.
//   node bench/tool-search/evaluate.ts tuning|training|held-out|sentences|fresh [--misses]
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { rankTools } from "../../src/tool/profile/rank-tools.ts";
import { loadVocabulary } from "../../src/tool/profile/vocabulary.ts";
import { textResult, type Tool } from "../../src/tool/tool.ts";

type SetName = "tuning" | "held-out" | "fresh";

/** Each set of queries, and the servers that it is about. */
const QUERY_SETS = {
  tuning: "tuning",
  training: "tuning",
  "held-out": "held-out",
  /** Committed before the ranking was tuned for sentences. */
  sentences: "held-out",
  /** Committed before the ranking was given phrases. */
  fresh: "fresh",
} as const satisfies Record<string, SetName>;

type QuerySet = keyof typeof QUERY_SETS;

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
  /**
   * The same sentences without the name of the server. Of `fresh`: those that were written without it, where
   * `sentences` has those that were written with it.
   */
  readonly unnamed: number;
  /** Milliseconds of a search. */
  readonly time: number;
  readonly misses: readonly string[];
}

/** In place of keywords: the query is a sentence only. */
const NONE = "-";

const FIRST = 5;

const VOCABULARY = await loadVocabulary();

/** The servers that were known when the older queries were written, and all. */
export const OLDER: readonly SetName[] = ["tuning", "held-out"];
export const ALL: readonly SetName[] = [...OLDER, "fresh"];

/** The tools of some sets of servers. */
export function catalogue(...sets: readonly SetName[]): Tool[] {
  const all = JSON.parse(read("catalogue.json")) as CatalogueEntry[];
  return all
    .filter((entry) => sets.includes(entry.set))
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
  const isFresh = set === "fresh";
  const misses: string[] = [];
  const share = (textOf: (query: Query) => string): number => {
    const asked = queries.filter((query) => textOf(query) !== NONE);
    const found = asked.filter((query) => {
      const best = rankTools(textOf(query), tools, VOCABULARY).slice(0, FIRST);
      const isFound = best.some(({ source }) => {
        return query.right.includes(`${source?.server}/${source?.name}`);
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
    sentences: share((query) => (isFresh && !isNamed(query) ? NONE : query.sentence)),
    unnamed: share((query) => {
      if (isFresh) return isNamed(query) ? NONE : query.sentence;
      return query.sentence.replaceAll(query.server, "");
    }),
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
      const names = right
        .split(", ")
        .map((name) => (/[/]/.test(name) ? name : `${server}/${name}`));
      return { server, right: names, keywords, sentence };
    });
  const known = new Set(catalogue(...ALL).map(({ source }) => `${source?.server}/${source?.name}`));
  for (const name of queries.flatMap(({ right }) => right)) {
    if (!known.has(name)) throw new Error(`There is no tool ${name}`);
  }
  return queries;
}

function isNamed({ server, sentence }: Query): boolean {
  return sentence.includes(server);
}

function read(name: string): string {
  return readFileSync(join(import.meta.dirname, name), "utf8");
}

if (import.meta.main) {
  const [, , set, option] = process.argv;
  if (set === undefined || !Object.hasOwn(QUERY_SETS, set))
    throw new Error(`Which set: ${Object.keys(QUERY_SETS).join(", ")}?`);
  const queries = set as QuerySet;
  for (const sets of [[QUERY_SETS[queries]], OLDER, ALL]) {
    if (queries === "fresh" && sets === OLDER) continue;
    const { misses, ...figures } = evaluate(queries, catalogue(...sets));
    console.log(JSON.stringify(figures));
    if (option === "--misses") console.log(misses.join("\n"));
  }
}

import { OWN_SERVER } from "./own-server.ts";
import { type QueryPart, type Vocabulary } from "./vocabulary.ts";
import { allWordsOf, plainQuery, stem, wordsOf } from "./words.ts";

/** The part of a tool that the ranking uses. */
interface RankedTool {
  readonly definition: {
    readonly name: string;
    readonly title?: string;
    readonly description?: string;
    readonly inputSchema: object;
  };
  readonly source?: { readonly server: string };
  readonly bringer?: string;
}

/** How the ranking weighs things. Set by the queries in `bench/tool-search` for tuning and training. */
const RANKING = {
  /** How much a word counts, by where it stands. */
  name: 1.6,
  firstSentence: 0.9,
  description: 0.6,
  parameter: 0.13,
  parameterText: 0.4,
  /** BM25: how soon further occurrences count less, and how much long texts count less. */
  saturation: 1.2,
  length: 0.25,
  /** How much a synonym counts beside the word itself, in names and elsewhere. */
  synonym: 0.6,
  synonymInText: 0.42,
  /** The same for what a phrase means. */
  meant: 0.84,
  meantInText: 0.67,
  /** How much more several words count that mean something together. */
  phrase: 1.3,
  /** How much the words count less that many tools have, beside others of the same meaning. */
  rarity: 0.6,
  /** The points of a tool that surely has what a part of the query means. */
  sure: 2,
  /** How much it counts that the words of a tool's name are in the query, and none is left. */
  coverage: 0.8,
  /** How much tools count that do something else than what the query may mean: `create` for `throw away`. */
  otherAction: 0.87,
  /** How much more tools count whose server the query names, or begins to name. */
  server: 4,
  begunServer: 3,
};

/** What tools do. Where a name has several of these words, the first is what the tool does. */
const ACTIONS: ReadonlySet<string> = new Set(
  (
    "create add insert write make set update edit change modify delete remove get fetch retrieve show read " +
    "view list search find query send post save open close start stop run execute cancel move copy check " +
    "archive unarchive complete assign"
  )
    .split(" ")
    .map(stem),
);

/** The weight of a word in a tool. */
interface Posting {
  readonly tool: number;
  readonly weight: number;
}

/** Some tools, prepared for searching. */
type ToolIndex = ReturnType<typeof makeIndex>;

/** The index of the last search: most searches are in the same tools. */
let last: ToolIndex | undefined;

/** The tools that fit a query, the best first: BM25 with weighted fields, synonyms and phrases. */
export function rankTools<T extends RankedTool>(
  query: string,
  tools: readonly T[],
  vocabulary: Vocabulary,
): T[] {
  const index = (last = isOf(last, tools) ? last : makeIndex(tools));
  const factors = serverFactors(index.servers, new Set(allWordsOf(plainQuery(query))));
  /** The tools among which a word is rare or not: those of the server that is meant, or all. */
  const isMeant = (tool: number): boolean => named === 0 || (factors[tool] ?? 1) > 1;
  const named = factors.filter((factor) => factor > 1).length;
  const among = named === 0 ? tools.length : named;
  const scores = new Float64Array(tools.length);
  /** By tool: which words of its name the query has, and how surely. */
  const covered = tools.map(() => new Map<string, number>());
  const actions = new Set<string>();
  for (const part of vocabulary.partsOf(query)) {
    // Each part of the query counts once: by its words or by the best of those that mean the same.
    const best = new Map<number, number>();
    for (const [word, { inName, inText }] of alternativesOf(part, vocabulary)) {
      if (ACTIONS.has(word)) actions.add(word);
      const postings = index.postings.get(word);
      if (postings === undefined) continue;
      const share = rarity(postings.length, tools.length) / rarity(1, tools.length);
      const value = share ** RANKING.rarity * (RANKING.saturation + 1);
      for (const { tool, weight } of postings) {
        const length = (index.lengths[tool] ?? 0) / index.meanLength;
        const norm = RANKING.saturation * (1 - RANKING.length + RANKING.length * length);
        const isInName = index.names[tool]?.includes(word) === true;
        const certainty = isInName ? inName : inText;
        const points = (certainty * value * weight) / (weight + norm);
        if (points > (best.get(tool) ?? 0)) best.set(tool, points);
        const names = covered[tool];
        if (isInName && (names?.get(word) ?? 0) < certainty) names?.set(word, certainty);
      }
    }
    let found = 0;
    for (const [tool, points] of best) {
      if (isMeant(tool)) found += Math.min(1, points / RANKING.sure);
    }
    const value = rarity(found, among) * (part.words.length === 1 ? 1 : RANKING.phrase);
    for (const [tool, points] of best) scores[tool] = (scores[tool] ?? 0) + points * value;
  }
  return tools
    .map((tool, at) => {
      const factor = coverage(index.names[at] ?? [], covered[at]) * (factors[at] ?? 1);
      const action = index.actions[at];
      const isOther = action !== undefined && actions.size > 0 && !actions.has(action);
      return [tool, (scores[at] ?? 0) * factor * (isOther ? RANKING.otherAction : 1)] as const;
    })
    .filter(([, points]) => points > 0)
    .toSorted(([, one], [, other]) => other - one)
    .map(([tool]) => tool);
}

/** How sure it is that a tool with a word does what a part of the query wants. */
interface Certainty {
  readonly inName: number;
  readonly inText: number;
}

const SAID: Certainty = { inName: 1, inText: 1 };

function alternativesOf(
  { words, meant }: QueryPart,
  vocabulary: Vocabulary,
): ReadonlyMap<string, Certainty> {
  const all = new Map(words.map((word) => [word, SAID]));
  const { meant: inName, meantInText: inText, synonym, synonymInText } = RANKING;
  for (const word of meant) all.getOrInsert(word, { inName, inText });
  for (const word of words) {
    for (const other of vocabulary.synonymsOf(word)) {
      all.getOrInsert(other, { inName: synonym, inText: synonymInText });
    }
  }
  return all;
}

function coverage(name: readonly string[], found?: ReadonlyMap<string, number>): number {
  if (name.length === 0 || found === undefined) return 1;
  const sum = found.values().reduce((all, part) => all + part, 0);
  return 1 + (RANKING.coverage * sum) / name.length;
}

/**
 * How much more the tools of each server count. The longest name in the query is meant. One that begins
 * with it may be meant, too: `github create issue` is no reason to hide `github-enterprise`.
 */
function serverFactors(
  servers: readonly (readonly string[])[],
  asked: ReadonlySet<string>,
): readonly number[] {
  const isNamed = (words: readonly string[]): boolean =>
    words.length > 0 && words.every((word) => asked.has(word));
  const named = new Set(servers.filter(isNamed).map((words) => words.join("")));
  const longest = [...named].filter((name) => {
    return !named.values().some((other) => other !== name && other.startsWith(name));
  });
  return servers.map((words) => {
    const name = words.join("");
    if (longest.includes(name)) return RANKING.server;
    const isBegun = longest.some((each) => name.startsWith(each));
    return isBegun || named.has(name) ? RANKING.begunServer : 1;
  });
}

/** The inverse document frequency of BM25. */
function rarity(found: number, among: number): number {
  return Math.log(1 + (among - found + 0.5) / (found + 0.5));
}

function isOf(index: ToolIndex | undefined, tools: readonly RankedTool[]): index is ToolIndex {
  if (index?.tools.length !== tools.length) return false;
  return index.tools.every((tool, at) => tool === tools[at]);
}

function makeIndex(tools: readonly RankedTool[]) {
  const postings = new Map<string, Posting[]>();
  /** By tool: the length of its texts, the words of its server's name, and of its own. */
  const lengths: number[] = [];
  const servers = tools.map((tool) => wordsOf(serverOf(tool)));
  const names = tools.map(({ definition }, at) => {
    const all = wordsOf(definition.name.slice(0, LONGEST_TEXT));
    // Many servers repeat their own name in each of their tools.
    return [...new Set(all)].filter((word) => servers[at]?.includes(word) !== true);
  });
  /** What each does, as far as its name says it. */
  const actions = names.map((words) => words.find((word) => ACTIONS.has(word)));
  for (const [at, tool] of tools.entries()) {
    const weights = weightsOf(tool, names[at] ?? []);
    let length = 0;
    for (const [word, weight] of weights) {
      length += weight;
      postings.getOrInsertComputed(word, () => []).push({ tool: at, weight });
    }
    lengths.push(length);
  }
  const meanLength = lengths.reduce((sum, length) => sum + length, 0) / lengths.length || 1;
  return { tools, postings, lengths, names, actions, servers, meanLength };
}

/** How much each word counts in a tool. */
function weightsOf(tool: RankedTool, name: readonly string[]): Map<string, number> {
  const weights = new Map<string, number>();
  const add = (text: unknown, weight: number): void => {
    if (typeof text !== "string") return;
    for (const word of wordsOf(text.slice(0, LONGEST_TEXT))) {
      weights.set(word, (weights.get(word) ?? 0) + weight);
    }
  };
  const { title, inputSchema } = tool.definition;
  // Another server's text may be anything.
  const told: unknown = tool.definition.description;
  const description = typeof told === "string" ? told : "";
  for (const word of name) weights.set(word, RANKING.name);
  add(title, RANKING.firstSentence);
  const [first = ""] = /^[^]*?(?:[.!?](?=\s)|\n|$)/.exec(description) ?? [];
  add(first, RANKING.firstSentence);
  add(description.slice(first.length), RANKING.description);
  const { properties } = inputSchema as { properties?: Readonly<Record<string, unknown>> };
  for (const [parameter, schema] of Object.entries(properties ?? {})) {
    add(parameter, RANKING.parameter);
    add((schema as { description?: unknown } | null)?.description, RANKING.parameterText);
  }
  return weights;
}

/** Characters of one text that are indexed. */
const LONGEST_TEXT = 2_000;

/** The server that a tool is of, or the plugin that brings it. */
export function serverOf({ source, bringer = OWN_SERVER }: RankedTool): string {
  return source?.server ?? bringer;
}

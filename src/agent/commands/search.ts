import { type Hit, searchText } from "../files/search-text.ts";
import { hitsText } from "../tools/search-files.ts";
import { fencedBlock } from "../tools/tool-runner.ts";
import type { CommandContext, SlashCommand } from "./session-commands.ts";

const MOST = 100;

export const search: SlashCommand = {
  name: "search",
  description: "Find text in the files that git does not ignore",
  hint: "TEXT, or /EXPRESSION/",
  run: async (input, context) => {
    if (input === "") return "Say what to find: `/search TEXT`, or `/search /EXPRESSION/`.\n";
    const answer = await context.perform({
      title: `Search for ${input}`,
      kind: "search",
      need: "nothing",
      call: async ({ signal }) => {
        const hits = await find(input, context, signal);
        const { cwd } = context.files.workspace;
        const locations = hits.slice(0, 20).map(({ path, line }) => {
          return { path: `${cwd}/${path}`, line };
        });
        return { text: hitsText(hits.slice(0, MOST), hits.length), locations };
      },
    });
    return answer.isError === true ? answer.text : fencedBlock(answer.text);
  },
};

async function find(input: string, context: CommandContext, signal: AbortSignal): Promise<Hit[]> {
  const folder = context.files.workspace.cwd;
  const [, expression] = /^\/(.+)\/$/s.exec(input) ?? [];
  if (expression !== undefined) return searchText({ folder, pattern: expression, signal });
  // Smart case: case matters once the pattern has a capital.
  const ignoreCase = input === input.toLowerCase();
  const exact = await searchText({ folder, pattern: input, literal: true, ignoreCase, signal });
  const words = [...new Set(input.toLowerCase().split(/\s+/))];
  if (exact.length > 0 || words.length === 1) return exact;
  return bestFiles(words, folder, signal);
}

/** Lines of the files that contain most of the words. */
async function bestFiles(
  words: readonly string[],
  folder: string,
  signal: AbortSignal,
): Promise<Hit[]> {
  const files = new Map<string, { words: Set<string>; hits: Hit[] }>();
  for (const word of words.slice(0, 8)) {
    const search = { folder, pattern: word, literal: true, ignoreCase: true, signal };
    for (const hit of await searchText(search)) {
      const file = files.getOrInsertComputed(hit.path, () => ({ words: new Set(), hits: [] }));
      file.words.add(word);
      file.hits.push(hit);
    }
  }
  const ranked = [...files.values()].toSorted((a, b) => {
    return b.words.size - a.words.size || a.hits.length - b.hits.length;
  });
  return ranked.slice(0, 10).flatMap(({ hits }) => {
    const lines = new Map(hits.map((hit) => [hit.line, hit]));
    return [...lines.values()].toSorted((a, b) => a.line - b.line).slice(0, 5);
  });
}

import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { counted } from "../../base/text/counted.ts";
import { type Hit, searchText, walk } from "../files/search-text.ts";
import type { ToolWork } from "../tools/agent-tool.ts";
import { changeFile } from "../tools/edit-tools.ts";
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
    const hits = await searchText({
      folder,
      pattern: word,
      literal: true,
      ignoreCase: true,
      signal,
    });
    for (const hit of hits) {
      const file = files.get(hit.path) ?? { words: new Set(), hits: [] };
      file.words.add(word);
      file.hits.push(hit);
      files.set(hit.path, file);
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

/** The part of @ast-grep/napi that is used. It is installed on demand, since few people need it. */
interface AstGrep {
  parse(language: string, source: string): { root(): SyntaxNode };
}

interface SyntaxNode {
  findAll(pattern: string): SyntaxNode[];
  text(): string;
  range(): { readonly start: { readonly index: number }; readonly end: { readonly index: number } };
  getMatch(name: string): SyntaxNode | null;
  getMultipleMatches(name: string): SyntaxNode[];
}

const VERSION = "0.51.0";

/** By file extension. */
const LANGUAGES: Readonly<Record<string, string>> = {
  ts: "TypeScript",
  mts: "TypeScript",
  cts: "TypeScript",
  tsx: "Tsx",
  js: "JavaScript",
  mjs: "JavaScript",
  cjs: "JavaScript",
  jsx: "JavaScript",
  css: "Css",
  html: "Html",
};

const FILE_ENDS = Object.keys(LANGUAGES);

function languageOf(name: string): string | undefined {
  return LANGUAGES[name.slice(name.lastIndexOf(".") + 1)];
}

function howToGet(data: string): string {
  return `npm install --prefix '${join(data, "packages")}' @ast-grep/napi@${VERSION}`;
}

/**
 * Loads ast-grep from the data folder or from beside Trunkline, never from the workspace, whose content
 * is not trusted.
 */
async function loadAstGrep(data: string): Promise<AstGrep | undefined> {
  const file = join(data, "packages/node_modules/@ast-grep/napi/index.js");
  const name = existsSync(file) ? pathToFileURL(file).href : "@ast-grep/napi";
  try {
    const loaded = (await import(name)) as AstGrep & { default?: AstGrep };
    return loaded.default ?? loaded;
  } catch {
    return undefined;
  }
}

/** Rewrites every match of a pattern, and counts them. */
function rewriteText(
  astGrep: AstGrep,
  language: string,
  text: string,
  { pattern, replacement }: { readonly pattern: string; readonly replacement: string },
): { readonly text: string; readonly count: number } {
  const matches = astGrep.parse(language, text).root().findAll(pattern);
  let rewritten = "";
  let at = 0;
  let count = 0;
  for (const match of matches.toSorted((a, b) => a.range().start.index - b.range().start.index)) {
    const { start, end } = match.range();
    // A match inside another one was replaced with it.
    if (start.index < at) continue;
    rewritten += text.slice(at, start.index) + fill(replacement, match, text);
    at = end.index;
    count++;
  }
  return { text: rewritten + text.slice(at), count };
}

function fill(replacement: string, match: SyntaxNode, text: string): string {
  return replacement.replaceAll(
    /\$\$\$([A-Z_][A-Z0-9_]*)|\$([A-Z_][A-Z0-9_]*)/g,
    (whole, many, one) => {
      if (many !== undefined) {
        const nodes = match.getMultipleMatches(String(many));
        const [first, last] = [nodes[0], nodes.at(-1)];
        // With the separators between them.
        return first && last ? text.slice(first.range().start.index, last.range().end.index) : "";
      }
      return match.getMatch(String(one))?.text() ?? whole;
    },
  );
}

const USAGE =
  "Say what to rewrite: `/rewrite PATTERN => REPLACEMENT [--in GLOB]`, such as " +
  "`/rewrite console.log($A) => logger.info($A) --in src/**/*.ts`. `$A` stands for one piece of " +
  "code, `$$$ARGS` for several.\n";
const MOST_FILES = 5_000;

interface Rule {
  readonly pattern: string;
  readonly replacement: string;
  readonly glob: string | undefined;
}

export const rewrite: SlashCommand = {
  name: "rewrite",
  description: "Rewrite code by its structure (JavaScript, TypeScript, CSS, HTML)",
  hint: "PATTERN => REPLACEMENT [--in GLOB]",
  run: async (input, context) => {
    const { data } = context;
    const rule = ruleOf(input);
    if (rule === undefined) return USAGE;
    const astGrep = await loadAstGrep(data);
    if (astGrep === undefined) {
      return `This needs ast-grep, which is not installed. To get it:\n\n${fencedBlock(howToGet(data))}`;
    }
    return `${await rewriteAll(astGrep, rule, context)}\n`;
  },
};

function ruleOf(input: string): Rule | undefined {
  const [, body = "", glob] = /^([\s\S]*?)(?:\s+--in\s+(\S+))?$/.exec(input) ?? [];
  const [, pattern, replacement] = /^([\s\S]+?)\s+=>(?:\s+([\s\S]*))?$/.exec(body) ?? [];
  if (pattern === undefined) return undefined;
  return { pattern: unquoted(pattern), replacement: unquoted(replacement ?? ""), glob };
}

function unquoted(text: string): string {
  const [, inner] = /^(['"`])([\s\S]*)\1$/.exec(text.trim())?.slice(1) ?? [];
  return inner ?? text.trim();
}

async function rewriteAll(astGrep: AstGrep, rule: Rule, context: CommandContext): Promise<string> {
  const { files, turn } = context;
  const pattern = rule.glob ?? `*.{${FILE_ENDS.join(",")}}`;
  const { names } = await walk(files.workspace.cwd, {
    depth: 20,
    most: MOST_FILES,
    pattern,
    signal: turn.signal,
  });
  const lines: string[] = [];
  let count = 0;
  for (const name of names) {
    const language = languageOf(name);
    if (language === undefined) continue;
    const found = await rewritten(astGrep, language, name, rule, context);
    if (found === undefined) continue;
    const answer = await context.perform({
      title: `Rewrite ${name}`,
      kind: "edit",
      need: "write",
      call: (work) => write(work, name, found),
    });
    if (answer.isError !== true) count += found.count;
    lines.push(
      `- ${name}: ${answer.isError === true ? answer.text : counted(found.count, "place")}`,
    );
  }
  if (lines.length === 0)
    return `Nothing matches \`${rule.pattern}\` in ${counted(names.length, "file")}.`;
  return [`Rewrote ${counted(count, "place")}.`, "", ...lines].join("\n");
}

async function rewritten(
  astGrep: AstGrep,
  language: string,
  name: string,
  rule: Rule,
  { files }: CommandContext,
): Promise<{ old: string; text: string; count: number } | undefined> {
  try {
    const old = await files.read(await files.workspace.find(name));
    const { text, count } = rewriteText(astGrep, language, old, rule);
    return count === 0 || text === old ? undefined : { old, text, count };
  } catch {
    // Not a text file, or not valid code.
    return undefined;
  }
}

async function write(
  work: ToolWork,
  name: string,
  { old, text }: { readonly old: string; readonly text: string },
): ReturnType<typeof changeFile> {
  const target = await work.files.workspace.findToWrite(name);
  return changeFile(work, target, { old, text });
}

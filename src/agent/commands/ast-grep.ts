import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** The part of @ast-grep/napi that is used. It is installed on demand, since few people need it. */
export interface AstGrep {
  parse(language: string, source: string): { root(): SyntaxNode };
}

export interface SyntaxNode {
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

export const FILE_ENDS = Object.keys(LANGUAGES);

export function languageOf(name: string): string | undefined {
  return LANGUAGES[name.slice(name.lastIndexOf(".") + 1)];
}

export function howToGet(data: string): string {
  return `npm install --prefix '${join(data, "packages")}' @ast-grep/napi@${VERSION}`;
}

/**
 * Loads ast-grep from the data folder or from beside Trunkline, never from the workspace, whose content
 * is not trusted.
 */
export async function loadAstGrep(data: string): Promise<AstGrep | undefined> {
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
export function rewriteText(
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

import { LinearExpression } from "../../base/text/linear-expression.ts";

/** Longer than any that fits into an expression, and short enough for the pattern below. */
const LONGEST = 8_000;

/** A part of a glob that is not plain text. */
const TOKEN = /\*\*\/|\*\*|[*?{},]|\[(!?)([^\]/]+)\]|./gsu;

/**
 * A glob as an expression for whole paths: `*` and `?` match within a name, `**` across folders, and
 * `{a,b}` and `[a-z]` choose. `matchesGlob` of `node:path` can take minutes for a glob that a model wrote.
 * Throws if it is too long, or its brackets do not fit.
 */
export function globExpression(glob: string): LinearExpression {
  if (glob.length > LONGEST) throw new SyntaxError(`a glob may have ${LONGEST} characters`);
  let depth = 0;
  const source = glob.replaceAll(TOKEN, (token, negation?: string, characters?: string) => {
    if (characters !== undefined) {
      return `[${negation === "!" ? "^/" : ""}${characters.replaceAll(/[\\^[]/g, String.raw`\$&`)}]`;
    }
    if (token === "{") depth++;
    if (token === "}") depth--;
    if (token === ",") return depth > 0 ? "|" : ",";
    return MEANINGS[token] ?? RegExp.escape(token);
  });
  return new LinearExpression(`^(?:${source})$`);
}

const MEANINGS: Readonly<Record<string, string>> = {
  "**/": "(?:[^]*/)?",
  "**": "[^]*",
  "*": "[^/]*",
  "?": "[^/]",
  "{": "(?:",
  "}": ")",
};

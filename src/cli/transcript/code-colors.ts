import { type Line, span } from "./styled-line.ts";

/** Words that most languages share, or that stand out in one. */
const KEYWORDS = new Set(
  (
    "abstract and as assert async await begin break case catch class const continue def default defer del do " +
    "done elif else end enum except export extends false fi final finally fn for foreach from func function " +
    "go goto if impl implements import in instanceof interface is lambda let local loop match mod module move " +
    "mut namespace new nil none not null or package pass private protected pub public raise readonly ref " +
    "return select self static struct super switch then this throw throws trait true try type typeof " +
    "undefined union unless unsafe until use using val var void when where while with yield"
  ).split(" "),
);
/** Of SQL too, which people write in capitals. */
const SQL = new Set(["sql", "postgres", "postgresql", "mysql", "sqlite", "plsql"]);
const SQL_WORDS = new Set(
  (
    "add all alter and as asc begin between by case commit create cross default delete desc distinct drop " +
    "else end exists foreign from full group having if in index inner insert into is join key left like limit " +
    "not null on or order outer primary references right rollback select set table then union unique update " +
    "using values view when where with"
  ).split(" "),
);
const HASH_COMMENTS =
  /^(?:bash|sh|zsh|fish|shell|console|py|python|rb|ruby|yaml|yml|toml|ini|conf|perl|pl|r|make|makefile|dockerfile|docker|elixir|ex|nix|tcl|awk|cmake|properties|env)$/;
const DASH_COMMENTS = /^(?:sql|postgres|postgresql|mysql|sqlite|plsql|lua|haskell|hs|elm|ada)$/;
/** A string ends on its line: an apostrophe in prose must not colour the rest of the block. */
const STRING = String.raw`"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|\u0060(?:[^\u0060\\\n]|\\.)*\u0060`;
const NUMBER = String.raw`\b(?:0[xXbBoO][\da-fA-F_]+|\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)\b`;
const WORD = String.raw`[A-Za-z_$][\w$]*`;

/** Characters of a line beyond which it is not coloured. */
const LONGEST = 500;

/** Code with its comments, strings, numbers and keywords in colour, line by line. */
export function colorCode(code: string, language: string): Line[] {
  const name = language.toLowerCase();
  if (name === "diff" || name === "patch") return code.split("\n").map(diffLine);
  const comment = HASH_COMMENTS.test(name)
    ? "#.*"
    : DASH_COMMENTS.test(name)
      ? "--.*"
      : String.raw`//.*|/\*.*?(?:\*/|$)|^\s*\*(?:\s.*|/)?$`;
  const words = SQL.has(name) ? SQL_WORDS : KEYWORDS;
  const token = new RegExp(`(${comment})|(${STRING})|(${NUMBER})|(${WORD})`, "g");
  return code.split("\n").map((each) => {
    if (each.length > LONGEST || name === "" || name === "text") return [span(each)];
    const spans = [];
    let at = 0;
    for (const found of each.matchAll(token)) {
      const [text, said, quoted, number, word] = found;
      const isKeyword =
        word !== undefined && words.has(words === SQL_WORDS ? word.toLowerCase() : word);
      if (word !== undefined && !isKeyword) continue;
      if (found.index > at) spans.push(span(each.slice(at, found.index)));
      if (said !== undefined) spans.push(span(text, "dim"));
      else if (quoted !== undefined) spans.push(span(text, "green"));
      else if (number !== undefined) spans.push(span(text, "yellow"));
      else spans.push(span(text, "magenta"));
      at = found.index + text.length;
    }
    if (at < each.length || spans.length === 0) spans.push(span(each.slice(at)));
    return spans;
  });
}

/** A line of a diff in the colour of its mark. */
export function diffLine(text: string): Line {
  if (text.startsWith("+")) return [span(text, "green")];
  if (text.startsWith("-")) return [span(text, "red")];
  return [span(text, text.startsWith("@@") ? "cyan" : "dim")];
}

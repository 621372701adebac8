// Measures the structure of the sources: the size of folders and files, and where the tests are.
// `npm run ok` prints the table and fails if a figure exceeds its limit.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

const ROOT = join(import.meta.dirname, "..");

/** A hand-written source file: neither a test nor generated. */
interface Source {
  readonly path: string;
  readonly lines: readonly string[];
}

interface Row {
  readonly what: string;
  readonly is: string;
  readonly wanted: string;
  readonly isFine: boolean;
}

/** Files with fewer lines are too small to be read alone. */
const SMALL = 40;
/** A file decides something if it contains a branch. */
const DECISION = /\bif \(|\bswitch \(|\bcatch\b|\bwhile \(| \? |&&|\|\||\?\?/;
/** Comparisons with a revision of MCP, or with a constant for one. */
const REVISION_TEST =
  /isModern\(|[=!]== (?:MODERN|"20\d\d-\d\d-\d\d"|"modern"|"legacy")|[<>]=? "20\d\d-/;
/** A comment that cites the section of a protocol rule. */
const CITATION =
  /(?:MCP|ACP|JSON-RPC|RFC|Orchestra|guide|specification|SARIF|QUIC)\b.*?(?:[§"“]|section|\d{4})/i;

const sources = sourcesOf();
const rows = [folderSize(), smallFiles(), testsBeside(), revisionTests(), comments()];
const width = Math.max(...rows.map(({ what }) => what.length));
for (const { what, is, wanted, isFine } of rows) {
  console.log(`${isFine ? "ok  " : "FAIL"} ${what.padEnd(width)}  ${is.padEnd(34)} ${wanted}`);
}
if (rows.some(({ isFine }) => !isFine)) process.exitCode = 1;

function sourcesOf(): Source[] {
  const listed = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "src/*.ts"], {
    cwd: ROOT,
    encoding: "utf8",
  });
  return listed
    .trim()
    .split("\n")
    .filter((path) => !/\.(?:test|gen)\.ts$/.test(path) && existsSync(join(ROOT, path)))
    .map((path) => ({ path, lines: readFileSync(join(ROOT, path), "utf8").trimEnd().split("\n") }));
}

function folderSize(): Row {
  const counts = new Map<string, number>();
  for (const { path } of sources) {
    counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
  }
  const [folder = "", count = 0] = [...counts].toSorted((a, b) => b[1] - a[1])[0] ?? [];
  return {
    what: "largest flat folder",
    is: `${count} files (${folder})`,
    wanted: "at most 24",
    isFine: count <= 24,
  };
}

function smallFiles(): Row {
  const small = sources.filter(({ lines }) => lines.length < SMALL).length;
  return share(
    `files under ${SMALL} lines`,
    small,
    sources.length,
    "at most 15 %",
    (it) => it <= 0.15,
  );
}

function testsBeside(): Row {
  const deciding = sources.filter(({ lines }) => DECISION.test(codeOf(lines)));
  const tested = deciding.filter(({ path }) => {
    return existsSync(join(ROOT, path.replace(/\.ts$/, ".test.ts")));
  });
  const what = "deciding files with a test beside them";
  return share(what, tested.length, deciding.length, "at least 60 %", (it) => it >= 0.6);
}

function revisionTests(): Row {
  const outside = sources.filter(
    ({ path }) => path.includes("protocol/mcp/") && !path.includes("protocol/mcp/revision"),
  );
  const count = outside
    .flatMap(({ lines }) => lines)
    .filter((line) => REVISION_TEST.test(line)).length;
  return {
    what: "comparisons of revisions outside MCP's codecs",
    is: String(count),
    wanted: "none",
    isFine: count === 0,
  };
}

function comments(): Row {
  const lines = sources.flatMap((source) => source.lines);
  const spoken = lines.filter((line) => /^\s*(?:\/\/|\/\*|\*)/.test(line));
  const code = lines.filter((line) => line.trim() !== "").length - spoken.length;
  const cited = spoken.filter((line) => CITATION.test(line)).length;
  return {
    what: "comment lines / code lines",
    is: `${(spoken.length / code).toFixed(2)}, ${cited} cite a specification`,
    wanted: "cited where a protocol rule decides",
    isFine: cited >= 100,
  };
}

function share(
  what: string,
  count: number,
  all: number,
  wanted: string,
  isFine: (share: number) => boolean,
): Row {
  const is = `${((100 * count) / all).toFixed(1)} % (${count} of ${all})`;
  return { what, is, wanted, isFine: isFine(count / all) };
}

/** The code without comments and strings. */
function codeOf(lines: readonly string[]): string {
  return lines
    .join("\n")
    .replaceAll(/\/\*[\s\S]*?\*\//g, "")
    .replaceAll(/\/\/.*$/gm, "")
    .replaceAll(/`(?:\\.|[^`\\])*`|"(?:\\.|[^"\\])*"/g, '""');
}

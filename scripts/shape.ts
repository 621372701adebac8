// Measures the structure of the sources: the size of folders and files, and where the tests are.
// `npm run ok` prints the table and fails if a figure exceeds its limit.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { circles, codeLines, importGraph } from "./import-graph.ts";

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
  /** Printed below a row that exceeds its limit. */
  readonly details?: readonly string[];
}

/** The most files in a flat folder. */
const FOLDER_FILES = 24;
/** The most lines of code in what `dist` bundles, and the most files in a circle of imports. */
const CODE_LINES = 128_000;
const CIRCLE_FILES = 3;
/** What the build starts from: programs, the dashboard and the modules of the plugin SDK. */
const ENTRY = /(?:^|[/-])main\.(?:ts|tsx|css)$|\/trunkline-plugin[^/]*\.ts$/;
/** What it copies into `dist` beside them. */
const COPIED = ["scripts/launcher.js", "scripts/newer-node.mjs"];
/** Files that a generator wrote. */
const GENERATED = /\.gen\.ts$|_pb\.ts$/;
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
const weight = weightRows();
const width = Math.max(...[...rows, ...weight].map(({ what }) => what.length));
for (const row of [...rows, ...weight]) {
  const { what, is, wanted, isFine, details = [] } = row;
  const verdict = isFine ? "ok  " : "FAIL";
  console.log(`${verdict} ${what.padEnd(width)}  ${is.padEnd(34)} ${wanted}`);
  if (!isFine) for (const line of details) console.log(`       ${line}`);
}
if ([...rows, ...weight].some(({ isFine }) => !isFine)) process.exitCode = 1;

function sourcesOf(): Source[] {
  return listed("src/*.ts")
    .filter((path) => !/\.(?:test|gen)\.ts$/.test(path))
    .map((path) => ({ path, lines: readFileSync(join(ROOT, path), "utf8").trimEnd().split("\n") }));
}

function listed(...patterns: string[]): string[] {
  const options = ["ls-files", "-co", "--exclude-standard", ...patterns];
  const text = execFileSync("git", options, { cwd: ROOT, encoding: "utf8" });
  return text.split("\n").filter((path) => path !== "" && existsSync(join(ROOT, path)));
}

/** Measures what `dist` bundles, wherever it lies: everything that its entries import. */
function weightRows(): Row[] {
  const entries = listed("src/*.ts", "src/*.tsx", "src/*.css").filter((path) => ENTRY.test(path));
  const graph = importGraph(ROOT, [...entries, ...COPIED]);
  const written = [...graph.keys()].filter((path) => !GENERATED.test(path));
  let lines = 0;
  for (const path of written) {
    // Style sheets are no code.
    if (path.endsWith(".css")) continue;
    lines += codeLines(readFileSync(join(ROOT, path), "utf8")).length;
  }
  const found = circles(graph);
  const large = found.filter((circle) => circle.length > CIRCLE_FILES);
  return [
    {
      what: "lines of code in dist, by hand",
      is: `${lines} in ${written.length} files`,
      wanted: `at most ${CODE_LINES}`,
      isFine: lines <= CODE_LINES,
    },
    {
      what: "circles of imports",
      is: `${found.length}, the largest of ${found[0]?.length ?? 0} files`,
      wanted: `at most ${CIRCLE_FILES} files in one`,
      isFine: large.length === 0,
      details: large.map((circle) => `${circle.length}: ${circle.join(" ")}`),
    },
  ];
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
    wanted: `at most ${FOLDER_FILES}`,
    isFine: count <= FOLDER_FILES,
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

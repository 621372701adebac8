import { existsSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

/** Source files by path, each with the source files that it imports: also by type, and lazily. */
export type ImportGraph = ReadonlyMap<string, readonly string[]>;

/** Static and lazy imports, exports from another file, and those of style sheets. */
const IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*"(\.[^"]+)"/g;
const SOURCE = /\.(?:ts|tsx|js|mjs|css)$/;

/** Reads `entries` and everything they import. Paths are relative to `root`; packages are left out. */
export function importGraph(root: string, entries: readonly string[]): ImportGraph {
  const graph = new Map<string, readonly string[]>();
  const open = [...entries];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (graph.has(path)) continue;
    const folder = dirname(path);
    const text = codeLines(readFileSync(join(root, path), "utf8")).join("\n");
    const named = [...text.matchAll(IMPORT)].map(([, name = ""]) => normalize(join(folder, name)));
    const imports = named.filter((name) => SOURCE.test(name) && existsSync(join(root, name)));
    graph.set(path, imports);
    open.push(...imports);
  }
  return graph;
}

/** The lines that are neither blank nor only a comment. */
export function codeLines(text: string): string[] {
  const lines = text.replaceAll(/^\s*\/\*[\s\S]*?\*\/\s*$/gm, "").split("\n");
  return lines.filter((line) => !/^\s*(?:$|\/\/|\/\*|\*)/.test(line));
}

/**
 * The circles: groups of files in which each file reaches each other one by imports (Tarjan's strongly
 * connected components of more than one file). The largest is first.
 */
export function circles(graph: ImportGraph): string[][] {
  const order = new Map<string, number>();
  const path: string[] = [];
  const found: string[][] = [];
  const visit = (file: string): number => {
    const own = order.size;
    order.set(file, own);
    let low = own;
    path.push(file);
    for (const imported of graph.get(file) ?? []) {
      if (!order.has(imported)) low = Math.min(low, visit(imported));
      else if (path.includes(imported)) low = Math.min(low, order.get(imported) ?? low);
    }
    if (low === own) {
      const circle = path.splice(path.lastIndexOf(file));
      if (circle.length > 1) found.push(circle.toSorted());
    }
    return low;
  };
  for (const file of graph.keys()) if (!order.has(file)) visit(file);
  return found.toSorted((a, b) => b.length - a.length);
}

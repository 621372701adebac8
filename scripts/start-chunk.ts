import type { BuildResult, Plugin } from "esbuild";
import { basename } from "node:path";

type Built = BuildResult<{ metafile: true; write: false }>;

/** The file that each start loads first. */
export const START = "start.js";

/**
 * Joins the chunks that some entries load at their start, and has all others import from that one file.
 * esbuild makes a chunk for every set of entries that share modules, a hundred for one command, and Node
 * needs a third of a millisecond for each.
 *
 * To be used in a second build, whose only entry is `START` and whose other files are those of the first.
 */
export function startChunk(built: Built, entries: readonly string[]): Plugin {
  const chunks = new Map(built.outputFiles.map(({ path, text }) => [basename(path), text]));
  const found = new Map(
    Object.entries(built.metafile.outputs).map(([path, output]) => [basename(path), output]),
  );
  /** The joined chunks. What a chunk imports stands before it. */
  const joined = new Set<string>();
  const join = (name: string): void => {
    for (const { kind, path, external } of found.get(name)?.imports ?? []) {
      const imported = basename(path);
      const isInside = kind === "import-statement" && external !== true;
      if (isInside && !joined.has(imported)) join(imported);
    }
    joined.add(name);
  };
  for (const entry of entries) {
    const name = [...found].find(([, { entryPoint }]) => entryPoint === entry)?.[0];
    if (name === undefined) throw new Error(`Cannot find ${entry} among the bundled files`);
    join(name);
  }
  const exportsOf = (name: string): string[] => found.get(name)?.exports ?? [];
  /** Two chunks may export different things by one name. */
  const aliasOf = (name: string, exported: string): string =>
    `${exported}_${name.replaceAll(/\W/g, "_")}`;
  return {
    name: "start-chunk",
    setup(build) {
      build.onResolve({ filter: /./ }, ({ path, kind, importer, namespace }) => {
        if (kind === "entry-point") return { path, namespace: "start" };
        const name = basename(path);
        if (namespace === "outside" || !chunks.has(name)) return { path, external: true };
        const isInside = namespace === "start" || joined.has(importer);
        if (!joined.has(name) || (isInside && kind !== "dynamic-import")) {
          return { path: name, namespace: "chunk" };
        }
        // One for each importer: a shared one would become a chunk again.
        return { path: name, namespace: "outside", suffix: `?${importer}` };
      });
      build.onLoad({ filter: /./, namespace: "start" }, () => ({
        contents: Array.from(joined, (name) => {
          const names = exportsOf(name).map((it) => `${it} as ${aliasOf(name, it)}`);
          return `import "./${name}"; export { ${names.join(", ")} } from "./${name}";`;
        }).join("\n"),
      }));
      build.onLoad({ filter: /./, namespace: "outside" }, ({ path }) => ({
        contents: `export { ${exportsOf(path)
          .map((it) => `${aliasOf(path, it)} as ${it}`)
          .join(", ")} } from "./${START}";`,
      }));
      build.onLoad({ filter: /./, namespace: "chunk" }, ({ path }) => ({
        contents: chunks.get(path) ?? "",
      }));
    },
  };
}

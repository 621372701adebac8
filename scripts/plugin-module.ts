import { build, type BuildOptions } from "esbuild";
import { execFile } from "node:child_process";
import { mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, posix } from "node:path";
import { promisify } from "node:util";

const FOLDER = "src/plugin/sdk";

/** The modules that plugins import, by file name, with their sources. */
const ENTRIES: Readonly<Record<string, string>> = {
  plugin: "trunkline-plugin",
  "plugin-test": "trunkline-plugin-test",
  "plugin-node": "trunkline-plugin-node",
};

export interface PluginModule {
  /** Files whose names contain a hash come first, because the others import them. */
  readonly files: readonly (readonly [name: string, content: Uint8Array | string])[];
  readonly inputs: readonly string[];
}

/** Makes `trunkline/plugin` and `trunkline/plugin/test`, with their types. */
export async function pluginModule(root: string, options: BuildOptions): Promise<PluginModule> {
  const built = await build({
    ...options,
    entryPoints: Object.fromEntries(
      Object.entries(ENTRIES).map(([name, source]) => [name, `${FOLDER}/${source}.ts`]),
    ),
    entryNames: "[name]",
    // The launcher beside them is CommonJS.
    outExtension: { ".js": ".mjs" },
    metafile: true,
    write: false,
  });
  const modules = built.outputFiles.map(
    ({ path, contents }) => [basename(path), contents] as const,
  );
  const isEntry = ([name]: readonly [string, ...unknown[]]): boolean =>
    basename(name, ".mjs") in ENTRIES;
  const files = [
    ...modules.filter((file) => !isEntry(file)),
    ...(await declarations(root)),
    ...modules.filter(isEntry),
  ];
  return { files, inputs: Object.keys(built.metafile.inputs) };
}

/** The declarations of the modules and of the types they use, each in a file in `dist/`. */
async function declarations(root: string): Promise<[name: string, text: string][]> {
  await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-types-"));
  const settings = join(folder.path, "tsconfig.json");
  await writeFile(
    settings,
    JSON.stringify({
      extends: join(root, "tsconfig.json"),
      compilerOptions: {
        noEmit: false,
        declaration: true,
        emitDeclarationOnly: true,
        // `npm run types` does that.
        noCheck: true,
        rootDir: root,
        outDir: folder.path,
        typeRoots: [join(root, "node_modules/@types")],
      },
      include: [],
      files: Object.values(ENTRIES).map((source) => join(root, FOLDER, `${source}.ts`)),
    }),
  );
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  await promisify(execFile)(process.execPath, [compiler, "--project", settings]);
  const names = new Map(Object.entries(ENTRIES).map(([name, source]) => [source, name]));
  const nameOf = (source: string): string =>
    names.get(source) ?? `plugin-${posix.basename(source)}`;
  const wanted = [...names.keys()];
  const found: [string, string][] = [];
  for (const source of wanted) {
    const text = await readFile(join(folder.path, FOLDER, `${source}.d.ts`), "utf8");
    const rewritten = text.replaceAll(/ from "([^"]+)"/g, (_, path: string) => {
      const imported = posix.join(posix.dirname(source), path).replace(/\.ts$/, "");
      if (!path.startsWith(".") || imported.startsWith("..")) {
        throw new Error(`Cannot publish the types of ${source}.ts: they refer to ${path}`);
      }
      if (!wanted.includes(imported)) wanted.push(imported);
      return ` from "./${nameOf(imported)}.mjs"`;
    });
    found.push([`${nameOf(source)}.d.mts`, rewritten]);
  }
  return found;
}

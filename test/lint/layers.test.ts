import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import {
  copyFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, posix } from "node:path";
import { before, describe, it, test } from "node:test";
import { LAYERS } from "../../layers.ts";

const ROOT = join(import.meta.dirname, "../..");
const OXLINT = join(ROOT, "node_modules/oxlint/bin/oxlint");

/** Every way to write an import that the rules must see. */
const FORMS = {
  value: (path: string) => `import { x } from "${path}";\nexport const y = x;\n`,
  type: (path: string) => `import type { X } from "${path}";\nexport type Y = X;\n`,
  "side-effect": (path: string) => `import "${path}";\n`,
  "re-export": (path: string) => `export { x } from "${path}";\n`,
  "re-export-all": (path: string) => `export * from "${path}";\n`,
  dynamic: (path: string) => `export const y = await import("${path}");\n`,
};

describe("layers()", () => {
  /** What is written for each test, by file. The linter reads all of it at once, since each start takes long. */
  const denied = deniedByMap();
  const allowed = allowedByMap();
  const outside = {
    "rpc/out.ts": "../../scripts/build.ts",
    "rpc/dot.ts": "./../agent/x.ts",
    "rpc/detour.ts": "./x/../../agent/x.ts",
    "rpc/back.ts": "../base/../agent/x.ts",
    "drawer/x.ts": "../base/x.ts",
    "protocol/x.ts": "../base/x.ts",
  };
  const tests = {
    "base/x.test.ts": 'import "../app/x.ts";\n',
    "protocol/mcp/x.test.ts": 'import "../acp/x.ts";\n',
  };
  const besides = { "rpc/peer.ts": 'import "../wire/channel/stream.ts";\n' };
  let found: Map<string, string>;
  before(async () => {
    await using project = await Project.create();
    const all = { ...denied, ...allowed, ...tests, ...besides };
    for (const [file, text] of Object.entries(all)) await project.write(file, text);
    for (const [file, path] of Object.entries(outside)) {
      await project.write(file, `import "${path}";\n`);
    }
    found = await project.lint();
  });
  const foundOf = (files: object): string[] => Object.keys(files).filter((file) => found.has(file));

  it("forbids every import that the map does not allow, in every form", () => {
    assert.deepEqual(foundOf(denied), Object.keys(denied));
    assert.equal(found.get("rpc/to-agent.ts"), "rpc/ may import only: base, wire/channel.ts");
    assert.equal(found.size, Object.keys({ ...denied, ...outside, ...besides }).length);
  });

  it("allows what the map allows, at every depth", () => {
    assert.ok(Object.keys(allowed).length > 0);
    assert.deepEqual(foundOf(allowed), []);
  });

  it("forbids all of a layer except the one file that is allowed", () => {
    assert.deepEqual(foundOf(besides), Object.keys(besides));
  });

  it("forbids paths that leave src/ or make detours, and folders not in the map", () => {
    assert.deepEqual(foundOf(outside), Object.keys(outside));
  });

  it("lets test files import anything", () => {
    assert.deepEqual(foundOf(tests), []);
  });
});

/** Files with an import that the map does not allow. */
function deniedByMap(): Record<string, string> {
  const files: Record<string, string> = {};
  for (const [layer, allowed] of Object.entries(LAYERS)) {
    for (const other of Object.keys(LAYERS)) {
      if (other === layer || allowed.includes(other)) continue;
      files[`${layer}/to-${other.replace("/", "-")}.ts`] = FORMS.value(pathTo(other, layer));
    }
    const stranger = Object.keys(LAYERS).find((name) => name !== layer && !allowed.includes(name));
    assert.ok(stranger !== undefined, `${layer} may import everything`);
    for (const [form, write] of Object.entries(FORMS)) {
      files[`${layer}/${form}.ts`] = write(pathTo(stranger, layer));
      files[`${layer}/a/b/${form}.ts`] = write(pathTo(stranger, `${layer}/a/b`));
    }
  }
  return files;
}

/** Files that import all that the map allows. */
function allowedByMap(): Record<string, string> {
  const files: Record<string, string> = {};
  for (const [layer, allowed] of Object.entries(LAYERS)) {
    for (const [depth, folder] of [layer, `${layer}/a`, `${layer}/a/b`].entries()) {
      const own = `${"../".repeat(depth) || "./"}own.ts`;
      const others = allowed.map((name) => pathTo(name, folder));
      const lines = [own, ...others, "node:fs", "ws"].map((path) => `import "${path}";\n`);
      files[`${folder}/allowed.ts`] = lines.join("");
    }
  }
  return files;
}

test("layers() lists every folder of src/", async () => {
  const folders = (await readdir(join(ROOT, "src"), { withFileTypes: true }))
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
  const known = new Set(Object.keys(LAYERS).map((layer) => layer.split("/")[0]));
  assert.deepEqual(
    folders.filter((name) => !known.has(name)),
    [],
  );
});

test("docs/ARCHITECTURE.md matches the map", async () => {
  const page = await readFile(join(ROOT, "docs/ARCHITECTURE.md"), "utf8");
  const said: Record<string, string[]> = {};
  for (const [, first = "", imports = ""] of page.matchAll(
    /^\| (`[^|]*\/`) \| .* \| ([^|]*) \|$/gm,
  )) {
    const folders = Array.from(first.matchAll(/`([\w/]+)\/`/g), ([, folder = ""]) => folder);
    const above = Object.keys(said);
    for (const folder of folders) {
      if (imports === "everything above") said[folder] = above;
      else if (imports === "everything above, and each other")
        said[folder] = [...above, ...folders];
      else said[folder] = imports === "–" ? [] : imports.split(", ");
    }
  }
  assert.deepEqual(said, LAYERS);
});

/** The import of a file in one layer, or of the one file, from a folder of src/. */
function pathTo(target: string, folder: string): string {
  const path = posix.relative(folder, target.endsWith(".ts") ? target : `${target}/x.ts`);
  // The linter judges the text of an import, which says no more than it must.
  return path.startsWith(".") ? path : `./${path}`;
}

/** A folder shaped like this project, with its lint rules. */
class Project implements AsyncDisposable {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async create(): Promise<Project> {
    const folder = await mkdtemp(join(tmpdir(), "trunkline-layers-"));
    await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
    for (const file of ["oxlint.config.ts", "layers.ts", "tsconfig.json", "package.json"]) {
      await copyFile(join(ROOT, file), join(folder, file));
    }
    return new Project(folder);
  }

  async write(file: string, text: string): Promise<void> {
    const path = join(this.#folder, "src", file);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }

  /** What the layer rules say, by file. */
  async lint(): Promise<Map<string, string>> {
    const args = [OXLINT, "--format=json", "--allow=all", "src"];
    const options = { cwd: this.#folder, maxBuffer: 64 * 1024 * 1024 };
    const output = await new Promise<string>((resolve) => {
      execFile(process.execPath, args, options, (_, stdout) => resolve(stdout));
    });
    const { diagnostics } = JSON.parse(output) as { diagnostics: Diagnostic[] };
    const ours = diagnostics.filter(({ code }) => code === "eslint(no-restricted-imports)");
    return new Map(ours.map(({ filename, help }) => [filename.replace(/^src\//, ""), help]));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#folder, { recursive: true });
  }
}

interface Diagnostic {
  readonly code: string;
  readonly filename: string;
  readonly help: string;
}

import type { TurnFiles } from "../files/turn-files.ts";

/** What the files of a project's build tools say about it. */
export interface Project {
  readonly kinds: readonly string[];
  readonly test?: string;
  readonly format?: string;
  readonly lint?: string;
  readonly build?: string;
}

type Commands = Omit<Project, "kinds">;

const KINDS: readonly { file: string; kind: string; commands: (text: string) => Commands }[] = [
  { file: "package.json", kind: "Node.js", commands: fromPackage },
  {
    file: "Cargo.toml",
    kind: "Rust",
    commands: () => ({
      test: "cargo test",
      format: "cargo fmt",
      lint: "cargo clippy",
      build: "cargo build",
    }),
  },
  {
    file: "go.mod",
    kind: "Go",
    commands: () => ({
      test: "go test ./...",
      format: "gofmt -w .",
      lint: "go vet ./...",
      build: "go build ./...",
    }),
  },
  { file: "pyproject.toml", kind: "Python", commands: fromPyproject },
  { file: "Makefile", kind: "make", commands: fromMakefile },
];

/** Finds out how a project is tested, formatted, linted and built. The first file that says it wins. */
export async function readProject(files: TurnFiles): Promise<Project> {
  const kinds: string[] = [];
  let commands: Commands = {};
  for (const { file, kind, commands: read } of KINDS) {
    const text = await files.readIfThere(await files.workspace.find(file)).catch(() => undefined);
    if (text === undefined) continue;
    kinds.push(kind);
    commands = { ...read(text), ...commands };
  }
  return { kinds, ...commands };
}

function fromPackage(text: string): Commands {
  let scripts: Record<string, unknown>;
  try {
    ({ scripts = {} } = JSON.parse(text) as { scripts?: Record<string, unknown> });
  } catch {
    return {};
  }
  const has = (name: string): boolean => {
    const script = scripts[name];
    return typeof script === "string" && !/no test specified/.test(script);
  };
  return {
    ...(has("test") ? { test: "npm test" } : {}),
    ...pick("format", ["format", "fmt", "prettier"].find(has)),
    ...pick("lint", ["lint", "check"].find(has)),
    ...pick("build", ["build"].find(has)),
  };
}

function pick(what: "format" | "lint" | "build", script: string | undefined): Commands {
  return script === undefined ? {} : { [what]: `npm run ${script}` };
}

function fromPyproject(text: string): Commands {
  const hasRuff = /^\[tool\.ruff/m.test(text);
  const hasBlack = /^\[tool\.black/m.test(text);
  return {
    test: "python -m pytest",
    ...(hasRuff ? { format: "ruff format .", lint: "ruff check ." } : {}),
    ...(hasBlack ? { format: "black ." } : {}),
  };
}

function fromMakefile(text: string): Commands {
  const has = (target: string): boolean => new RegExp(`^${target}\\s*:(?!=)`, "m").test(text);
  return {
    ...(has("test") ? { test: "make test" } : has("check") ? { test: "make check" } : {}),
    ...(has("format") ? { format: "make format" } : has("fmt") ? { format: "make fmt" } : {}),
    ...(has("lint") ? { lint: "make lint" } : {}),
    ...(has("build") ? { build: "make build" } : {}),
  };
}

import { objectIn } from "../../base/check.ts";
import type { TurnFiles } from "../files/turn-files.ts";
import { walk } from "../files/search-text.ts";
import type { ToolAnswer } from "../tools/agent-tool.ts";
import { changeFiles } from "../tools/edit-tools.ts";
import { allowToRun, runShown } from "../tools/run-command.ts";
import { fencedBlock } from "../tools/tool-runner.ts";
import type { CommandContext, SlashCommand } from "./session-commands.ts";

type Commands = Partial<Readonly<Record<"test" | "format" | "lint" | "build", string>>>;

/** What the files of a project's build tools say about it. */
type Project = Commands & { readonly kinds: readonly string[] };

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
  const { scripts = {} } = (objectIn(text) ?? {}) as { scripts?: Record<string, unknown> };
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

const TIMEOUT = 1_800_000;
const MOST_SAID = 4_000;

export const test = projectCommand("test", "Run the project's tests");
export const format = projectCommand("format", "Run the project's formatter");

function projectCommand(name: "test" | "format", description: string): SlashCommand {
  return {
    name,
    description,
    hint: "[ARGUMENTS]",
    run: async (input, context) => {
      const project = await readProject(context.files);
      const line = project[name];
      if (line === undefined) return unknownText(name, project);
      const answer = await runStep(context, input === "" ? line : `${line} ${input}`);
      return fencedBlock(tail(answer.text));
    },
  };
}

/** Runs a command line once the person has allowed it. */
export function runStep(context: CommandContext, line: string): Promise<ToolAnswer> {
  return context.perform({
    title: line,
    kind: "execute",
    need: "run",
    timeout: TIMEOUT + 10_000,
    call: async (work) => {
      const isOutside = await allowToRun(work, line);
      const { cwd } = work.files.workspace;
      const { output, end, isOk } = await runShown(work, line, cwd, TIMEOUT, isOutside);
      return { text: `${output.trimEnd()}\n(${end})`.trimStart(), isError: !isOk, content: [] };
    },
  });
}

function unknownText(name: string, { kinds }: Project): string {
  const looked = kinds.length === 0 ? "no file that says so" : `only ${kinds.join(", ")}`;
  return (
    `I do not know how to ${name} this project: there is ${looked}. Add a script \`${name}\` to ` +
    `package.json or a target \`${name}\` to a Makefile.\n`
  );
}

function tail(text: string): string {
  return text.length <= MOST_SAID ? text : `…${text.slice(-MOST_SAID)}`;
}

const FILE = "AGENTS.md";

export const init: SlashCommand = {
  name: "init",
  description: `Write an ${FILE} with what agents should know about the project`,
  run: async (_, context) => {
    const { files } = context;
    const target = await files.workspace.findToWrite(FILE);
    if ((await files.readIfThere(target)) !== undefined) {
      return `There is an ${FILE} already; it stays as it is.\n`;
    }
    const text = await describe(context);
    const answer = await context.perform({
      title: `Create ${FILE}`,
      kind: "edit",
      need: "write",
      call: (work) => changeFiles(work, [{ target, old: undefined, text }]),
    });
    return `${answer.text}\n`;
  },
};

async function describe({ files, turn }: CommandContext): Promise<string> {
  const project = await readProject(files);
  const options = { depth: 1, most: 200, signal: turn.signal };
  const { names } = await walk(files.workspace.cwd, options);
  const folders = names.filter((name) => name.endsWith("/") && !/^(?:\.|node_modules)/.test(name));
  const lines = ["# For agents that work here", "", ...commandLines(project)];
  if (folders.length > 0)
    lines.push("", "## Folders", "", ...folders.map((name) => `- \`${name}\``));
  return `${lines.join("\n")}\n`;
}

function commandLines({ kinds, test, format, lint, build }: Project): string[] {
  const known = Object.entries({ Build: build, Test: test, Lint: lint, Format: format });
  const lines = known.flatMap(([what, line]) =>
    line === undefined ? [] : [`- ${what}: \`${line}\``],
  );
  const what = kinds.length === 0 ? [] : [`Project: ${kinds.join(", ")}.`, ""];
  const none = "How it is built and tested is not written down anywhere yet.";
  return [...what, ...(lines.length === 0 ? [none] : ["## Commands", "", ...lines])];
}

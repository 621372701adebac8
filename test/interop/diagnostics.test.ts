import assert from "node:assert/strict";
import { existsSync, mkdirSync, realpathSync, symlinkSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { before, describe, it, type TestContext } from "node:test";
import { pathToFileURL } from "node:url";

import { AppContext } from "../../src/config/app-context.ts";
import { defaultConfig } from "../../src/config/config.ts";
import { systemProgram } from "../../src/sandbox/remedy.ts";
import { openLocalSandbox } from "../../src/sandbox/open/local-sandbox.ts";
import { AgentRig } from "../agent/agent-rig.ts";
import { FakeLlm } from "../agent/fake-llm.ts";
import { ALLOW } from "../agent/sample-turn.ts";
import { Packages } from "../support/packages.ts";

const ROOT = join(import.meta.dirname, "../..");
const MODULES = join(ROOT, "node_modules");

interface AptProgram {
  readonly command: string;
  readonly package: string;
  readonly why: string;
  readonly optional: true;
}

const program = (command: string, name = command): AptProgram => {
  return { command, package: name, why: "edits are checked with it", optional: true };
};

interface CheckedProject {
  readonly files: Readonly<Record<string, string>>;
  /** What breaks it: a file, and a text in it that is replaced. */
  readonly edit: readonly [file: string, before: string, after: string];
  /** What the person is asked about. */
  readonly runs: RegExp;
  /** What the model is told. */
  readonly expects: RegExp;
  /** Programs of Debian that it needs. */
  readonly needs?: readonly AptProgram[];
  /** The folders of `PATH`; undefined if a program is missing. */
  readonly path?: () => Promise<readonly string[] | undefined>;
  /** Makes more of the project than its files. */
  readonly prepare?: (project: string) => void;
}

const USUAL = ["/usr/local/bin", "/usr/bin", "/bin"];

const servers = new Packages("test/interop/language-servers");

const withServers = async (): Promise<readonly string[]> => {
  await servers.install();
  return [servers.path(".bin"), ...USUAL];
};

/** The folder of a program in `PATH`. */
const folderOf = (name: string): string | undefined =>
  (process.env.PATH ?? "").split(delimiter).find((folder) => existsSync(join(folder, name)));

const GO = {
  files: {
    "go.mod": "module example.org/sum\n\ngo 1.19\n",
    "sum.go": "package main\n\nfunc sum(a, b int) int { return a + b }\n",
    "main.go": 'package main\n\nimport "fmt"\n\nfunc main() {\n\tfmt.Println(sum(1, 2))\n}\n',
  },
  edit: ["main.go", "sum(1, 2)", 'sum(1, "two")'],
  expects: /main\.go:6:\d+: .*(?:cannot use|cannot convert).*"two"/,
} as const;

/** A project that has the compiler of before version 7. */
function withOldTypescript(project: string): void {
  mkdirSync(join(project, "node_modules/.bin"), { recursive: true });
  symlinkSync(servers.path("typescript"), join(project, "node_modules/typescript"));
  symlinkSync(servers.path("typescript/bin/tsc"), join(project, "node_modules/.bin/tsc"));
}

const TYPESCRIPT = {
  files: {
    "tsconfig.json": JSON.stringify({ compilerOptions: { strict: true, types: [] } }),
    "a.ts": "export const a: number = 1;\n",
  },
  edit: ["a.ts", "= 1", '= "one"'],
} as const;

const PROJECTS: Readonly<Record<string, CheckedProject>> = {
  clangd: {
    needs: [program("clangd")],
    runs: /\/clangd$/,
    files: {
      "add.h": "int add(int a, int b);\n",
      "main.c": '#include "add.h"\n\nint main(void) {\n  return add(1, 2);\n}\n',
    },
    edit: ["main.c", "add(1, 2)", "add(1)"],
    expects: /main\.c:4:\d+: \S* ?.*[Tt]oo few arguments/,
  },
  gopls: {
    needs: [program("gopls"), program("go", "golang-go")],
    runs: /\/gopls$/,
    ...GO,
  },
  pyright: {
    path: withServers,
    runs: /\/pyright-langserver --stdio$/,
    files: {
      "shop.py": "def price(count: int) -> int:\n    return count * 2\n",
      "main.py": "from shop import price\n\nprint(price(3))\n",
    },
    edit: ["main.py", "price(3)", 'price("three")'],
    expects: /main\.py:3:\d+: reportArgumentType .*'three'/,
  },
  "typescript-language-server": {
    path: withServers,
    runs: /\/typescript-language-server --stdio$/,
    prepare: withOldTypescript,
    ...TYPESCRIPT,
    expects: /a\.ts:1:14: 2322 .*not assignable/,
  },
  "tsc --lsp of PATH": {
    path: async () => [join(MODULES, ".bin"), ...USUAL],
    runs: /\/tsc --lsp --stdio$/,
    ...TYPESCRIPT,
    expects: /a\.ts:1:14: 2322 .*not assignable/,
  },
  "the project's own tsc": {
    path: async () => {
      await servers.install();
      return USUAL;
    },
    runs: /^node_modules\/\.bin\/tsc --noEmit/,
    prepare: withOldTypescript,
    ...TYPESCRIPT,
    expects: /a\.ts:1:14: error TS2322: .*not assignable/,
  },
  "cargo check": {
    path: async () => {
      const folder = folderOf("cargo");
      return folder === undefined ? undefined : [folder, ...USUAL];
    },
    runs: /^cargo check --offline/,
    files: {
      "Cargo.toml": '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2021"\n',
      "src/main.rs":
        'fn price(count: u32) -> u32 {\n    count * 2\n}\n\nfn main() {\n    println!("{}", price(3));\n}\n',
    },
    edit: ["src/main.rs", "price(3)", 'price("three")'],
    expects: /src\/main\.rs:6:\d+: error\[E0308\]: mismatched types/,
  },
  "go vet": {
    needs: [program("go", "golang-go")],
    // Only what Debian has go in, where gopls is not.
    path: async () => [join(realpathSync("/usr/bin/go"), "..")],
    runs: /go vet/,
    ...GO,
  },
  "the grammar of Python": {
    needs: [program("python3")],
    path: async () => USUAL,
    runs: /python3 -I -m ast FILE/,
    files: { "main.py": "print((1, 2))\n" },
    edit: ["main.py", "2))", "2)"],
    expects: /main\.py:1:1: SyntaxError: .*never closed/,
  },
};

/** The errors that the agent is told after its edit, in the real sandbox. */
async function told(project: CheckedProject): Promise<{ answer: string; asked: string[] }> {
  const [path, old_string, new_string] = project.edit;
  const call = { name: "edit_file", arguments: { path, old_string, new_string } };
  const read = { name: "read_file", arguments: { path } };
  await using llm = await FakeLlm.start([
    { toolCalls: [read] },
    { toolCalls: [call] },
    { content: "Done." },
  ]);
  await using machine = new AgentRig();
  const base = defaultConfig(machine.data);
  const files = { ...base.agent.files, show: [process.execPath, ROOT] };
  const app = new AppContext({ ...base, agent: { ...base.agent, sandbox: "on", files } });
  await using rig = new AgentRig({
    llm,
    files: project.files,
    sandbox: (folders) => openLocalSandbox(app, folders),
    // Machines are busy: it waits for as long as it takes.
    limits: { diagnostics: 600_000 },
  });
  project.prepare?.(rig.cwd);
  const { turn } = await rig.turn({ prompt: "go", decide: () => ALLOW });
  const answers = llm.requests.at(-1)?.messages.filter(({ role }) => role === "tool") ?? [];
  return {
    answer: `${String(answers.at(-1)?.content)}\n${rig.log.join("\n")}`,
    asked: turn.asked.map(({ toolCall }) => String(toolCall.title)),
  };
}

describe("errors after an edit, without configuration", { timeout: 1_800_000 }, () => {
  before(async () => {
    const { installPrograms, missingPrograms } = (await import(
      pathToFileURL(join(ROOT, "scripts/programs.mjs")).href
    )) as {
      installPrograms: (
        missing: readonly AptProgram[],
        say: (text: string) => unknown,
      ) => Promise<void>;
      missingPrograms: (programs: readonly AptProgram[]) => readonly AptProgram[];
    };
    const missing = missingPrograms(Object.values(PROJECTS).flatMap(({ needs = [] }) => needs));
    if (missing.length > 0)
      await installPrograms(missing, (text) => process.stderr.write(`${text}\n`));
  });

  for (const [name, project] of Object.entries(PROJECTS)) {
    it(`of ${name}`, async (t: TestContext) => {
      const missing = (project.needs ?? []).filter(
        ({ command }) => systemProgram(command) === undefined,
      );
      if (missing.length > 0) {
        t.skip(`Install: sudo apt-get install ${missing.map((each) => each.package).join(" ")}`);
        return;
      }
      const folders = project.path === undefined ? USUAL : await project.path();
      if (folders === undefined) {
        t.skip(`The program of ${name} is not in PATH.`);
        return;
      }
      const { PATH } = process.env;
      process.env.PATH = [dirname(process.execPath), ...folders].join(delimiter);
      try {
        const begun = performance.now();
        const { answer, asked } = await told(project);
        t.diagnostic(`${Math.round(performance.now() - begun)} ms`);
        assert.match(answer, project.expects);
        const [question = "", ...others] = asked
          .filter((title) => title.startsWith("Check edits with "))
          .map((title) => title.slice("Check edits with ".length));
        assert.match(question, project.runs);
        assert.deepEqual(others, []);
      } finally {
        process.env.PATH = PATH;
      }
    });
  }
});

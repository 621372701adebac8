import assert from "node:assert/strict";
import { mkdirSync, symlinkSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { before, describe, it, type TestContext } from "node:test";
import { pathToFileURL } from "node:url";

import { AppContext } from "../../src/config/app-context.ts";
import { defaultConfig } from "../../src/config/config.ts";
import { systemProgram } from "../../src/sandbox/remedy.ts";
import { LocalSandbox } from "../../src/sandbox/open/local-sandbox.ts";
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
  /** What the model is told. */
  readonly expects: RegExp;
  /** Programs of Debian that it needs. */
  readonly needs?: readonly AptProgram[];
  /** The folder of `PATH` in which the server or the checker is. */
  readonly install?: () => Promise<string>;
  /** Makes more of the project than its files. */
  readonly prepare?: (project: string) => void;
}

const servers = new Packages("test/interop/language-servers");

const TYPESCRIPT = {
  files: {
    "tsconfig.json": JSON.stringify({ compilerOptions: { strict: true, types: [] } }),
    "a.ts": "export const a: number = 1;\n",
  },
  edit: ["a.ts", "= 1", '= "one"'],
  expects: /a\.ts:1:14: 2322 .*not assignable/,
} as const;

const PROJECTS: Readonly<Record<string, CheckedProject>> = {
  clangd: {
    needs: [program("clangd")],
    files: {
      "add.h": "int add(int a, int b);\n",
      "main.c": '#include "add.h"\n\nint main(void) {\n  return add(1, 2);\n}\n',
    },
    edit: ["main.c", "add(1, 2)", "add(1)"],
    expects: /main\.c:4:\d+: \S* ?.*[Tt]oo few arguments/,
  },
  gopls: {
    needs: [program("gopls"), program("go", "golang-go")],
    files: {
      "go.mod": "module example.org/sum\n\ngo 1.19\n",
      "sum.go": "package main\n\nfunc sum(a, b int) int { return a + b }\n",
      "main.go": 'package main\n\nimport "fmt"\n\nfunc main() {\n\tfmt.Println(sum(1, 2))\n}\n',
    },
    edit: ["main.go", "sum(1, 2)", 'sum(1, "two")'],
    expects: /main\.go:6:\d+: .*(?:cannot use|cannot convert).*"two"/,
  },
  pyright: {
    install: async () => {
      await servers.install();
      return servers.path(".bin");
    },
    files: {
      "shop.py": "def price(count: int) -> int:\n    return count * 2\n",
      "main.py": "from shop import price\n\nprint(price(3))\n",
    },
    edit: ["main.py", "price(3)", 'price("three")'],
    expects: /main\.py:3:\d+: reportArgumentType .*'three'/,
  },
  "typescript-language-server": {
    install: async () => {
      await servers.install();
      return servers.path(".bin");
    },
    prepare: (project) => {
      mkdirSync(join(project, "node_modules"));
      symlinkSync(servers.path("typescript"), join(project, "node_modules/typescript"));
    },
    ...TYPESCRIPT,
  },
  "tsc --lsp of PATH": {
    install: async () => join(MODULES, ".bin"),
    ...TYPESCRIPT,
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
    sandbox: (folders) => new LocalSandbox(app, folders),
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
        say: (text: string) => void,
      ) => Promise<void>;
      missingPrograms: (programs: readonly AptProgram[]) => readonly AptProgram[];
    };
    const missing = missingPrograms(Object.values(PROJECTS).flatMap(({ needs = [] }) => needs));
    if (missing.length > 0) await installPrograms(missing, (text) => console.error(text));
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
      const folder = await project.install?.();
      const folders = [dirname(process.execPath), "/usr/local/bin", "/usr/bin", "/bin"];
      const { PATH } = process.env;
      process.env.PATH = [...(folder === undefined ? [] : [folder]), ...folders].join(delimiter);
      try {
        const begun = performance.now();
        const { answer, asked } = await told(project);
        t.diagnostic(`${Math.round(performance.now() - begun)} ms`);
        assert.match(answer, project.expects);
        assert.equal(asked.filter((title) => title.startsWith("Check edits with")).length, 1);
      } finally {
        process.env.PATH = PATH;
      }
    });
  }
});

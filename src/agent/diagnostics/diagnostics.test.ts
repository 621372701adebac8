// Long: checkers and language servers in sandboxes.
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { AgentRig, type AgentRigOptions } from "../../../test/agent/agent-rig.ts";
import { FakeLlm, type ScriptedCall } from "../../../test/agent/fake-llm.ts";
import { ALLOW, REJECT } from "../../../test/agent/sample-turn.ts";
import type { Confiner } from "../../base/process/child-process.ts";
import { Log } from "../../base/log.ts";
import { until } from "../../../test/support/until.ts";
import type { TurnClient } from "../../session/agent.ts";
import type { CommandSandboxOpener } from "../files/command-sandbox.ts";
import { Journal } from "../files/journal.ts";
import { TurnFiles } from "../files/turn-files.ts";
import { Workspace } from "../files/workspace.ts";
import { Diagnostics } from "./diagnostics.ts";
import { LanguageServer } from "./language-server.ts";

const MODULES = join(import.meta.dirname, "../../../node_modules");

/** A sandbox that confines nothing, and tells what was started in it and what has ended. */
function sandbox(
  started: string[],
  { isThere = true, closed = [] }: { isThere?: boolean; closed?: number[] } = {},
): CommandSandboxOpener {
  const confine: Confiner = (program) => {
    started.push([program.command, ...(program.args ?? [])].join(" "));
    return program;
  };
  const entered = { refused: new Map(), isShown: () => true, notes: [], limits: [] };
  return () => ({
    mayBeLeft: true,
    isThere: async () => isThere,
    enter: async (ask) => {
      assert.equal(ask, undefined, "it has no network");
      const at = started.length;
      return { confine, ...entered, [Symbol.asyncDispose]: async () => void closed.push(at) };
    },
    [Symbol.asyncDispose]: async () => {},
  });
}

const edit = (path: string, old_string: string, new_string: string): ScriptedCall => {
  return { name: "edit_file", arguments: { path, old_string, new_string } };
};

interface Checked {
  readonly answers: readonly string[];
  readonly asked: readonly string[];
  readonly shown: string;
}

/** Calls of one answer each, in a project that `prepare` sets up. */
async function checked(
  calls: readonly ScriptedCall[],
  options: AgentRigOptions & {
    prepare: (rig: AgentRig) => void;
    isAllowed?: boolean;
    settled?: () => Promise<void>;
  },
): Promise<Checked> {
  const { prepare, isAllowed = true, settled, ...parts } = options;
  const script = calls.map((call) => ({ toolCalls: [call] }));
  await using llm = await FakeLlm.start([...script, { content: "Done." }]);
  const limits = { diagnostics: 600_000, ...parts.limits };
  await using rig = new AgentRig({ llm, ...parts, limits });
  prepare(rig);
  const { turn } = await rig.turn({
    prompt: "go",
    decide: ({ toolCall }) =>
      isAllowed || !String(toolCall.title).startsWith("Check") ? ALLOW : REJECT,
  });
  await settled?.();
  const answers = (llm.requests.at(-1)?.messages ?? [])
    .filter(({ role }) => role === "tool")
    .map(({ content }) => String(content));
  const asked = turn.asked.map(({ toolCall }) => String(toolCall.title));
  return { answers, asked, shown: JSON.stringify(turn.ofKind("tool_call_update")) };
}

const CONFIG = JSON.stringify({ compilerOptions: { strict: true, noEmit: true, types: [] } });
const FILES = {
  "tsconfig.json": CONFIG,
  "a.ts": "export const a: number = 1;\nexport const old: string = 2;\n",
  "b.ts": 'import { a } from "./a.ts";\nexport const b = a + 1;\n',
};

/** A project with the compiler of this repository, which is a language server. */
function typescript(rig: AgentRig): void {
  mkdirSync(join(rig.cwd, "node_modules/.bin"), { recursive: true });
  symlinkSync(join(MODULES, "typescript"), join(rig.cwd, "node_modules/typescript"));
  symlinkSync(join(MODULES, "typescript/bin/tsc"), join(rig.cwd, "node_modules/.bin/tsc"));
}

/** A language server in JavaScript; `answer` is what it does with each message, `body`. */
function fakeServer(answer: string): string {
  return `#!${process.execPath}
    const { appendFileSync, existsSync } = require("node:fs");
    const send = (m) => { const b = JSON.stringify({ jsonrpc: "2.0", ...m });
      process.stdout.write("Content-Length: " + Buffer.byteLength(b) + "\\r\\n\\r\\n" + b); };
    let text = "";
    process.stdin.on("data", (chunk) => {
      text += chunk;
      for (let m; (m = /Content-Length: (\\d+)\\r\\n\\r\\n/.exec(text)) && text.length >= m.index + m[0].length + Number(m[1]);) {
        const from = m.index + m[0].length, body = JSON.parse(text.slice(from, from + Number(m[1])));
        text = text.slice(from + Number(m[1]));
        ${answer}
      }
    });`;
}

/** Puts a server for Python into the project. */
function install(cwd: string, text: string): string {
  const path = join(cwd, "node_modules/.bin/pyright-langserver");
  mkdirSync(join(cwd, "node_modules/.bin"), { recursive: true });
  writeFileSync(path, text);
  chmodSync(path, 0o755);
  return path;
}

describe("errors after an edit", () => {
  it("are told to the model and shown to the person, only new ones, after one question", async () => {
    const started: string[] = [];
    const calls = [
      edit("a.ts", "number = 1", 'number = "one"'),
      edit("a.ts", 'number = "one"', "number = 2"),
    ];
    const { answers, asked, shown } = await checked(calls, {
      files: FILES,
      sandbox: sandbox(started),
      prepare: typescript,
    });
    assert.match(
      answers[0] ?? "",
      /New errors since this edit:\na\.ts:1:14: 2322 .*not assignable/,
    );
    assert.doesNotMatch(answers[0] ?? "", /a\.ts:2/, "what was wrong before is not its fault");
    assert.doesNotMatch(answers[1] ?? "", /New errors/);
    assert.match(shown, /New errors since this edit/);
    assert.equal(asked.filter((title) => title.startsWith("Check edits with")).length, 1);
    assert.equal(started.length, 1);
    assert.match(started[0] ?? "", /\/tsc --lsp --stdio$/);
  });

  it("are not looked for without a sandbox, nor if the person says no, which is asked once", async () => {
    const calls = [edit("a.ts", "= 1", "= 3"), edit("a.ts", "= 3", '= ""')];
    for (const [isThere, isAllowed, questions] of [
      [false, true, 0],
      [true, false, 1],
    ] as const) {
      const started: string[] = [];
      const { answers, asked } = await checked(calls, {
        files: FILES,
        sandbox: sandbox(started, { isThere }),
        prepare: typescript,
        isAllowed,
      });
      assert.deepEqual(started, []);
      assert.doesNotMatch(answers.join(), /New errors/);
      assert.equal(asked.filter((title) => title.startsWith("Check")).length, questions);
    }
  });

  it("that come late go with the next answer of the conversation that made the edit", async () => {
    await using rig = new AgentRig({ files: { "a.py": "wrong\n" } });
    // Says what is wrong when a file tells it to, which is after the edit has been answered.
    const answer = `
      if (body.method === "initialize") send({ id: body.id, result: { capabilities: {} } });
      const { uri, version, text: opened } = body.params?.textDocument ?? {};
      if (uri === undefined) continue;
      const now = opened ?? body.params.contentChanges[0].text;
      const start = { line: 0, character: 0 };
      const diagnostics = now.includes("wrong") ? [{ severity: 1, message: "it is wrong", range: { start } }] : [];
      const say = () => existsSync(${JSON.stringify(join(rig.cwd, "go"))})
        ? send({ method: "textDocument/publishDiagnostics", params: { uri, version, diagnostics } })
        : setTimeout(say, 20);
      say();`;
    install(rig.cwd, fakeServer(answer));
    const log = new Log("debug", () => {});
    await using diagnostics = new Diagnostics(rig.cwd, sandbox([])([rig.cwd]), log, 1);
    const workspace = new Workspace(rig.cwd);
    const journal = new Journal(rig.data, "session").begin();
    const files = new TurnFiles({ workspace, journal, client: () => ({}) as TurnClient });
    const subagent = files.forSubagent();
    const change = { target: await workspace.find("a.py"), old: "right\n", text: "wrong\n" };
    const work = { allow: async () => {}, files: subagent };
    assert.equal(await diagnostics.after([change], work), "");
    rig.write("go", "");
    let late = "";
    await until(() => {
      assert.equal(files.seen.takeLate(), "", "it is not about an edit of this conversation");
      return (late += subagent.seen.takeLate()) !== "";
    });
    assert.match(late, /^New errors since this edit:\na\.py:1:1: +it is wrong$/);
  });

  it("cost the edit nothing if the server fails, which leaves nothing open", async () => {
    const dies = `if (body.method === "initialize") send({ id: body.id, result: { capabilities: {} } });
      if (body.params?.textDocument) process.exit(3);`;
    const begins = `if (body.method !== "initialize") continue;
      send({ id: body.id, result: { capabilities: {} } });`;
    const dense = `${begins} send({ method: "x", params: Array(2e6).fill([]) });`;
    // It asks and asks, and reads no answer.
    const deaf = `${begins} process.stdin.pause();
      for (let id = 0; id < 80; id++)
        send({ id, method: "workspace/configuration", params: { items: Array(1e5).fill(0) } });`;
    for (const broken of [
      "#!/bin/sh\nexit 3\n",
      fakeServer(dense),
      fakeServer(deaf),
      "#!/bin/sh\nprintf 'Content-Length: 99999999999\\r\\n\\r\\n'; cat\n",
      fakeServer(dies),
    ]) {
      const started: string[] = [];
      const closed: number[] = [];
      const { answers } = await checked([edit("a.py", "right", "wrong")], {
        files: { "a.py": "right\n" },
        sandbox: sandbox(started, { closed }),
        prepare: (rig) => void install(rig.cwd, broken),
        // While the session goes on, whose end would close it too.
        settled: () => until(() => closed.length === 1),
      });
      assert.equal(answers[0], "Changed a.py (1 line now).");
      assert.equal(started.length, 1);
    }
  });

  it("are no longer asked for when nobody waits", async () => {
    await using rig = new AgentRig();
    const heard = join(rig.cwd, "heard");
    const answer = `appendFileSync(${JSON.stringify(heard)}, body.method + "\\n");
      const capabilities = { diagnosticProvider: {} };
      if (body.method === "initialize") send({ id: body.id, result: { capabilities } });`;
    const program = { command: install(rig.cwd, fakeServer(answer)), env: {}, cwd: rig.cwd };
    const confinement = await sandbox([])([rig.cwd]).enter();
    const stopper = new AbortController();
    await using server = await LanguageServer.start(program, confinement, stopper.signal);
    const asked = server.errors(join(rig.cwd, "a.py"), "python", "", stopper.signal);
    await until(() => readFileSync(heard, "utf8").endsWith("textDocument/diagnostic\n"));
    stopper.abort(new Error("enough"));
    await assert.rejects(asked, /enough/);
    await until(() => readFileSync(heard, "utf8").endsWith("$/cancelRequest\n"));
  });

  it("are found by the project's own checker where no server is, and each is told once", async () => {
    const script = `
      const { readFileSync } = require("node:fs");
      for (const name of ["a.js", "b.js"]) {
        readFileSync(name, "utf8").split("\\n").forEach((line, at) => {
          if (line.includes("wrong")) console.log(name + "(" + (at + 1) + ",3): error E1: " + line);
        });
      }
      process.exitCode = 1;`;
    const started: string[] = [];
    const check = `${process.execPath} check.cjs`;
    const { answers, asked } = await checked(
      [
        edit("a.js", "right", "wrong 1"),
        edit("a.js", "end", "wrong 2"),
        edit("a.js", "wrong 1", "right"),
      ],
      {
        files: {
          "package.json": JSON.stringify({ scripts: { types: "x --fix", check, lint: "no" } }),
          "check.cjs": script,
          "a.js": "right\nend\n",
          "b.js": "wrong from before\n",
        },
        sandbox: sandbox(started),
        prepare: () => {},
      },
    );
    assert.match(
      answers[0] ?? "",
      /\n`npm run --silent check` finds in changed files:\na\.js:1:3: error E1: wrong 1$/,
    );
    assert.match(answers[1] ?? "", /\nNew errors since this edit:\na\.js:2:3: error E1: wrong 2$/);
    assert.doesNotMatch(answers[2] ?? "", /error/);
    assert.deepEqual(
      asked.filter((title) => title.startsWith("Check")),
      ["Check edits with npm run --silent check"],
    );
    assert.equal(started.length, 3);
  });

  it("of Rust are found by rust-analyzer only where cargo cannot check the project", async () => {
    const { PATH } = process.env;
    const bad = `body.params.contentChanges[0].text.includes("wrong")`;
    const server = fakeServer(`
      const { uri, version } = body.params?.textDocument ?? {};
      const range = { start: { line: 0, character: 2 }, end: { line: 0, character: 3 } };
      const none = { uri, version, diagnostics: [] };
      if (body.method === "initialize") send({ id: body.id, result: { capabilities: {} } });
      const method = "textDocument/publishDiagnostics";
      if (body.method === "textDocument/didOpen") send({ method, params: none });
      if (body.method === "textDocument/didChange" && ${bad})
        send({ method, params: { ...none, diagnostics: [{ range, message: "expected u32" }] } });`);
    for (const [files, words] of [
      [{ "a.rs": "right\n" }, /\nNew errors since this edit:\na\.rs:1:3: expected u32$/],
      [{ "a.rs": "right\n", "Cargo.toml": "" }, /finds in changed files:\na\.rs:4:2: error$/],
    ] as const) {
      try {
        const { answers, asked } = await checked([edit("a.rs", "right", "wrong")], {
          files,
          sandbox: sandbox([]),
          prepare: (rig) => {
            const bin = join(rig.folder, "bin");
            mkdirSync(bin);
            const cargo = "#!/bin/sh\necho 'a.rs:4:2: error'\n";
            writeFileSync(join(bin, "rust-analyzer"), server, { mode: 0o755 });
            writeFileSync(join(bin, "cargo"), cargo, { mode: 0o755 });
            process.env.PATH = `${bin}:${PATH}`;
          },
        });
        assert.match(answers[0] ?? "", words);
        assert.equal(asked.filter((title) => title.startsWith("Check edits with")).length, 1);
      } finally {
        process.env.PATH = PATH;
      }
    }
  });

  it("are found by the checker if the server cannot be started", async () => {
    const files = { "go.mod": "module a\n", "a.go": "right\n" };
    const programs = (rig: AgentRig): string => {
      const bin = join(rig.folder, "bin");
      mkdirSync(bin);
      const say = "#!/bin/sh\necho 'vet: ./a.go:1:2: expected package'\nexit 1\n";
      for (const [name, text] of [
        ["gopls", "#!/bin/sh\nexit 3\n"],
        ["go", say],
      ] as const) {
        writeFileSync(join(bin, name), text, { mode: 0o755 });
      }
      return bin;
    };
    const { PATH } = process.env;
    try {
      const { answers, asked } = await checked(
        [edit("a.go", "right", "wrong"), edit("a.go", "wrong", "wrong 2")],
        {
          files,
          sandbox: sandbox([]),
          prepare: (rig) => (process.env.PATH = `${programs(rig)}:${PATH}`),
        },
      );
      assert.match(
        answers[1] ?? "",
        /go vet .* finds in changed files:\na\.go:1:2: expected package$/,
      );
      assert.equal(asked.filter((title) => title.startsWith("Check edits with")).length, 2);
    } finally {
      process.env.PATH = PATH;
    }
  });
});

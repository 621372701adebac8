// Long: a terminal for each case.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { MovingRig, prompts, SESSION } from "../support/moving-rig.ts";
import { SshServer, WITHOUT_SSHD } from "../support/git-rig/ssh-server.ts";
import { until } from "../support/until.ts";
import { Tmux, type TmuxOptions, withoutTmux } from "../support/tmux.ts";

const ROOT = join(import.meta.dirname, "../..");
const AGENT = join(ROOT, "test/support/acp-agent.mjs");
const PROGRAM = [process.execPath, join(ROOT, "dist/trunkline.js")];

/** A folder with a configured agent, in which people chat. */
class Home implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), "trunkline-chat-"));
  readonly where = ["--config", join(this.path, "config.jsonc"), "--data", join(this.path, "data")];

  constructor() {
    const other = { command: process.execPath, args: [AGENT, "--images"] };
    this.write("config.jsonc", JSON.stringify({ agent: "other", agents: { other } }));
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.path, name), text);
  }

  /** Updates that the agent sends on `updates FILE`. */
  updates(name: string, ...updates: object[]): void {
    this.write(name, JSON.stringify(updates));
  }

  run(...args: string[]): string {
    const [node = "", program = ""] = PROGRAM;
    const options = { encoding: "utf8", cwd: this.path, timeout: 300_000 } as const;
    return execFileSync(node, [program, ...args, ...this.where], options);
  }

  async chat(args: readonly string[] = [], options: Partial<TmuxOptions> = {}): Promise<Tmux> {
    const command = [...PROGRAM, "chat", ...args, ...this.where];
    const env = { HOME: this.path, ...options.env };
    const terminal = new Tmux({ cwd: this.path, command, ...options, env });
    await terminal.shows(/^> \/ for commands/m);
    return terminal;
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true });
  }
}

const text = (said: string): object => ({
  sessionUpdate: "agent_message_chunk",
  content: { type: "text", text: said },
});

/** A question with a field of each kind. */
const FORM = {
  mode: "form",
  message: "Set up the project\nNothing is written yet.",
  requestedSchema: {
    type: "object",
    required: ["name", "count"],
    properties: {
      name: { type: "string", title: "Name" },
      count: { type: "integer", minimum: 1, title: "Count" },
      license: {
        type: "string",
        title: "License",
        oneOf: [
          { const: "mit", title: "MIT" },
          { const: "apache-2.0", title: "Apache" },
        ],
      },
      isPrivate: { type: "boolean", title: "Private" },
      parts: { type: "array", title: "Parts", items: { type: "string", enum: ["src", "docs"] } },
    },
  },
};
const ONE = {
  mode: "form",
  message: "Which one?",
  requestedSchema: {
    type: "object",
    properties: {
      answer: { type: "string", enum: ["SQLite", "PostgreSQL"] },
      other: { type: "string" },
    },
  },
};
const PAGE = {
  mode: "url",
  message: "Log in",
  elicitationId: "e1",
  url: "https://example.com/?a=\u202eb",
};

/** Longer than the half second without a key after which one may be an answer. */
const quiet = (): Promise<void> => delay(600);

const skip = withoutTmux();

describe("trunkline chat in a terminal", { skip, timeout: 600_000 }, () => {
  it("moves the session to a gateway and back with `/move`, and goes on where it is", async () => {
    await using rig = await MovingRig.create();
    const { env, home } = rig.laptop;
    const variables = Object.fromEntries(
      Object.entries(env).map(([name, value]) => [name, String(value)]),
    );
    const command = [...PROGRAM, "chat", "--session", SESSION];
    const options = { cwd: home.project, command, env: variables, columns: 200 };
    await using terminal = new Tmux(options);
    const asks = /^> \/ for commands/m;
    await terminal.shows(asks);
    terminal.enter("/move");
    await terminal.shows(/^Say where to: `\/move wss:/m);
    terminal.enter("/move nowhere");
    await terminal.shows(/^trunkline: Cannot use 'nowhere' as a server/m);
    await terminal.shows(asks);
    terminal.enter(`/move ${rig.url}`);
    await terminal.shows(
      new RegExp(`^Moved ${SESSION}\\. It works in ${rig.server.home.path}`, "m"),
    );
    await terminal.shows(asks);
    terminal.enter("/help");
    // The turn has ended when the status says nothing of it.
    await terminal.shows(/No language model is in use[^]*auto-accept *$/m);
    assert.deepEqual((await prompts(rig.server.home.data)).at(-1), "/help");
    terminal.enter("/move here");
    const moved = new RegExp(`^Moved ${SESSION}\\. It works in ${home.project} now`, "m");
    // The conversation, which is shown again after it, is longer than the screen.
    await until(() => moved.test(terminal.scrollback));
    await terminal.shows(asks);
    assert.deepEqual((await prompts(home.data)).at(-1), "/help");
  });

  it("edits several lines, takes a paste as one, and leaves the text in the scrollback", async () => {
    using home = new Home();
    await using terminal = await home.chat();
    terminal.paste("say one\ntwo\nthree");
    await terminal.shows(/^> say one\n {2}two\n {2}three\n/m);
    terminal.press("Enter");
    await terminal.shows(/^one\ntwo\nthree\n\n> \/ for/m);
    // Keys that arrive together with an Enter among them count as a paste.
    terminal.type("say a");
    await terminal.shows(/^> say a\n/m);
    terminal.press("M-Enter");
    terminal.type("b");
    terminal.press("C-j");
    terminal.type("c\\");
    await terminal.shows(/^ {2}c\\\n/m);
    terminal.press("Enter");
    await terminal.shows(/^ {2}c\n/m);
    terminal.type("d");
    await terminal.shows(/^> say a\n {2}b\n {2}c\n {2}d\n/m);
    // Up to the first line, and a word back: the text is edited where the cursor is.
    terminal.press("Up", "Up", "Up", "C-a");
    terminal.press("M-f", "M-f");
    terminal.type("X");
    terminal.press("Enter");
    await terminal.shows(/^aX\nb\nc\nd\n\n> \/ for/m);
    terminal.press("C-d");
    assert.equal(await terminal.ended(), 0);
    assert.match(
      terminal.scrollback,
      /^one\ntwo\nthree\n[^]*^aX\nb\nc\nd\n\nContinue with `trunkline chat --session [0-9a-f]{8}`/m,
    );
    assert.doesNotMatch(terminal.scrollback, /for commands|other \u00b7 code/);
  });

  it("remembers prompts across sessions, and finds them by Up and Ctrl-R", async () => {
    using home = new Home();
    {
      await using terminal = await home.chat();
      terminal.enter("say first words");
      await terminal.shows(/^first words\n\n> \/ for/m);
      terminal.enter("say second words");
      await terminal.shows(/^second words\n\n> \/ for/m);
      terminal.press("C-d");
      await terminal.ended();
    }
    await using terminal = await home.chat();
    terminal.press("Up", "Up");
    await terminal.shows(/^> say first words$/m);
    terminal.press("Down");
    await terminal.shows(/^> say second words$/m);
    terminal.press("C-c");
    await terminal.shows(/^> \/ for/m);
    terminal.press("C-r");
    terminal.type("first");
    await terminal.shows(/^Earlier prompts {2}first/m);
    terminal.press("Enter");
    await terminal.shows(/^> say first words$/m);
  });

  it("is stopped by Ctrl-Z and goes on with fg, keeps its place when resized, and opens $EDITOR", async () => {
    using home = new Home();
    home.write("editor", '#!/bin/sh\necho "say edited $(cat "$1")" > "$1"\n');
    const words = [...PROGRAM, "chat", ...home.where].join(" ");
    const env = { HOME: home.path, EDITOR: `sh ${join(home.path, "editor")}` };
    await using terminal = new Tmux({
      cwd: home.path,
      command: ["bash", "--norc", "--noprofile", "-i"],
      env,
    });
    await terminal.shows(/\$|#/);
    terminal.enter(words);
    await terminal.shows(/^> \/ for/m);
    terminal.enter("say before");
    await terminal.shows(/^before\n\n> \/ for/m);
    terminal.type("half a te");
    await terminal.shows(/^> half a te$/m);
    terminal.press("C-z");
    await terminal.shows(/Stopped/);
    terminal.enter("echo shell");
    await terminal.shows(/^shell$/m);
    terminal.enter("fg");
    await terminal.shows(/fg\n[^]*> half a te$/m);
    terminal.type("xt");
    await terminal.shows(/^> half a text$/m);
    terminal.resize(40, 20);
    terminal.type(", narrower");
    await terminal.shows(/^> half a text, narrower\nother/m);
    terminal.resize(100, 30);
    terminal.type(", wider");
    const wide = await terminal.shows(/^> half a text, narrower, wider\nother/m);
    assert.equal(wide.split("half a text").length, 2, wide);
    terminal.press("C-g");
    await terminal.shows(/^> say edited half a text, narrower, wider$/m);
    terminal.press("Enter");
    await terminal.shows(/^edited half a text, narrower, wider\n\n> \/ for/m);

    // While it is stopped, another process takes its session.
    terminal.press("C-z");
    await terminal.shows(/Stopped[^]*Stopped/);
    const { sessions } = JSON.parse(home.run("session", "list", "--json"));
    const [{ id }] = sessions;
    assert.match(home.run("chat", "--session", id, "say", "meanwhile"), /meanwhile\n$/);
    terminal.enter("fg");
    await terminal.shows(/Another Trunkline has taken this session over[^]*^meanwhile$/m);
    terminal.enter("say third");
    await terminal.shows(/^third\n\n> \/ for/m);
    terminal.press("C-d");
    await terminal.shows(/Continue with/);
  });

  it("asks for permission by one key, which is never one that was meant for the text", async () => {
    using home = new Home();
    await using terminal = await home.chat();
    terminal.enter("permission");
    await terminal.shows(/^\? Run npm install\n {2}y Allow once\n {2}n Reject\n/m);
    // Enter is no answer, nor is a key right after another, nor one with others after it.
    terminal.press("x", "BSpace", "y");
    await terminal.shows(/^> y$/m);
    terminal.press("Enter");
    await terminal.shows(/^\? Run npm install/m, /^\u21b3 y/m);
    terminal.press("Up");
    await terminal.shows(/^> y$/m);
    terminal.press("Tab");
    await terminal.shows(/Press a key to answer\. Tab goes back/);
    terminal.press("Enter");
    terminal.press("y");
    await terminal.shows(/"optionId":"once"/, /^> y$/m);
    terminal.press("C-c");
    terminal.enter("permission always this");
    await terminal.shows(/a Always allow \u2013 for calls like "Run always this"; the agent/);
    terminal.press("Tab", "n");
    await terminal.shows(/"optionId":"reject"/);
  });

  it("has a person fill in a form, to which they move by Tab, or answer it by one key", async () => {
    using home = new Home();
    home.write("form.json", JSON.stringify(FORM));
    home.write("one.json", JSON.stringify(ONE));
    home.write("page.json", JSON.stringify(PAGE));
    await using terminal = await home.chat([], { rows: 34, columns: 88 });
    terminal.enter("elicit form.json");
    await terminal.shows(
      /^\? Set up the project\n {4}Nothing is written yet\.\n {2}x Do not answer\n {2}Tab to fill/m,
    );
    // What is typed is for the agent, also Enter.
    terminal.enter("say steered");
    await terminal.shows(/^\? Set up/m, /^\u21b3 say steered/m);
    terminal.press("Tab");
    await terminal.shows(
      /^ {2}Name\n {2}\u203a \u2026\n/m,
      /^ {2}License \(optional\)\n {4}\( \) MIT\n/m,
    );
    terminal.type("a project");
    // Editing keys are for the field that has the cursor, not for the prompt.
    terminal.press("C-a");
    terminal.type("my ");
    terminal.press("Enter");
    await terminal.shows(/^ {4}my a project\n {2}Count \(a number\)\n {2}\u203a \u2026\n/m);
    terminal.type("not a number");
    terminal.press("Enter");
    await terminal.shows(/^ {2}\u203a \( \) MIT\n/m);
    terminal.press("Down", "Enter");
    await terminal.shows(/^ {2}\u203a \[ \] Private\n/m);
    terminal.press("Space", "Enter");
    await terminal.shows(/^ {2}\u203a \[ \] src\n/m);
    terminal.press("Down", "Space");
    await terminal.shows(/^ {4}\(x\) Apache\n {4}\[x\] Private\n/m, /^ {2}\u203a \[x\] docs\n/m);
    terminal.picture("terminal-form");
    terminal.press("Enter");
    await terminal.shows(/^ {2}\u203a \[ Send \]/m);
    terminal.press("Enter");
    await terminal.shows(/^ {2}'count' must be integer\n/m);
    terminal.press("Up", "Up", "Up", "Up", "Up", "Up", "C-u");
    terminal.type("3");
    for (const row of ["3", "(x) Apache", "[x] Private", "[ ] src", "[ Send ]"]) {
      await terminal.shows(new RegExp(`^  \u203a ${RegExp.escape(row)}$`, "m"));
      terminal.press("Enter");
    }
    const whole = await terminal.shows(/^> say steered\n\nsteered\n\n> \/ for/m);
    const content =
      '"name":"my a project","count":3,"license":"apache-2.0","isPrivate":true,"parts":["docs"]';
    const answer = `{"action":"accept","content":{${content}}}`;
    assert.ok(whole.replaceAll(/\s/g, "").includes(answer.replaceAll(" ", "")), whole);
    terminal.enter("elicit one.json");
    await terminal.shows(/^\? Which one\?\n {2}1 SQLite\n {2}2 PostgreSQL\n {2}x Do not answer/m);
    // A key that follows another is text.
    terminal.press("2", "BSpace", "1");
    await terminal.shows(/^> 1$/m);
    terminal.press("BSpace");
    await terminal.shows(/^> \/ for/m);
    await quiet();
    terminal.press("2");
    await terminal.shows(/"content":\{"answer":"PostgreSQL"\}/);
    terminal.enter("elicit page.json");
    await terminal.shows(/^\? Log in\n {4}https:\/\/example\.com\/\?a=\\u202eb\n {2}y Go on/m);
    terminal.press("Tab", "x");
    await terminal.shows(/\{"action":"decline"\}/);
  });

  it("shows Markdown as it streams, and neutralises what would command the terminal", async () => {
    using home = new Home();
    home.updates(
      "answer.json",
      text("# Title\n\nSome **bold** and `code`, [here](https://example.com/x).\n\n```ts\nconst a"),
      { await: "go" },
      text(
        ' = "b"; // c\n```\n\n| name | count |\n|---|---|\n| apples | 3 |\n\n- one\n  - two\n\n',
      ),
      text("\u001b[2J\u001b]0;owned\u0007\u009b31m end\n"),
    );
    await using terminal = await home.chat();
    terminal.enter("updates answer.json");
    await terminal.shows(
      /^Title\n\nSome bold and code, here \(https:\/\/example\.com\/x\)\.\n\n {2}const a\n/m,
    );
    home.write("go", "");
    const screen = await terminal.shows(/^\\u001b\[2J\\u001b\]0;owned\\u0007\\u009b31m end\n/m);
    assert.match(screen, /^ {2}const a = "b"; \/\/ c\n/m);
    assert.match(screen, /^name {3}\u2502 count\n\u2500+\u253c\u2500+\napples \u2502 3\n/m);
    assert.match(screen, /^\u2022 one\n {2}\u2022 two\n/m);
    assert.match(terminal.colored, /ESC\[35mconstESC\[39m a = ESC\[32m"b"/);
  });

  it("shows tool calls as one line that opens, with output as it comes and the change of a file", async () => {
    using home = new Home();
    const lines = Array.from({ length: 200 }, (_, at) => `line ${at}`);
    const diff = {
      type: "diff",
      path: "/a.txt",
      oldText: lines.join("\n"),
      newText: lines.with(99, "changed").join("\n"),
    };
    const output = (said: string) => [{ type: "content", content: { type: "text", text: said } }];
    const run = { sessionUpdate: "tool_call_update", toolCallId: "1" };
    home.updates(
      "calls.json",
      {
        sessionUpdate: "plan",
        entries: [
          { content: "Look", status: "completed", priority: "low" },
          { content: "Change", status: "in_progress", priority: "low" },
        ],
      },
      {
        sessionUpdate: "usage_update",
        used: 50_000,
        size: 200_000,
        cost: { amount: 0.25, currency: "USD" },
      },
      {
        ...run,
        sessionUpdate: "tool_call",
        title: "Run tests",
        kind: "execute",
        status: "in_progress",
      },
      { ...run, content: output("ok 1\nok 2") },
      { await: "go" },
      { ...run, status: "completed", content: output("ok 1\nok 2\nok 3") },
      {
        sessionUpdate: "tool_call",
        toolCallId: "2",
        title: "Edit a.txt",
        kind: "edit",
        status: "completed",
        content: [diff],
      },
    );
    await using terminal = await home.chat([], { rows: 34, columns: 100 });
    terminal.enter("updates calls.json");
    await terminal.shows(
      /^\u25cf Run tests\n {4}ok 1\n {4}ok 2\n/m,
      /^Plan\n {2}\u2713 Look\n {2}\u25b8 Change\n/m,
    );
    await terminal.shows(
      /^other \u00b7 code \u00b7 50k of 200k tokens \(25 %\) \u00b7 \$0\.250 \u00b7 \d+ s \u00b7 plan 1\/2/m,
    );
    home.write("go", "");
    await terminal.shows(
      /^\u2713 Run tests \u00b7 3 lines \(Ctrl-O opens\)\n/m,
      /^> \/ for/m,
      /^\u2713 Edit a\.txt\n {4}\/a\.txt \+1 -1\n {6}\u2026\n {6}line 97\n {6}line 98\n {4}- line 99\n {4}\+ changed\n {6}line 100\n/m,
    );
    terminal.press("C-o");
    await terminal.shows(/^\u2713 Run tests\n {4}ok 1\n {4}ok 2\n {4}ok 3\n/m);
  });

  it("asks about the change of a file with the lines around it, and prints all by Ctrl-O", async () => {
    using home = new Home();
    const before = Array.from({ length: 261 }, (_, at) => `export const value${at} = ${at};`);
    const after = before.with(130, "export const value130 = 0; // was 130");
    const path = "src/values.ts";
    const content = [{ type: "diff", path, oldText: before.join("\n"), newText: after.join("\n") }];
    const entries = [
      { content: "Find the wrong value", status: "completed", priority: "high" },
      { content: "Correct it", status: "in_progress", priority: "high" },
      { content: "Run the tests", status: "pending", priority: "high" },
    ];
    home.updates(
      "change.json",
      text(
        "The value at **index 130** is wrong. It should be `0`:\n\n```ts\n// the default\nreturn 0;\n```\n\n",
      ),
      text("| file | line |\n|---|---|\n| src/values.ts | 131 |\n\n"),
      {
        ...{ sessionUpdate: "tool_call", toolCallId: "r", title: "Read src/values.ts" },
        ...{
          status: "completed",
          content: [{ type: "content", content: { type: "text", text: before.join("\n") } }],
        },
      },
      { sessionUpdate: "plan", entries },
      {
        sessionUpdate: "usage_update",
        used: 31_000,
        size: 200_000,
        cost: { amount: 0.08, currency: "USD" },
      },
      {
        ask: {
          toolCall: {
            toolCallId: "e",
            title: "Edit src/values.ts",
            kind: "edit",
            status: "pending",
            content,
          },
          options: [
            { optionId: "once", kind: "allow_once", name: "Allow" },
            {
              optionId: "always",
              kind: "allow_always",
              name: "Always allow in ~/project: edit files",
            },
            { optionId: "reject", kind: "reject_once", name: "Reject" },
          ],
        },
      },
      text("Done."),
    );
    await using terminal = await home.chat([], { rows: 46, columns: 88 });
    terminal.enter("updates change.json");
    const screen = await terminal.shows(
      /^\? Edit src\/values\.ts\n {4}src\/values\.ts \+1 -1\n/m,
      /^ {2}n Reject$/m,
    );
    assert.match(
      screen,
      /^ {4}- export const value130 = 130;\n {4}\+ export const value130 = 0; \/\/ was 130\n/m,
    );
    assert.ok(screen.trimEnd().split("\n").length < 46, screen);
    terminal.picture("terminal-permission");
    terminal.press("Tab", "a");
    await terminal.shows(/^Done\.\n/m, /^> \/ for/m);
    terminal.picture("terminal-session");
  });

  it("completes commands and files, and queues messages that can be taken back", async () => {
    using home = new Home();
    home.write("some-file.txt", "");
    home.updates("wait.json", text("working"), { await: "go" });
    await using terminal = await home.chat();
    terminal.type("/se");
    await terminal.shows(/^ {3}\/sessions +Switch to another session/m);
    terminal.press("C-c");
    await terminal.shows(/^> \/ for/m);
    terminal.type("say @some-f");
    await terminal.shows(/^ {3}some-file\.txt/m);
    terminal.press("Tab");
    await terminal.shows(/^> say @some-file\.txt$/m);
    terminal.press("Enter");
    await terminal.shows(/^@some-file\.txt\n\n> \/ for/m);
    terminal.enter("updates wait.json");
    await terminal.shows(/^working$/m);
    terminal.type("say queued");
    terminal.press("Tab");
    await terminal.shows(/^\u21b3 queued: say queued {2}\(Up takes it back\)/m);
    terminal.enter("say steered");
    await terminal.shows(/^\u21b3 say steered/m);
    terminal.press("Up");
    await terminal.shows(/^> say steered$/m);
    terminal.press("C-c");
    home.write("go", "");
    const screen = await terminal.shows(/^> say queued\n\nqueued\n\n> \/ for/m);
    assert.doesNotMatch(screen, /steered/);
  });

  it("attaches images by their path, and the one that was copied", async () => {
    using home = new Home();
    home.write("a.png", "png");
    home.write("wl-paste", "#!/bin/sh\necho png\n");
    chmodSync(join(home.path, "wl-paste"), 0o700);
    const PATH = `${home.path}:${process.env["PATH"] ?? ""}`;
    await using terminal = await home.chat([], { env: { PATH } });
    terminal.enter(`kinds of ${join(home.path, "a.png")} `);
    await terminal.shows(/^text image\n\n> \/ for/m);
    terminal.type("kinds ");
    terminal.press("C-v");
    await terminal.shows(/^> kinds @\S+pasted-1\.png/m);
    terminal.type("@a.png");
    // Escape and Enter are Alt-Enter to a terminal, unless something is seen to happen in between.
    await terminal.shows(/@a\.png\n {3}a\.png/);
    terminal.press("Escape");
    await terminal.shows(/@a\.png\nother/);
    terminal.press("Enter");
    await terminal.shows(/^text image image\n\n> \/ for/m);
  });

  it("lists sessions with those that wait first, and joins one of another process", async () => {
    using home = new Home();
    await using first = await home.chat();
    first.enter("permission of the first");
    await first.shows(/^\? Run of the first/m);
    await using second = await home.chat();
    second.enter("say of the second");
    await second.shows(/^of the second\n\n> \/ for/m);
    second.press("C-t");
    await second.shows(
      /^Sessions[^]*\n \? permission of the first +waits: Run of the first[^]*\n {3}say of the second/m,
    );
    second.picture("terminal-sessions");
    second.press("Enter");
    await second.shows(/^> permission of the first[^]*^\? Run of the first/m);
    second.press("Tab", "y");
    await second.shows(/"optionId":"once"/);
    await first.shows(/"optionId":"once"/);
    second.enter("/new");
    await second.shows(/new session\n\n> \/ for/m);
  });

  it("works over SSH", { skip: WITHOUT_SSHD }, async () => {
    using home = new Home();
    const words = [...PROGRAM, "chat", ...home.where].map((word) => `'${word}'`).join(" ");
    home.write("chat", `cd '${home.path}' && HOME='${home.path}' exec ${words}\n`);
    const forced = `sh ${join(home.path, "chat")}`;
    const folder = join(home.path, "sshd");
    await using server = await SshServer.start(folder, forced, ["ann"], "restrict,pty");
    const options = [`UserKnownHostsFile=${server.knownHosts}`, "IdentitiesOnly=yes"];
    const command = [
      ...["ssh", "-tt", "-F", "/dev/null", "-i", server.keyOf("ann")],
      ...options.flatMap((option) => ["-o", option]),
      ...["-p", String(server.port), "127.0.0.1"],
    ];
    await using terminal = new Tmux({ cwd: home.path, command, env: { HOME: home.path } });
    await terminal.shows(/^> \/ for commands/m);
    terminal.paste("say **one**\ntwo");
    await terminal.shows(/^> say \*\*one\*\*\n {2}two\n/m);
    terminal.press("Enter");
    await terminal.shows(/^one\ntwo\n\n> \/ for/m);
    terminal.enter("permission");
    await terminal.shows(/^\? Run npm install\n {2}y Allow once\n/m);
    terminal.resize(30, 20);
    await terminal.shows(/^ {2}Press a key to answer;$/m);
    terminal.press("Tab", "y");
    await terminal.shows(/Id":"once"\}\n/);
    assert.match(terminal.colored, /ESC\[1mone/);
    terminal.press("C-d");
    assert.equal(await terminal.ended(), 0);
  });

  it("works in a narrow window, without colours, and plainly where TERM is dumb or --plain is given", async () => {
    using home = new Home();
    {
      await using narrow = await home.chat([], { columns: 24, rows: 10, env: { NO_COLOR: "1" } });
      narrow.enter("say some **words** that are longer than a line");
      await narrow.shows(/^some words that are\nlonger than a line\n/m);
      assert.doesNotMatch(narrow.colored, /ESC\[[1-9]/);
    }
    for (const [args, TERM] of [
      [[], "dumb"],
      [["--plain"], "tmux-256color"],
    ] as const) {
      const command = [...PROGRAM, "chat", ...args, ...home.where];
      await using plain = new Tmux({ cwd: home.path, command, env: { HOME: home.path, TERM } });
      await plain.shows(/^Plain mode[^]*^> $|^>$/m);
      plain.paste("say one\ntwo\n");
      await plain.shows(/^one\ntwo\nother \u00b7 code \u00b7 \d+ s\n>/m);
      plain.enter("permission");
      await plain.shows(/^\? Run npm install\n {2}1 or y\) Allow once\n {2}2 or n\) Reject\n/m);
      plain.enter("1");
      await plain.shows(/"optionId":"once"/);
      home.write("form.json", JSON.stringify(FORM));
      plain.enter("elicit form.json");
      await plain.shows(
        /Nothing is written yet\.\n {2}Name\n {2}1\) Do not answer\n {2}Type `= `/m,
      );
      // A line without the mark is for the agent.
      plain.enter("say meant for the agent");
      await plain.shows(/The question is still open: this is no answer to it/);
      for (const [said, then] of [
        ["= a project", /= a project\n\n\? Count[^?]*$/],
        [
          "= three",
          /= three\n\n\? License\n {2}1\) MIT\n {2}2\) Apache\n {2}3\) Leave it out\n[^?]*$/,
        ],
        ["2", /^2\n\n\? Private\n {2}1\) Yes\n[^?]*$/m],
        ["2", /^2\n\n\? Parts\n {2}\(1 is src\)\n {2}\(2 is docs\)\n[^?]*$/m],
        ["= 2 1", /'count' must be integer\. Once more:\n {2}Set up the project\n[^?]*$/],
        ["= a project", /= a project\n\n\? Count[^?]*$/],
        ["= 3", /= 3\n\n\? License[^?]*$/],
        ["3", /^3\n\n\? Private[^?]*$/m],
        ["1", /^1\n\n\? Parts[^?]*$/m],
        ["= 2 1", /"name":"a project","count":3,"isPrivate":true,/],
      ] as const) {
        plain.enter(said);
        await plain.shows(then);
      }
      await plain.shows(/^meant for the agent\n/m);
      assert.doesNotMatch(plain.colored, /ESC\[[1-9]/);
      plain.press("C-d");
      assert.equal(await plain.ended(), 0);
    }
  });
});

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";

import { FakeLlm } from "../agent/fake-llm.ts";
import { Place } from "../support/acp-editor.ts";
import type { Message } from "../support/acp-app.ts";
import { Packages } from "../support/packages.ts";
import { gone, runningAt } from "../support/running-at.ts";
import { LONG, to, toCall } from "./fake-prompts.ts";

const packages = new Packages("test/interop/acpx");
const TRUNKLINE = join(import.meta.dirname, "../../dist/trunkline.js");
/** What acpx exits with where every permission was denied. */
const DENIED = 5;

/** Whoever holds a session in the background ends some time after a test that has failed. */
const FORGET = ["--ttl", "30"];

const WRITE = { name: "write_file", arguments: { path: "new.txt", content: "written\n" } };
const RUN = { name: "run_command", arguments: { command: "echo from the shell > ran.txt" } };
const SCRIPT = [
  ...toCall("write it", { toolCalls: [WRITE] }, "It is written."),
  ...toCall("run it", { toolCalls: [RUN] }, "It has run."),
  to("go on for long", LONG),
  to("what did I say", { content: "You said much." }),
];

interface Ran {
  readonly code: number | null;
  readonly output: string;
}

/** acpx in a place of its own, with our program as the agent that it starts. */
class Acpx implements AsyncDisposable {
  readonly place = new Place();
  readonly #env: Readonly<Record<string, string>>;

  constructor(env: Readonly<Record<string, string>> = {}) {
    const { PATH = "" } = process.env;
    this.#env = { PATH, HOME: this.place.home, ...env };
  }

  async run(...args: string[]): Promise<Ran> {
    const agent = `${process.execPath} ${TRUNKLINE} acp`;
    const script = packages.path("acpx/dist/cli.js");
    const child = spawn(process.execPath, [script, "--agent", agent, ...FORGET, ...args], {
      stdio: ["ignore", "pipe", "pipe"],
      env: this.#env,
      cwd: this.place.folder,
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => (output += text));
    }
    const [code] = (await once(child, "close")) as [number | null];
    return { code, output };
  }

  /** The methods that were called in one conversation, by either side. */
  async methods(...args: string[]): Promise<string[]> {
    const { code, output } = await this.run("--format", "json", "--json-strict", ...args);
    assert.equal(code, 0, output);
    const messages = output
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Message);
    return messages.flatMap(({ method }) => (method === undefined ? [] : [method as string]));
  }

  read(name: string): string | undefined {
    const path = join(this.place.folder, name);
    return existsSync(path) ? readFileSync(path, "utf8") : undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await gone(this.place.home);
    } finally {
      this.place[Symbol.dispose]();
    }
  }
}

describe("acpx with the built-in agent", { timeout: 300_000 }, () => {
  before(() => packages.install());

  it("gets the list of commands without a model", async () => {
    await using acpx = new Acpx();
    const help = await acpx.run("--approve-all", "exec", "/help");
    assert.equal(help.code, 0, help.output);
    assert.match(help.output, /`\/diff`.*No language model is in use.*\[done\] end_turn/s);
    const free = await acpx.run("--approve-all", "exec", "make it better");
    assert.equal(free.code, 0, free.output);
    assert.match(free.output, /without a language model.*`\/undo/s);
  });

  for (const provider of ["OPENAI", "ANTHROPIC"]) {
    it(`has files written and commands run with a model that speaks as ${provider} does`, async () => {
      await using llm = await FakeLlm.start(SCRIPT);
      await using acpx = new Acpx({
        [`${provider}_API_KEY`]: "none",
        [`${provider}_BASE_URL`]: `${llm.url}/v1`,
        // What runs in a sandbox does not run in a terminal of the client.
        TRUNKLINE_AGENT_SANDBOX: "off",
      });
      const asked = ["session/request_permission"];
      const wrote = await acpx.methods("--approve-all", "exec", "write it");
      assert.equal(acpx.read("new.txt"), "written\n");
      for (const method of [...asked, "fs/write_text_file"]) assert.ok(wrote.includes(method));
      const ran = await acpx.methods("--approve-all", "exec", "run it");
      assert.equal(acpx.read("ran.txt"), "from the shell\n");
      for (const method of [...asked, "terminal/create"]) assert.ok(ran.includes(method));
    });
  }

  it("is not asked for what it does not support", async () => {
    await using llm = await FakeLlm.start(SCRIPT);
    await using acpx = new Acpx({ OPENAI_API_KEY: "none", OPENAI_BASE_URL: `${llm.url}/v1` });
    const bare = ["--no-fs", "--no-terminal", "--approve-all", "exec"];
    const methods = [
      ...(await acpx.methods(...bare, "write it")),
      ...(await acpx.methods(...bare, "run it")),
    ];
    assert.deepEqual(
      [acpx.read("new.txt"), acpx.read("ran.txt")],
      ["written\n", "from the shell\n"],
    );
    assert.deepEqual(
      methods.filter((method) => /^(?:fs|terminal)\//.test(method)),
      [],
    );
  });

  it("can deny everything, and the model is told", async () => {
    await using llm = await FakeLlm.start(SCRIPT);
    await using acpx = new Acpx({ OPENAI_API_KEY: "none", OPENAI_BASE_URL: `${llm.url}/v1` });
    const { code, output } = await acpx.run("--deny-all", "exec", "run it");
    assert.equal(code, DENIED, output);
    assert.equal(acpx.read("ran.txt"), undefined);
    assert.match(llm.seen(-1), /did not allow it/);
  });

  it("holds a session: undo, mode, cancel, and an agent that was killed", async () => {
    await using llm = await FakeLlm.start(SCRIPT);
    await using acpx = new Acpx({ OPENAI_API_KEY: "none", OPENAI_BASE_URL: `${llm.url}/v1` });
    const done = async (...args: string[]): Promise<string> => {
      const { code, output } = await acpx.run("--approve-all", ...args);
      assert.equal(code, 0, output);
      return output;
    };
    await done("sessions", "new");
    await done("prompt", "write it");
    assert.equal(acpx.read("new.txt"), "written\n");
    await done("prompt", "/undo");
    assert.equal(acpx.read("new.txt"), undefined);

    await done("set-mode", "ask");
    await done("prompt", "write it");
    assert.equal(acpx.read("new.txt"), undefined, "written in a mode that does not write");

    const long = acpx.run("--approve-all", "prompt", "go on for long");
    await llm.asked("go on for long");
    await done("cancel");
    assert.match((await long).output, /\[done\] cancelled/);

    const agents = runningAt(acpx.place.home).filter(({ command }) => command.includes(TRUNKLINE));
    assert.ok(agents.length > 0, "nobody was killed");
    for (const { pid } of agents) process.kill(pid, "SIGKILL");
    assert.match(await done("prompt", "what did I say"), /You said much\./);
    assert.match(llm.seen(-1), /write it.*go on for long.*what did I say/s);
    await done("sessions", "close");
  });
});

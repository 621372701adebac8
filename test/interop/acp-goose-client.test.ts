import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it, type TestContext } from "node:test";

import { FakeLlm } from "../agent/fake-llm.ts";
import { Place } from "../support/acp-editor.ts";
import { gone } from "../support/running-at.ts";
import { LONG, to, toCall } from "./fake-prompts.ts";
import { goose, notHere } from "./other-agents.ts";

const TRUNKLINE = join(import.meta.dirname, "../../dist/trunkline.js");
const WRITE = { name: "write_file", arguments: { path: "new.txt", content: "written\n" } };
const SCRIPT = [
  ...toCall("write it", { toolCalls: [WRITE] }, "It is written."),
  // Ahead of the next: goose puts what was not answered before the next prompt.
  to("what did I say", { content: "You said much." }),
  to("go on for long", LONG),
];

interface Ran {
  readonly code: number | null;
  readonly output: string;
}

/**
 * goose as a client. It starts agents by names that it knows; of those, `pi-acp` may have any modes,
 * so a script of that name starts ours.
 */
class GooseClient implements AsyncDisposable {
  readonly place = new Place();
  readonly #command: string;
  readonly #env: Readonly<Record<string, string>>;

  constructor(command: string, env: Readonly<Record<string, string>> = {}) {
    this.#command = command;
    const programs = join(this.place.path, "bin");
    const script = join(programs, "pi-acp");
    mkdirSync(programs);
    writeFileSync(script, `#!/bin/sh\nexec '${process.execPath}' '${TRUNKLINE}' acp\n`);
    chmodSync(script, 0o755);
    this.#env = {
      PATH: `${programs}:${process.env.PATH ?? ""}`,
      HOME: this.place.home,
      // One that is killed leaves what it has there.
      TMPDIR: this.place.home,
      GOOSE_PROVIDER: "pi-acp",
      GOOSE_MODEL: "current",
      GOOSE_MODE: "auto",
      GOOSE_DISABLE_KEYRING: "1",
      ...env,
    };
  }

  /** Says something; it is killed when `end` resolves. */
  async say(args: readonly string[], words: string, end?: Promise<void>): Promise<Ran> {
    const child = spawn(this.#command, ["run", ...args, "-t", words], {
      stdio: ["ignore", "pipe", "pipe"],
      env: this.#env,
      cwd: this.place.folder,
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => (output += text));
    }
    void end?.then(() => child.kill("SIGKILL"));
    const [code] = (await once(child, "close")) as [number | null];
    return { code, output };
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

describe("goose with the built-in agent", { timeout: 300_000 }, () => {
  let command: string | undefined;
  before(async () => {
    command = await goose.install();
  });

  const test = (name: string, work: (command: string, llm: FakeLlm) => Promise<void>): void => {
    it(name, async (t: TestContext) => {
      if (command === undefined) return t.skip(notHere(goose));
      await using llm = await FakeLlm.start(SCRIPT);
      await work(command, llm);
    });
  };
  const at = ({ url }: FakeLlm) => ({ OPENAI_API_KEY: "none", OPENAI_BASE_URL: `${url}/v1` });

  test("gets the list of commands without a model, and its additions are not searched for", async (program) => {
    await using client = new GooseClient(program);
    writeFileSync(join(client.place.folder, "a.txt"), "needle\n");
    const help = await client.say(["--no-session"], "/help");
    assert.equal(help.code, 0, help.output);
    assert.match(help.output, /`\/diff`.*No language model is in use/s);
    const found = await client.say(["--no-session"], "/search needle");
    assert.match(found.output, /Search for needle\n.*a\.txt:1: needle/s);
  });

  test("has a file written", async (program, llm) => {
    await using client = new GooseClient(program, at(llm));
    const { code, output } = await client.say(["--no-session"], "write it");
    assert.equal(code, 0, output);
    assert.match(output, /It is written\./);
    assert.equal(client.read("new.txt"), "written\n");
  });

  test("has nothing written if it cannot ask", async (program, llm) => {
    await using client = new GooseClient(program, { ...at(llm), GOOSE_MODE: "approve" });
    await client.say(["--no-session"], "write it");
    assert.equal(client.read("new.txt"), undefined);
  });

  test("continues its session, also after it was killed in the middle of a turn", async (program, llm) => {
    await using client = new GooseClient(program, at(llm));
    await client.say(["-n", "mine"], "write it");
    await client.say(["-r", "-n", "mine"], "go on for long", llm.asked("go on for long"));
    await gone(client.place.home);
    const { output } = await client.say(["-r", "-n", "mine"], "what did I say");
    assert.match(output, /You said much\./);
    const said = llm.seen(-1);
    assert.match(said, /write it.*It is written\..*go on for long.*interrupted.*what did I say/s);
    assert.equal(said.split("what did I say").length, 2, "it is told once what is asked now");
  });
});

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { FakeLlm, type Request, type Scripted } from "../agent/fake-llm.ts";
import { AcpEditor, type AcpEditorOptions, Place } from "../support/acp-editor.ts";
import type { Json } from "../support/acp-app.ts";
import { isTurn, to } from "./fake-prompts.ts";
import { ModelProxy } from "./model-proxy.ts";
import { claude, codex, goose, opencode, type OtherAgent } from "./other-agents.ts";

type Calls = Pick<OtherAgent, "read" | "edit" | "run">;

/** Somebody who does the task. */
interface Worker {
  readonly name: string;
  readonly calls: Calls;
  readonly options: (model: string) => AcpEditorOptions;
}

interface Result {
  readonly name: string;
  /** Seconds from the start of the programs to the answer to session/new, and those of the two tasks. */
  readonly seconds: readonly number[];
  readonly requests: number;
  readonly tools: number;
  readonly questions: number;
  /** Bytes sent to the model for the first task, and the first request for it. */
  readonly sent: number;
  readonly first: number;
}

const BUILT_IN: Calls = {
  read: (path) => ({ name: "read_file", arguments: { path } }),
  edit: (path, before, after) => ({
    name: "edit_file",
    arguments: { path, old_string: before, new_string: after },
  }),
  run: (command) => ({ name: "run_command", arguments: { command } }),
};
const PATIENT = Object.fromEntries(
  ["initialize", "session/new"].map((name) => [name, { timeout: 240_000 }]),
);
/** The second time, the agent has loaded what it needs. */
const FILES = ["morning.txt", "evening.txt"];
/** What else is read, and says its name. */
const OTHERS = ["one.txt", "two.txt"];
/** Temporary files may be in /dev/shm, which codex's sandbox hides: it has a /dev of its own. */
const VISIBLE = "/tmp";

function taskFor(file: string): string {
  return `Correct ${file}, and check it.`;
}

function version(of: string): string {
  const { version: own, ...packages } = JSON.parse(
    readFileSync(join(import.meta.dirname, of, "package.json"), "utf8"),
  );
  const { dependencies, optionalDependencies } = packages;
  return own ?? Object.values({ ...dependencies, ...optionalDependencies })[0];
}

/** The model reads three files in one answer, edits one of them, runs a command, and has done. */
function script({ read, edit, run }: Calls, folder: string, file: string): Scripted[] {
  const path = (name: string): string => join(folder, name);
  const answers: [results: number, answer: Scripted][] = [
    [0, { toolCalls: [file, ...OTHERS].map((name) => read(path(name))) }],
    [3, { toolCalls: [edit(path(file), "Helo.", "Hello.")] }],
    [4, { toolCalls: [run(`grep -c Hello ${file} > checked-${file}`)] }],
    [5, { content: `${file} is corrected.` }],
  ];
  return answers.map(([count, answer]) => {
    const asked = to(taskFor(file), answer);
    const when = (request: Request): boolean =>
      asked.when?.(request) === true && results(request) === count;
    return { ...asked, when };
  });
}

/** How many results of tools the model has got since the person's prompt. */
function results({ messages }: Request): number {
  const prompt = messages.findLastIndex(({ role }) => role === "user");
  return messages.slice(prompt).filter(({ role }) => role === "tool").length;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, each) => all + each, 0);
}

async function work({ name, calls, options }: Worker): Promise<Result> {
  using place = new Place(VISIBLE);
  for (const file of FILES) writeFileSync(join(place.folder, file), "Helo.\n");
  for (const other of OTHERS) writeFileSync(join(place.folder, other), `This is ${other}.\n`);
  await using llm = await FakeLlm.start([
    ...FILES.flatMap((file) => script(calls, place.folder, file)),
    { content: "A title", when: () => true },
  ]);
  await using proxy = await ModelProxy.start(llm.url);
  let questions = 0;
  let since = performance.now();
  const lap = (): number => {
    const before = since;
    since = performance.now();
    return (since - before) / 1000;
  };
  await using editor = new AcpEditor(place, {
    ...options(proxy.url),
    answers: {
      "session/request_permission": ({ options: choices }) => {
        questions++;
        const { optionId } = choices.find(({ kind }: Json) => kind === "allow_once");
        return { outcome: { outcome: "selected", optionId } };
      },
    },
  });
  const session = await editor.begin();
  const seconds = [lap()];
  const laps: Omit<Result, "name" | "seconds">[] = [];
  for (const file of FILES) {
    await editor.prompt(session, taskFor(file));
    seconds.push(lap());
    const read = (of: string): string => readFileSync(join(place.folder, of), "utf8");
    assert.equal(read(file), "Hello.\n", name);
    assert.equal(read(`checked-${file}`), "1\n", name);
    assert.ok(editor.text().includes(`${file} is corrected.`), name);
    // In all of the session: some do not read a file again that has not changed since.
    const { messages = [] } = llm.requests.findLast(isTurn) ?? {};
    const told = JSON.stringify(messages.filter(({ role }) => role === "tool"));
    for (const says of ["Helo.", ...OTHERS.map((other) => `This is ${other}.`)]) {
      assert.ok(told.includes(says), `${name} has not read "${says}": ${told}`);
    }
    const tools = new Set(editor.updates("tool_call").map(({ toolCallId }) => toolCallId)).size;
    const requests = llm.requests.filter(isTurn).length;
    // Some ask for a title, with a small request that may come first.
    const first = proxy.sent.find((bytes) => bytes > Math.max(...proxy.sent) / 2) ?? 0;
    laps.push({ requests, tools, questions, sent: sum(proxy.sent), first });
  }
  const [result] = laps;
  assert.ok(result !== undefined);
  return { name, seconds, ...result };
}

function table(results: readonly Result[]): string {
  const heads = [
    "",
    "start s",
    "first s",
    "second s",
    "requests",
    "tool calls",
    "questions",
    "KB sent",
    "KB first",
  ];
  const rows = results.map(({ name, seconds, requests, tools, questions, sent, first }) => [
    ...[name, ...seconds.map((each) => each.toFixed(1))],
    ...[requests, tools, questions].map(String),
    ...[sent, first].map((bytes) => (bytes / 1000).toFixed(1)),
  ]);
  const all = [heads, ...rows];
  const widths = heads.map((_, at) => Math.max(...all.map((row) => row[at]?.length ?? 0)));
  const cell = (text: string, at: number): string => {
    const width = widths[at] ?? 0;
    return at === 0 ? text.padEnd(width) : text.padStart(width);
  };
  return all.map((row) => row.map(cell).join("  ")).join("\n");
}

describe("the same task, with the same scripted model", { timeout: 900_000 }, () => {
  it("is done by the built-in agent in as few steps as by others, with less sent to the model", async (t) => {
    const workers: Worker[] = [
      {
        name: `trunkline ${version("../..")}`,
        calls: BUILT_IN,
        options: (model) => ({ env: { OPENAI_API_KEY: "none", OPENAI_BASE_URL: `${model}/v1` } }),
      },
    ];
    for (const agent of [goose, opencode, claude, codex]) {
      const command = await agent.install();
      if (command === undefined) continue;
      const config = (model: string) => ({
        agent: agent.name,
        agents: { [agent.name]: agent.entry(command, model) },
        limits: { messages: PATIENT },
      });
      const name = `${agent.name} ${version(agent.name)}`;
      workers.push({ name, calls: agent, options: (model) => ({ config: config(model) }) });
    }
    const results: Result[] = [];
    for (const worker of workers) results.push(await work(worker));
    t.diagnostic(`\n${table(results)}`);
    const [own, ...others] = results;
    assert.ok(own !== undefined);
    assert.deepEqual([own.requests, own.tools, own.questions], [4, 5, 2]);
    for (const other of others) {
      assert.ok(own.requests <= other.requests, `${other.name} asks the model less often`);
      assert.ok(own.tools <= other.tools, `${other.name} calls less`);
      assert.ok(own.sent <= other.sent, `${other.name} sends less`);
    }
  });
});

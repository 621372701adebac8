// A plugin for the tests of the bus, as somebody would write one. `BUS_RECORD` names a file that gets
// a line for each call that has come in; `BUS_TROUBLE` says what is wrong with it.
import { appendFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";

import { definePlugin, ToolError } from "trunkline/plugin";

const { BUS_RECORD, BUS_TROUBLE, BUS_ID = "tools.test" } = process.env;
const NEVER = new Promise<never>(() => {});

const message = { type: "string" } as const;
const ms = { type: "number" } as const;
const RECORDED = { type: "object", properties: { message, ms }, required: ["message"] } as const;

async function record(
  line: string,
  { message, ms = 0 }: { message: string; ms?: number },
): Promise<string> {
  if (BUS_RECORD !== undefined) appendFileSync(BUS_RECORD, `${line} ${message}\n`);
  await wait(ms);
  return `${process.pid} ${message}`;
}

if (BUS_TROUBLE === "ignore-sigterm") {
  // The SDK ends on a signal; this one outlives both the signal and the end of its input.
  process.exit = (() => undefined) as unknown as typeof process.exit;
  setInterval(() => {}, 1_000);
}
if (BUS_TROUBLE === "exit") {
  process.stderr.write("the disk is on fire\n");
  process.exit(9);
}
if (BUS_TROUBLE === "no-ready") {
  setInterval(() => {}, 1_000);
  await NEVER;
}

const names = { type: "object", properties: { name: { type: "string" } } } as const;

definePlugin({
  id: BUS_ID,
  version: "1.0.0",
  needs: { tools: ["echo", "inspect"] },
  tools: {
    create_project: {
      description: "Create a new project workspace",
      input: { ...names, required: ["name"] },
      call: ({ name }) =>
        `Created project: ${name} (slug: ${name.toLowerCase().replaceAll(" ", "-")})`,
    },
    echo: { description: "Answers with its arguments", call: (args) => args },
    fail: {
      description: "Fails",
      call: () => {
        throw new ToolError("validation_error", "");
      },
    },
    note: {
      description: "Takes a note, once",
      input: RECORDED,
      call: (args) => record("note", args),
    },
    look: {
      description: "Looks something up",
      input: RECORDED,
      idempotent: true,
      call: (args) => record("look", args),
    },
    big: {
      description: "Answers with so many bytes",
      input: { type: "object", properties: { bytes: { type: "number" } } },
      call: ({ bytes = 0 }) => "x".repeat(bytes),
    },
    hang: { description: "Never answers", call: () => NEVER },
    stall: {
      description: "Answers with a piece, and never with another",
      async *stream() {
        yield "first";
        await NEVER;
      },
    },
    perish: {
      description: "Ends the process",
      call: () => void process.kill(process.pid, "SIGKILL"),
    },
    count: {
      description: "Answers in pieces",
      input: { type: "object", properties: { pieces: { type: "number" } } },
      async *stream({ pieces = 3 }) {
        for (let piece = 0; piece < pieces; piece++) yield `${piece}\n`;
      },
    },
    remember: {
      description: "Writes a document twice, and a third time from what is no longer there",
      call: async (_, { storage }) => {
        const first = await storage.write("test/note.md", "first", { version: 0 });
        const second = await storage.write("test/note.md", "second", { version: first });
        const stale = await storage.write("test/note.md", "stale", { version: first }).then(
          () => "written",
          (error: Error) => error.message,
        );
        const { text } = (await storage.read("test/note.md")) ?? {};
        await storage.delete("test/note.md");
        return { first, second, stale, read: text };
      },
    },
    announce: {
      description: "Publishes an event",
      input: { type: "object", properties: { kind: { type: "string" } } },
      call: ({ kind = "" }, { publish }) => publish("test.news", "test", { kind }),
    },
    ask_other: {
      description: "Calls a tool of another plugin",
      input: { type: "object", properties: { tool: { type: "string" } }, required: ["tool"] },
      call: async ({ tool }, { callTool }) => (await callTool(tool, { text: "asked" })).text,
    },
    again: {
      description: "Calls itself so many times, one within the other; without a number, for ever",
      input: { type: "object", properties: { depth: { type: "number" } } },
      call: async ({ depth = Infinity }, { callTool }) => {
        if (depth <= 0) return "deep enough";
        // Endless is a number that JSON does not have.
        const args = Number.isFinite(depth) ? { depth: depth - 1 } : {};
        return (await callTool("again", args)).text;
      },
    },
    fan: {
      description: "Calls another tool of its own so many times at once",
      input: { type: "object", properties: { calls: { type: "number" } } },
      call: async ({ calls = 0 }, { callTool }) => {
        const all = Array.from({ length: calls }, () => callTool("echo", { text: "fanned" }));
        return (await Promise.all(all)).filter(({ text }) => text === "fanned").length.toString();
      },
    },
    chatter: {
      description: "Writes so much to stderr that nobody can read it",
      call: () => {
        for (let line = 0; line < 20_000; line++) process.stderr.write(`${"noise ".repeat(100)}\n`);
        return "done";
      },
    },
  },
  events: {
    "test.news": {
      filters: { kind: "wanted" },
      handle: ({ type, payload }) => {
        if (BUS_RECORD !== undefined)
          appendFileSync(BUS_RECORD, `${type} ${String(payload.kind)}\n`);
      },
    },
  },
  prompts: {
    greet: {
      description: "Greets somebody",
      arguments: { name: { required: true } },
      get: ({ name }) => `Say hello to ${name}.`,
    },
  },
  boot: (config) => {
    if (BUS_TROUBLE === "boot-error") throw new Error("it is Sunday");
    if (BUS_TROUBLE === "hang-boot") {
      process.stderr.write("booting for ever\n");
      return NEVER;
    }
    process.stderr.write(`booted with ${JSON.stringify(config)}\n`);
    return undefined;
  },
  health: () => {
    if (BUS_TROUBLE === "hang-health") return NEVER;
    if (BUS_TROUBLE === "record-health" && BUS_RECORD !== undefined) {
      appendFileSync(BUS_RECORD, "health\n");
    }
    return BUS_TROUBLE === "unhealthy" ? { status: "unhealthy", message: "a fever" } : "healthy";
  },
  shutdown: () => (BUS_TROUBLE === "hang-shutdown" ? NEVER : undefined),
});

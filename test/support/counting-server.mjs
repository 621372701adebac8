// An MCP server of 2025-11-25 that tells its instances apart: `counting-server.mjs FILE`. Each start is
// a line in FILE, and so is its end and each call of `append` and `look`.
import { appendFileSync, existsSync } from "node:fs";
import { createInterface } from "node:readline";

const [, , file] = process.argv;
const note = (line) => appendFileSync(file, `${line}\n`);
const inputSchema = { type: "object" };
let count = 0;
let asked = 0;
const answers = new Map();

const send = (message) =>
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const text = (said) => ({ content: [{ type: "text", text: String(said) }] });

const TOOLS = {
  count: { call: () => text(`${process.pid} ${++count}`) },
  // Ends when the file FILE.go is there.
  append: {
    call: ({ line }) => (note(`append ${line}`), gate().then(() => text(`appended ${line}`))),
  },
  look: {
    annotations: { readOnlyHint: true },
    call: ({ line }) => (note(`look ${line}`), gate().then(() => text(`looked ${line}`))),
  },
  ask: {
    call: async ({ question }) => {
      const id = `question-${++asked}`;
      const answer = new Promise((resolve) => answers.set(id, resolve));
      const requestedSchema = { type: "object", properties: { word: { type: "string" } } };
      send({ id, method: "elicitation/create", params: { message: question, requestedSchema } });
      const { result, error } = await answer;
      return error
        ? { ...text(error.message), isError: true }
        : text(`${process.pid} ${result.content?.word}`);
    },
  },
};

async function gate() {
  while (!existsSync(`${file}.go`)) await new Promise((resolve) => setTimeout(resolve, 20));
}

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "counting", version: "1" },
  }),
  ping: () => ({}),
  "tools/list": () => ({
    tools: Object.entries(TOOLS).map(([name, { annotations }]) => ({
      name,
      inputSchema,
      annotations,
    })),
  }),
  "tools/call": ({ name, arguments: args = {} }) => TOOLS[name].call(args),
};

function answer(id, method, params) {
  Promise.resolve(method(params)).then(
    (result) => send({ id, result }),
    (error) => send({ id, error: { code: -32603, message: String(error) } }),
  );
}

note(`start ${process.pid}`);
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params = {}, ...rest } = JSON.parse(line);
  if (method === undefined) answers.get(id)?.(rest);
  else if (id !== undefined && Object.hasOwn(METHODS, method)) {
    answer(id, METHODS[method], params);
  } else if (id !== undefined) send({ id, error: { code: -32601, message: "Method not found" } });
}
note(`end ${process.pid}`);

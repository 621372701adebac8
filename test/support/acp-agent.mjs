// An agent of somebody else's: it speaks ACP on its standard streams and does what prompts say.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

let lastId = 0;
const pending = new Map();
const sessions = new Map();
const cancelled = new Set();
/** What servers of the client said, by the request that it belongs to. */
const heard = new Map();
const send = (message) =>
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const ask = (method, params) =>
  new Promise((resolve) => {
    const id = ++lastId;
    pending.set(id, resolve);
    send({ id, method, params });
  });
const say = (sessionId, text) =>
  send({
    method: "session/update",
    params: {
      sessionId,
      update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text } },
    },
  });

const update = (sessionId, what) =>
  send({ method: "session/update", params: { sessionId, update: what } });
const fail = (sessionId, { code, message }) => {
  say(sessionId, `error ${code} ${message}`);
  return { stopReason: "end_turn" };
};
let capabilities;
/** Ends a prompt that heeds no cancel. */
let release;

const modes = (currentModeId) => ({
  currentModeId,
  availableModes: [
    { id: "code", name: "Code" },
    { id: "ask", name: "Ask" },
  ],
});

const options = (effort) => [
  {
    id: "effort",
    name: "Effort",
    type: "select",
    currentValue: effort,
    options: ["low", "high"].map((value) => ({ value, name: `${value} effort` })),
  },
];

/** The same model by two names, as codex has it. */
const TWO_NAMES = {
  models: { currentModelId: "m[low]", availableModels: [{ modelId: "m[low]", name: "M (low)" }] },
  configOptions: [
    {
      id: "model",
      name: "Model",
      category: "model",
      type: "select",
      currentValue: "m",
      options: [{ value: "m", name: "M" }],
    },
  ],
};

async function prompt(sessionId, text) {
  const [verb, ...rest] = text.split(" ");
  const argument = rest.join(" ");
  if (verb === "say") say(sessionId, argument);
  else if (verb === "stream") {
    // "stream COUNT WIDTH": so many pieces of text, each of at least so many characters.
    const [count, width = 0] = rest.map(Number);
    for (let at = 0; at < count; at++) {
      say(sessionId, `${at} `.padStart(width, "word "));
      if (at % 16 === 15) await new Promise(setImmediate);
    }
  } else if (verb === "forever") {
    // "forever TAG": each number comes with the tag, by which the turns can be told apart.
    const tag = argument === "" ? "" : `${argument}:`;
    for (let at = 0; !cancelled.delete(sessionId); at++) {
      say(sessionId, `${tag}${at} `);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    return { stopReason: "cancelled" };
  } else if (verb === "pace") {
    // "pace TAG COUNT MILLISECONDS": so many numbers with the tag, one after the other.
    const [tag, count, milliseconds] = rest;
    for (let at = 0; at < Number(count); at++) {
      if (cancelled.delete(sessionId)) return { stopReason: "cancelled" };
      say(sessionId, `${tag}:${at} `);
      await new Promise((resolve) => setTimeout(resolve, Number(milliseconds)));
    }
  } else if (verb === "permission") {
    const { result } = await ask("session/request_permission", {
      sessionId,
      toolCall: {
        toolCallId: `t1${argument}`,
        title: `Run ${argument || "npm install"}`,
        kind: "execute",
        status: "pending",
      },
      options: [
        { optionId: "once", kind: "allow_once", name: "Allow once" },
        ...(argument.startsWith("always")
          ? [{ optionId: "always", kind: "allow_always", name: "Always allow" }]
          : []),
        { optionId: "reject", kind: "reject_once", name: "Reject" },
      ],
    });
    say(sessionId, JSON.stringify(result.outcome));
  } else if (verb === "elicit") {
    // "elicit FILE": the parameters of an elicitation.
    const { cwd } = sessions.get(sessionId);
    const question = JSON.parse(readFileSync(join(cwd, argument), "utf8"));
    const { result } = await ask("elicitation/create", { sessionId, ...question });
    say(sessionId, JSON.stringify(result));
  } else if (verb === "server") {
    // "server METHOD": asks the first server that the client has itself, and says what that said meanwhile.
    const [{ serverId }] = sessions.get(sessionId).mcpServers;
    const requestId = `r${++lastId}`;
    heard.set(requestId, []);
    const mcp = "io.modelcontextprotocol/";
    const _meta = { [`${mcp}protocolVersion`]: "2026-07-28", [`${mcp}clientCapabilities`]: {} };
    const message = { serverId, requestId, method: argument, params: { _meta } };
    const { result, error } = await ask("mcp/message", message);
    say(sessionId, JSON.stringify({ ...result, failed: error?.code, heard: heard.get(requestId) }));
  } else if (verb === "read" || verb === "write") {
    const [path, content] = argument.split("|");
    const method = verb === "read" ? "fs/read_text_file" : "fs/write_text_file";
    const { result, error } = await ask(method, { sessionId, path, content });
    say(sessionId, error ? `error ${error.code} ${error.message}` : (result.content ?? "written"));
  } else if (verb === "put") {
    // "put FILE|TEXT|MILLISECONDS": writes a file itself, as a tool call that ends, and works on.
    const [name, content, milliseconds] = argument.split("|");
    const path = join(sessions.get(sessionId).cwd, name);
    writeFileSync(path, `${content}\n`);
    const diff = { type: "diff", path, oldText: null, newText: `${content}\n` };
    const call = { toolCallId: `put-${name}`, title: `Write ${name}`, kind: "edit" };
    update(sessionId, {
      sessionUpdate: "tool_call",
      ...call,
      status: "completed",
      content: [diff],
    });
    await new Promise((resolve) => setTimeout(resolve, Number(milliseconds)));
  } else if (verb === "updates") {
    // "updates FILE": sends what a file lists. `{ "await": FILE }` waits until that file is there, and
    // `{ "ask": PARAMS }` asks for permission.
    const { cwd } = sessions.get(sessionId);
    for (const each of JSON.parse(readFileSync(join(cwd, argument), "utf8"))) {
      if (each.ask !== undefined) {
        await ask("session/request_permission", { sessionId, ...each.ask });
      } else if (each.await === undefined) update(sessionId, each);
      while (each.await !== undefined && !existsSync(join(cwd, each.await))) {
        if (cancelled.delete(sessionId)) return { stopReason: "cancelled" };
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    }
  } else if (verb === "run") {
    // "run SECONDS-TO-WAIT|command|arguments…": shows the terminal in a tool call, and its end.
    const [how, command, ...args] = argument.split("|");
    const asked = await ask("terminal/create", { sessionId, command, args });
    if (asked.error) return fail(sessionId, asked.error);
    const { terminalId } = asked.result;
    update(sessionId, {
      sessionUpdate: "tool_call",
      toolCallId: "run-1",
      title: command,
      kind: "execute",
      status: "in_progress",
      content: [{ type: "terminal", terminalId }],
    });
    if (how === "leave") return { stopReason: "end_turn" };
    if (how === "kill") await ask("terminal/kill", { sessionId, terminalId });
    const { result: exit } = await ask("terminal/wait_for_exit", { sessionId, terminalId });
    const { result: output } = await ask("terminal/output", { sessionId, terminalId });
    await ask("terminal/release", { sessionId, terminalId });
    const { error } = await ask("terminal/output", { sessionId, terminalId });
    say(sessionId, JSON.stringify({ exit, output, after: error?.code }));
  } else if (verb === "form") {
    const { result, error } = await ask("elicitation/create", {
      ...(argument === "" ? { sessionId } : { requestId: 1 }),
      mode: "form",
      message: "Which?",
      requestedSchema: { type: "object", properties: { name: { type: "string" } } },
    });
    say(sessionId, JSON.stringify(result ?? error));
  } else if (verb === "capabilities") say(sessionId, JSON.stringify(capabilities));
  else if (verb === "effort") say(sessionId, `effort is ${sessions.get(sessionId).effort}`);
  else if (verb === "grumble") process.stderr.write(`${argument}\n`);
  else if (verb === "mode" && argument === "") {
    say(sessionId, String(sessions.get(sessionId).mode));
  } else if (verb === "mode") {
    update(sessionId, { sessionUpdate: "current_mode_update", currentModeId: argument });
  } else if (verb === "remember") sessions.get(sessionId).memory = argument;
  else if (verb === "id") say(sessionId, sessionId);
  // "raw LINES": writes them as they are, with its id of the session in the place of SESSION.
  else if (verb === "raw") process.stdout.write(`${argument.replaceAll("SESSION", sessionId)}\n`);
  else if (verb === "linger") {
    say(sessionId, "lingering");
    await new Promise((resolve) => (release = resolve));
  } else if (verb === "release") {
    release();
    // What is answered after the end of the other is asked after it.
    await ask("terminal/output", { sessionId, terminalId: "none" });
    return prompt(sessionId, argument);
  } else if (verb === "recall") say(sessionId, String(sessions.get(sessionId).memory));
  else if (verb === "git") {
    const { cwd } = sessions.get(sessionId);
    say(sessionId, execFileSync("git", rest, { cwd, encoding: "utf8" }));
  } else if (verb === "crash") process.exit(3);
  else if (verb === "title") say(sessionId, String(sessions.get(sessionId).title));
  else if (verb === "system") say(sessionId, JSON.stringify(sessions.get(sessionId).systemPrompt));
  else if (verb === "providers") say(sessionId, [...providers.keys()].join());
  else if (verb === "mcp") say(sessionId, JSON.stringify(sessions.get(sessionId).mcpServers));
  return { stopReason: "end_turn" };
}

/** With --login: the ways to log in, and whether that was done. */
const LOGIN = [
  {
    id: "page",
    name: "A page",
    _meta: { "terminal-auth": { command: "/bin/sh", args: ["-c", "x"] } },
  },
  { id: "tty", name: "A terminal", type: "terminal", args: ["--sign-in", "now"] },
  { id: "gateway", name: "A gateway", _meta: { gateway: { protocol: "x" } } },
];
/** The logins in the agent's own browser, which nobody ever does. */
let waiting = 0;
let isLoggedIn = !process.argv.includes("--login");
const providers = new Map();

const handlers = {
  initialize: ({ clientCapabilities }) => {
    capabilities = clientCapabilities;
    const login = process.argv.includes("--login");
    return {
      protocolVersion: 1,
      agentCapabilities: {
        loadSession: process.argv.includes("--loads"),
        mcpCapabilities: { acp: process.argv.includes("--client-servers") },
        promptCapabilities: { image: process.argv.includes("--images") },
        ...(process.argv.includes("--lists") ? { sessionCapabilities: { list: {} } } : {}),
        ...(login ? { auth: { logout: {}, status: {} }, providers: {} } : {}),
        ...(login ? { sessionCapabilities: { systemPrompt: {}, title: {} } } : {}),
      },
      ...(login ? { authMethods: LOGIN } : {}),
    };
  },
  authenticate: async ({ methodId, _meta }) => {
    if (methodId === "gateway" && _meta?.secret !== undefined) {
      isLoggedIn = true;
      return {};
    }
    if (methodId === "browser") return new Promise(() => waiting++);
    const url = "https://login.example/";
    const question = { mode: "url", message: "Log in", url, elicitationId: "e1" };
    const { result } = await ask("elicitation/create", { requestId: 1, ...question });
    if (methodId !== "page" || result?.action !== "accept") throw new Error("Not logged in");
    isLoggedIn = true;
    send({ method: "elicitation/complete", params: { elicitationId: "e1" } });
    send({ method: "_auth/status_update", params: { status: "in" } });
    return {};
  },
  logout: () => {
    isLoggedIn = false;
    return {};
  },
  "auth/status": () => ({
    state: isLoggedIn ? "authenticated" : "unauthenticated",
    ...(waiting > 0 ? { waiting } : {}),
  }),
  "providers/list": () => ({ providers: [...providers.values()] }),
  "providers/set": ({ providerId, apiType, baseUrl }) => {
    if (apiType !== "openai") throw new Error("Not supported");
    const current = { apiType, baseUrl };
    providers.set(providerId, { providerId, supported: ["openai"], required: true, current });
    return {};
  },
  "session/set_title": ({ sessionId, title }) => {
    sessions.get(sessionId).title = title;
    return {};
  },
  ...(process.argv.includes("--cancels")
    ? {
        "tool_call/cancel": ({ sessionId, toolCallId }) => {
          say(sessionId, `Cancels call ${toolCallId}. `);
          return {};
        },
        "terminal/cancel": ({ sessionId, terminalId }) => {
          say(sessionId, `Cancels terminal ${terminalId}. `);
          return {};
        },
      }
    : {}),
  "session/new": ({ cwd, mcpServers, systemPrompt }) => {
    if (!isLoggedIn) throw Object.assign(new Error("Log in first"), { code: -32000 });
    const sessionId = `theirs-${sessions.size + 1}-${process.pid}`;
    sessions.set(sessionId, { cwd, mcpServers, mode: "code", systemPrompt });
    // As some do, ahead of the answer.
    if (process.argv.includes("--greets")) say(sessionId, "Welcome. ");
    const more = process.argv.includes("--options") ? { configOptions: options("low") } : {};
    const both = process.argv.includes("--two-names") ? TWO_NAMES : {};
    return { sessionId, modes: modes("code"), ...more, ...both };
  },
  "session/set_config_option": ({ sessionId, value }) => {
    sessions.get(sessionId).effort = value;
    return { configOptions: options(value) };
  },
  "session/load": ({ sessionId, cwd, mcpServers }) => {
    sessions.set(sessionId, { cwd, mcpServers, memory: "loaded", mode: "code" });
    if (sessionId === "terminal-3") return Promise.reject(new Error("It is in use"));
    if (process.argv.includes("--lists")) {
      const content = { type: "text", text: "What is the past?" };
      update(sessionId, { sessionUpdate: "user_message_chunk", content });
    }
    say(sessionId, "This is the past, which is known already.");
    return { modes: modes("code") };
  },
  // Sessions that a person began with this agent in a terminal, two on a page.
  "session/list": ({ cwd, cursor }) => {
    const at = Number(cursor ?? 0);
    const all = Array.from({ length: 3 }, (_, count) => ({
      sessionId: `terminal-${count + 1}`,
      cwd: process.cwd(),
      title: `Task ${count + 1}`,
      updatedAt: "2026-01-02T03:04:05.000Z",
    })).filter((one) => cwd === undefined || one.cwd === cwd);
    const more = at + 2 < all.length ? { nextCursor: String(at + 2) } : {};
    return { sessions: all.slice(at, at + 2), ...more };
  },
  "session/set_mode": ({ sessionId, modeId }) => {
    sessions.get(sessionId).mode = modeId;
    return {};
  },
  "session/prompt": ({ sessionId, prompt: blocks, _meta }) => {
    const [{ text }] = blocks;
    // A cancel that came after the end of the turn before means nothing.
    cancelled.delete(sessionId);
    if (text.startsWith("kinds")) {
      return prompt(sessionId, `say ${blocks.map(({ type }) => type).join(" ")}`);
    }
    return prompt(sessionId, text === "meta" ? `say ${JSON.stringify(_meta)}` : text);
  },
};

createInterface({ input: process.stdin }).on("line", async (line) => {
  const { id, method, params, ...answer } = JSON.parse(line);
  if (method === undefined) pending.get(id)?.(answer);
  else if (method === "$/cancel_request") waiting--;
  else if (method === "mcp/message") heard.get(params.requestId)?.push(params.method);
  else if (method === "session/cancel") cancelled.add(params.sessionId);
  // With --hangs=session/load: that is never answered.
  else if (id !== undefined && !process.argv.includes(`--hangs=${method}`)) {
    const handle = handlers[method];
    if (handle === undefined) send({ id, error: { code: -32601, message: "Method not found" } });
    else {
      try {
        send({ id, result: await handle(params) });
      } catch ({ message, code = -32603 }) {
        send({ id, error: { code, message } });
      }
    }
  }
});

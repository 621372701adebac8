import type { Vocabulary } from "./hostile-lines.ts";

/** Errors are answered as fast as they come, and no model is looked for. */
export const FUZZ_CONFIG = {
  limits: { messages: { error: { rate: { limit: 1_000_000, windowMs: 1_000 } } } },
  models: { local: false },
};

export interface AcpVocabularyOptions {
  /** A folder for sessions. */
  readonly cwd: string;
  /** Sessions that there are. */
  readonly sessions: readonly string[];
  /** Once in so many requests, one that is dear: a session begins, or its agent works. */
  readonly dearEvery?: number;
}

export function acpVocabulary(options: AcpVocabularyOptions): Vocabulary {
  const { cwd, sessions, dearEvery = 300 } = options;
  const params: Readonly<Record<string, (sessionId: string) => readonly object[]>> = {
    initialize: () => [
      { protocolVersion: 1, clientCapabilities: { fs: { readTextFile: true } } },
      { protocolVersion: 2, info: { name: "fuzz", version: "1" } },
    ],
    authenticate: () => [{ methodId: "none" }],
    logout: () => [{}],
    "session/new": () => [{ cwd: "" }, { cwd: "relative", mcpServers: [] }],
    "session/load": () => [{ sessionId: "none", cwd, mcpServers: [] }],
    "session/resume": () => [{ sessionId: "none", cwd, mcpServers: [] }],
    "session/fork": () => [{ sessionId: "none", cwd, mcpServers: [] }],
    "session/list": () => [{ cursor: "none" }, { cwd: "relative" }],
    "session/delete": () => [{ sessionId: "none" }],
    "session/close": () => [{ sessionId: "none" }],
    "session/set_mode": (sessionId) => [{ sessionId, modeId: "none" }],
    "session/set_model": (sessionId) => [{ sessionId, modelId: "none" }],
    "session/set_config_option": (sessionId) => [
      { sessionId, configId: "none", value: "ask" },
      { sessionId, configId: "__proto__", value: true },
    ],
    "session/prompt": (sessionId) => [
      { sessionId, prompt: [] },
      { sessionId: "none", prompt: [{ type: "text", text: "hello" }] },
    ],
    "_session/steering": () => [{ sessionId: "none", prompt: [{ type: "text", text: "hello" }] }],
  };
  const dear: typeof params = {
    "session/new": () => [{ cwd, mcpServers: [] }],
    "session/load": (sessionId) => [{ sessionId, cwd, mcpServers: [] }],
    "session/list": () => [{}],
    "session/set_mode": (sessionId) => [{ sessionId, modeId: "ask" }],
    "session/set_model": (sessionId) => [{ sessionId, modelId: "offline" }],
    "session/set_config_option": (sessionId) => [{ sessionId, configId: "mode", value: "ask" }],
    "session/prompt": (sessionId) => [
      { sessionId, prompt: [{ type: "text", text: "hello" }] },
      { sessionId, prompt: [{ type: "text", text: "/help" }] },
    ],
  };
  return {
    methods: Object.keys(params),
    message: (random, id) => {
      const sessionId = random.pick(sessions);
      if (random.once(12)) {
        const told = { sessionId: random.once(2) ? sessionId : "none" };
        return JSON.stringify({ jsonrpc: "2.0", method: "session/cancel", params: told });
      }
      const table = random.once(dearEvery) ? dear : params;
      const method = random.pick(Object.keys(table));
      const sent = JSON.stringify(random.pick(table[method]?.(sessionId) ?? []));
      return `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${sent}}`;
    },
    cancel: (id) => `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":${id}}}`,
  };
}

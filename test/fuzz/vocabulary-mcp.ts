import { REVISIONS } from "../../src/protocol/mcp/revision/revisions.ts";
import type { SeededRandom } from "../support/seeded-random.ts";
import type { Vocabulary } from "./hostile-lines.ts";

/** What each method is sent with. Those that come often are cheap: a flood must not start git. */
const PARAMS: Readonly<Record<string, readonly object[]>> = {
  ping: [{}],
  initialize: REVISIONS.map((protocolVersion) => ({
    protocolVersion,
    capabilities: {},
    clientInfo: { name: "fuzz", version: "1" },
  })),
  "server/discover": [{}],
  "logging/setLevel": [{ level: "emergency" }],
  "tools/list": [{}, { cursor: "none" }],
  "tools/call": [
    { name: "nothing_of_this_name", arguments: {} },
    { name: "juggler_list_identities", arguments: { provider: 5 } },
    { name: "review_reply", arguments: {} },
    { name: "juggler_switch", arguments: { identity: ["a"] } },
    { name: "constructor", arguments: { a: 1 } },
  ],
  "resources/list": [{}],
  "resources/templates/list": [{}],
  "resources/read": [{ uri: "nothing://here" }, { uri: "file:///etc/passwd" }],
  "resources/subscribe": [{ uri: "lazygit://messages" }],
  "resources/unsubscribe": [{ uri: "lazygit://messages" }],
  "prompts/list": [{}],
  "prompts/get": [{ name: "none", arguments: { a: "b" } }],
  "completion/complete": [
    { ref: { type: "ref/prompt", name: "none" }, argument: { name: "a", value: "b" } },
  ],
  "tasks/get": [{ taskId: "none" }],
  "tasks/result": [{ taskId: "none" }],
  "tasks/list": [{}],
  "tasks/cancel": [{ taskId: "none" }],
  "tasks/update": [{ taskId: "none", inputResponses: {} }],
};

/** What looks at files, starts a program or lasts. */
const DEAR: readonly (readonly [string, object])[] = [
  ["tools/call", { name: "juggler_list_identities", arguments: {} }],
  ["tools/call", { name: "juggler_config_show", arguments: {} }],
  ["tools/call", { name: "review_list", arguments: {} }],
  ["tools/call", { name: "check_lazygit_messages", arguments: {} }],
];

const LASTING = ["subscriptions/listen", { notifications: { toolsListChanged: true } }] as const;

const NOTIFICATIONS = [
  "initialized",
  "progress",
  "roots/list_changed",
  "message",
  "elicitation/complete",
  "tasks/status",
];

const MODERN = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
  "io.modelcontextprotocol/clientInfo": { name: "fuzz", version: "1" },
};

export interface McpVocabularyOptions {
  /** Once in so many requests, one that is dear. */
  readonly dearEvery?: number;
  /** Whether some are answered at the end only. */
  readonly hasLasting?: boolean;
  /** Whether all requests speak for themselves, none does, or some do. */
  readonly modern?: boolean;
}

export function mcpVocabulary(options: McpVocabularyOptions = {}): Vocabulary {
  const { dearEvery = 2000, hasLasting = true, modern } = options;
  const dear = hasLasting ? [...DEAR, LASTING] : DEAR;
  const methods = Object.keys(PARAMS);
  return {
    methods,
    message: (random, id) => {
      if (random.once(12)) return notification(random);
      const [method, params] = random.once(dearEvery)
        ? random.pick(dear)
        : anyRequest(random, methods);
      const isModern = modern ?? random.once(3);
      const sent = isModern ? { ...params, _meta: MODERN } : params;
      return `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${JSON.stringify(sent)}}`;
    },
    cancel: (id) =>
      `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${id}}}`,
  };
}

function anyRequest(random: SeededRandom, methods: readonly string[]): readonly [string, object] {
  const method = random.pick(methods);
  return [method, random.pick(PARAMS[method] ?? [{}])];
}

function notification(random: SeededRandom): string {
  const params = random.pick([
    {},
    { progressToken: 1, progress: 0.5 },
    { level: "info", data: "x" },
    { taskId: "none", status: "working" },
  ]);
  const method = `notifications/${random.pick(NOTIFICATIONS)}`;
  return JSON.stringify({ jsonrpc: "2.0", method, params });
}

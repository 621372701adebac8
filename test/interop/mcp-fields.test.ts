// Long: every member of MCP's schema goes through the gateway, in both eras.
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { AppWithUpstreams } from "../upstream/app-with-upstreams.ts";
import { type Json, RawClient } from "../upstream/raw-client.ts";
import {
  LEGACY,
  MODERN,
  type Script,
  type ScriptedServer,
  Scripts,
} from "../upstream/scripted-server.ts";
import { wireDefinitions, type WireRevision } from "../conformance/wire-schema.ts";
import { differences, membersOf, WireSamples } from "../conformance/wire-samples.ts";

/** What becomes of a member that does not arrive as it was sent, by its place in a message. */
interface Decision {
  readonly where: RegExp;
  readonly how: "translated" | "refused" | "ours";
  readonly why: string;
}

const LIST = String.raw`^List(?:Tools|Prompts|Resources|ResourceTemplates)Result\.`;

/** Everything that no decision names is carried: it arrives as it was sent. */
const DECISIONS: readonly Decision[] = [
  {
    where: new RegExp(`${LIST}nextCursor$`),
    how: "translated",
    why: "all pages of all servers are fetched, and given out in pages of our own",
  },
  {
    where:
      /^(?:Call|Get|Read|Complete)\w*Params\._meta\.progressToken$|^Progress.*\.progressToken$/,
    how: "translated",
    why: "each connection has tokens of its own",
  },
  {
    where: /^LoggingMessageNotificationParams\.logger$/,
    how: "translated",
    why: "the name of the server stands before it, as several servers log",
  },
  {
    where: /^CompleteRequestParams\.ref\.title$/,
    how: "ours",
    why: "a reference names a prompt; its title is in the list of that prompt",
  },
];

const DECISIONS_OF: Readonly<Record<WireRevision, readonly Decision[]>> = {
  "2025-11-25": [
    {
      where: /^(?:CreateMessage|Elicit)RequestParams\._meta\.progressToken$/,
      how: "refused",
      why: "a person or a model answers at once: no progress is asked for",
    },
    {
      where: new RegExp(`${LIST}_meta$`),
      how: "ours",
      why: "a list is made of the lists of several servers, which each have their own",
    },
    {
      where: /^ResourceUpdatedNotificationParams\._meta$/,
      how: "ours",
      why: "several updates of one resource are told as one",
    },
  ],
  "2026-07-28": [
    {
      where: /^(?:Logging\w+|Progress\w+)Params\._meta$/,
      how: "ours",
      why: "its only member is the id of a subscription, and each connection has its own",
    },
    {
      where: new RegExp(`${LIST}(?:resultType|ttlMs)$`),
      how: "ours",
      why: "what a client sees depends on its profile and the other servers: nobody may keep it",
    },
    {
      where: /^ReadResourceResult\.(?:ttlMs|cacheScope)$/,
      how: "ours",
      why: "whether a client may read it can change at any time: nobody may keep it",
    },
    {
      where: /\._meta\.io\.modelcontextprotocol\/serverInfo\./,
      how: "ours",
      why: "each side is told who it is connected to",
    },
    {
      where: /^\+\w+Params\._meta\.io\.modelcontextprotocol\/\w+$/,
      how: "ours",
      why: "a request describes who sends it, with what its caller can be asked",
    },
    {
      where: /^ResourceUpdatedNotificationParams\._meta\.io\.modelcontextprotocol\/subscriptionId$/,
      how: "translated",
      why: "it is the id of the client's own request",
    },
  ],
};

/** Between the eras, by the revision of the server. */
const CROSSING: Readonly<Record<WireRevision, readonly Decision[]>> = {
  "2025-11-25": [
    {
      where: /^\+\w+Result\.(?:resultType|_meta\.io\.modelcontextprotocol\/serverInfo)$/,
      how: "ours",
      why: "only 2026-07-28 has them in results, and there they are required or wanted",
    },
    {
      where: /^\+(?:List\w+|ReadResource)Result\.(?:cacheScope|ttlMs)$/,
      how: "ours",
      why: "2026-07-28 requires them; what a client sees can change at any time",
    },
    {
      where: new RegExp(String.raw`${LIST}_meta\.other-0$`),
      how: "ours",
      why: "a list is made of the lists of several servers, which each have their own",
    },
    {
      where: /^CompleteRequestParams\._meta$/,
      how: "translated",
      why: "its only member is the progress token, and each connection has tokens of its own",
    },
    {
      where: /^ListToolsResult\.tools\[\]\.execution$/,
      how: "translated",
      why: "2026-07-28 has tasks by an extension: which calls become one is the server's choice",
    },
  ],
  "2026-07-28": [
    {
      where: /^\w+Result\.(?:resultType|_meta)$/,
      how: "ours",
      why: "2025-11-25 has no kinds of results, and learns who the server is in the handshake",
    },
    {
      where: new RegExp(String.raw`${LIST}cacheScope$`),
      how: "ours",
      why: "2025-11-25 has no caching",
    },
    {
      where: /^ListToolsResult\.tools\[\]\.outputSchema$/,
      how: "refused",
      why: "2025-11-25 knows only output schemas of objects",
    },
  ],
};

/** Members of definitions that are sent in no exchange below, with the reason. */
const ELSEWHERE: readonly Decision[] = [
  {
    where:
      /^\w+\.(?:id|jsonrpc|method|params|result|error)$|^Error\.\w+$|^\w+Error\.(?:code|data|message)$/,
    how: "translated",
    why: "each connection has an envelope of its own; errors of servers keep code, words and data",
  },
  {
    where:
      /^(?:BaseMetadata|Icons|Result|CacheableResult|ResourceContents|NotificationParams)\.\w+$/,
    how: "translated",
    why: "a base of others, whose members are sent with those",
  },
  {
    where:
      /^(?:Paginated\w*|Resource|Task(?:Augmented))?Request(?:Params)?\.(?:_meta(?:\.progressToken)?|cursor|uri|task)$|^PaginatedResult\.\w+$/,
    how: "translated",
    why: "a base of others, whose members are sent with those",
  },
  {
    where:
      /^ClientCapabilities\.(?:elicitation|roots|sampling|tasks|extensions)(?:\.|$)|^ServerCapabilities\.(?:completions|logging|prompts|resources|tasks|tools|extensions)(?:\.|$)/,
    how: "translated",
    why: "each side is told what the program between them can do for it (src/upstream/extensions.test.ts)",
  },
  {
    where: /^(?:Client|Server)Capabilities\.experimental$/,
    how: "refused",
    why: "nobody knows what it means, so no policy could decide on it",
  },
  {
    where:
      /^(?:Initialize|Discover)\w+\.(?:_meta(?:\.progressToken)?|capabilities|clientInfo|instructions|protocolVersion|serverInfo|supportedVersions|resultType|ttlMs|cacheScope)$/,
    how: "ours",
    why: "each side is met on its own; instructions are passed on within ours",
  },
  {
    where: /^Implementation\.(?:description|icons|name|title|version|websiteUrl)$/,
    how: "ours",
    why: "each side is told who it is connected to",
  },
  {
    where:
      /Task\w*\.(?:params\.taskId|_meta|task|tasks|nextCursor|taskId|createdAt|lastUpdatedAt|pollInterval|status|statusMessage|ttl)$|^RelatedTaskMetadata\.taskId$/,
    how: "translated",
    why: "tasks of servers are followed, and clients get tasks of ours (test/e2e/upstream-tasks.test.ts)",
  },
  {
    where: /^CancelledNotificationParams\.(?:_meta|reason|requestId)$/,
    how: "translated",
    why: "a call that is cancelled is cancelled at its server, under the id that it has there",
  },
  {
    where:
      /^(?:SetLevel|Subscribe|Unsubscribe)RequestParams\.(?:_meta(?:\.progressToken)?|level|uri)$/,
    how: "translated",
    why: "one connection to a server serves all clients: what they want is put together",
  },
  {
    where:
      /^Subscription(?:s\w+|Filter)\.(?:_meta|notifications|promptsListChanged|resourceSubscriptions|resourcesListChanged|toolsListChanged|resultType|io\.modelcontextprotocol\/\w+)(?:\.|$)/,
    how: "translated",
    why: "one connection to a server serves all clients: what they want is put together",
  },
  {
    where:
      /^InputRe(?:quiredResult|sponseRequestParams)\.(?:_meta|inputRequests|inputResponses|requestState|resultType)$/,
    how: "translated",
    why: "the questions in it are passed on one by one, above; the state is sealed",
  },
  {
    where: /^ListRootsRequest\.params\._meta$/,
    how: "translated",
    why: "roots are asked for without parameters, above; a task in it is found by its id",
  },
  {
    where: /^ElicitationCompleteNotification\.params\.elicitationId$/,
    how: "translated",
    why: "it goes to the client that was shown the page (src/protocol/mcp/connect/pages.test.ts)",
  },
];

const TOOL = "call-me";
const USE: Json = { name: TOOL, inputSchema: { type: "object" } };
const CAPABILITIES = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  completions: {},
  logging: {},
};

/** A gateway between one client and one server, each of a revision, whose answers are samples. */
class Gateway implements AsyncDisposable {
  /** What is sent; at first by the revision of the server. */
  samples: WireSamples;
  /** That of the server. */
  readonly revision: WireRevision;
  /** What differs from what was sent, wherever it was. */
  readonly found = new Set<string>();
  /** What the server answers, by method, and what it does before. */
  readonly answers = new Map<string, Json>();
  during: ((server: ScriptedServer, params: Json) => unknown) | undefined;
  clientAnswers: Json = {};
  readonly #app: AppWithUpstreams;
  client!: RawClient;
  server!: ScriptedServer;

  private constructor(
    revision: WireRevision,
    samples: WireSamples,
    app: (gateway: Gateway) => AppWithUpstreams,
  ) {
    this.revision = revision;
    this.samples = samples;
    this.#app = app(this);
  }

  static async open(revision: WireRevision, ofClient = revision): Promise<Gateway> {
    const samples = new WireSamples(await wireDefinitions(revision));
    let scripts: Scripts | undefined;
    const gateway = new Gateway(revision, samples, (self) => {
      scripts = new Scripts({ s: self.#script() });
      return new AppWithUpstreams({ open: scripts.open });
    });
    for (const [list, member, entry, more] of LISTS) {
      const [whole = {}] = samples.of(list);
      const entries = samples
        .of(entry)
        .map((one, at) => ({ ...one, name: `${String(one["name"])}-${at}` }));
      gateway.answers.set(METHOD_OF[list] ?? "", { ...whole, [member]: [...entries, ...more] });
    }
    await gateway.#app.configure({ s: { command: "s" } });
    await gateway.#app.offer.resources.list();
    const answer = (method: string) => (params: Json) => {
      gateway.heard.push([method, params]);
      return gateway.clientAnswers;
    };
    gateway.client = await RawClient.connect(gateway.#app.door, {
      revision: ofClient,
      capabilities: {
        roots: {},
        sampling: { tools: {}, context: {} },
        elicitation: { form: {}, url: {} },
      },
      answers: Object.fromEntries(QUESTIONS.map(([method]) => [method, answer(method)])),
    });
    const [server] = scripts?.of("s") ?? [];
    assert.ok(server);
    gateway.server = server;
    return gateway;
  }

  /** What the client was asked. */
  readonly heard: [string, Json][] = [];

  compare(sent: unknown, got: unknown, path: string): void {
    for (const each of differences(sent, got, path)) this.found.add(each);
  }

  /** A template of the server. */
  get template(): string {
    const { resourceTemplates = [] } = this.answers.get("resources/templates/list") ?? {};
    return (resourceTemplates as Json[])[0]?.["uriTemplate"] as string;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client[Symbol.asyncDispose]();
    await this.#app[Symbol.asyncDispose]();
  }

  #script(): Script {
    const isModern = this.revision === "2026-07-28";
    const answered = (method: string) => async (params: Json, server: ScriptedServer) => {
      // A list has one page more, which is empty.
      if (params["cursor"] !== undefined)
        return { ...this.answers.get(method), nextCursor: undefined, ...EMPTY };
      const result = await this.during?.(server, params);
      return result ?? this.answers.get(method) ?? {};
    };
    const methods = [...Object.values(METHOD_OF), "resources/subscribe", "resources/unsubscribe"];
    return {
      ...(isModern ? MODERN : LEGACY),
      ...Object.fromEntries(methods.map((method) => [method, answered(method)])),
      ...(isModern
        ? {
            "server/discover": () => ({
              resultType: "complete",
              supportedVersions: ["2026-07-28"],
              capabilities: CAPABILITIES,
            }),
          }
        : {
            initialize: () => ({
              protocolVersion: "2025-11-25",
              capabilities: CAPABILITIES,
              serverInfo: { name: "s", version: "1" },
            }),
          }),
    };
  }
}

const EMPTY = { tools: [], prompts: [], resources: [], resourceTemplates: [] };
const LISTS: readonly (readonly [string, string, string, readonly Json[]])[] = [
  ["ListToolsResult", "tools", "Tool", [USE]],
  ["ListPromptsResult", "prompts", "Prompt", [{ name: TOOL }]],
  ["ListResourcesResult", "resources", "Resource", []],
  ["ListResourceTemplatesResult", "resourceTemplates", "ResourceTemplate", []],
];
/** Results, by the requests that are answered with them. */
const METHOD_OF: Readonly<Record<string, string>> = {
  ListToolsResult: "tools/list",
  ListPromptsResult: "prompts/list",
  ListResourcesResult: "resources/list",
  ListResourceTemplatesResult: "resources/templates/list",
  CallToolResult: "tools/call",
  GetPromptResult: "prompts/get",
  ReadResourceResult: "resources/read",
  CompleteResult: "completion/complete",
};
const REQUESTS: readonly (readonly [string, string, Json])[] = [
  ["CallToolRequestParams", "tools/call", { name: TOOL }],
  ["GetPromptRequestParams", "prompts/get", { name: TOOL }],
  ["ReadResourceRequestParams", "resources/read", {}],
  ["CompleteRequestParams", "completion/complete", {}],
];
const QUESTIONS: readonly (readonly [string, string, string])[] = [
  ["sampling/createMessage", "CreateMessageRequestParams", "CreateMessageResult"],
  ["elicitation/create", "ElicitRequestParams", "ElicitResult"],
  ["roots/list", "ListRootsRequest", "ListRootsResult"],
];

for (const revision of ["2025-11-25", "2026-07-28"] as const) {
  describe(`Every member of MCP ${revision}, from a server to a client or back`, () => {
    it("is carried, or it is decided what becomes of it", async () => {
      await using gateway = await Gateway.open(revision);
      const { client, samples, answers } = gateway;
      for (const [list] of LISTS) {
        const method = METHOD_OF[list] ?? "";
        const { result } = await client.request(method);
        gateway.compare(answers.get(method), result, list);
      }
      await results(gateway);
      await requests(gateway);
      await questions(gateway);
      await notifications(gateway);
      const decisions = [...DECISIONS, ...DECISIONS_OF[revision]];
      const undecided = [...gateway.found].filter(
        (path) => !decisions.some(({ where }) => where.test(path)),
      );
      assert.deepEqual(undecided.toSorted(), [], "arrive otherwise than they were sent");
      const stale = decisions.filter(
        ({ where }) => ![...gateway.found].some((path) => where.test(path)),
      );
      assert.deepEqual(stale, [], "are carried now");
      const definitions = await wireDefinitions(revision);
      const unsent = membersOf(definitions).filter((member) => {
        return !samples.visited.has(member) && !ELSEWHERE.some(({ where }) => where.test(member));
      });
      assert.deepEqual(unsent, [], "are in no exchange");
    });
  });
}

describe("Every member of lists, results and requests that both eras have", () => {
  for (const [ofServer, ofClient] of [
    ["2025-11-25", "2026-07-28"],
    ["2026-07-28", "2025-11-25"],
  ] as const) {
    it(`is carried between a server of ${ofServer} and a client of ${ofClient}`, async () => {
      await using gateway = await Gateway.open(ofServer, ofClient);
      const { client, answers } = gateway;
      for (const [list] of LISTS) {
        const method = METHOD_OF[list] ?? "";
        const { result } = await client.request(method);
        gateway.compare(answers.get(method), result, list);
      }
      await results(gateway);
      gateway.samples = new WireSamples(await wireDefinitions(ofClient));
      await requests(gateway);
      const ofEras = [...DECISIONS, ...DECISIONS_OF["2026-07-28"]];
      const decisions = [...ofEras, ...CROSSING[ofServer]];
      const undecided = [...gateway.found].filter(
        (path) => !decisions.some(({ where }) => where.test(path)),
      );
      assert.deepEqual(undecided.toSorted(), [], "arrive otherwise than they were sent");
      const stale = CROSSING[ofServer].filter(
        ({ where }) => ![...gateway.found].some((path) => where.test(path)),
      );
      assert.deepEqual(stale, [], "are carried now");
    });
  }
});

const PLAIN: Readonly<Record<string, Json>> = {
  "tools/call": { name: TOOL, arguments: {} },
  "prompts/get": { name: TOOL },
  "resources/read": { uri: "x://read" },
  "completion/complete": {
    ref: { type: "ref/prompt", name: TOOL },
    argument: { name: "a", value: "" },
  },
};

/** What a server answers. */
async function results(gateway: Gateway): Promise<void> {
  for (const [name, method] of Object.entries(METHOD_OF)) {
    if (PLAIN[method] === undefined) continue;
    for (const sent of gateway.samples.of(name)) {
      const whole = "resultType" in sent ? { ...sent, ...COMPLETE } : sent;
      gateway.during = () => whole;
      const { result } = await gateway.client.request(method, PLAIN[method]);
      gateway.compare(whole, result, name);
    }
  }
}

/** What a client asks. */
async function requests(gateway: Gateway): Promise<void> {
  for (const [name, method, mine] of REQUESTS) {
    for (const sample of gateway.samples.of(name)) {
      // The state of an earlier answer is ours; the revision is that of the connection.
      const { requestState: _, inputResponses: __, task: ___, _meta, ...rest } = sample as Json;
      const sent: Json = { ...rest, ...mine, _meta: withoutOurs(_meta as Json) };
      if (method === "completion/complete") {
        const { type } = sent["ref"] as Json;
        const isPrompt = type === "ref/prompt";
        sent["ref"] = isPrompt
          ? { ...sent["ref"], name: TOOL }
          : { ...sent["ref"], uri: gateway.template };
      }
      let heard: Json = {};
      gateway.during = (_server, params) => ((heard = params), COMPLETE);
      await gateway.client.request(method, sent);
      gateway.compare(sent, heard, name);
    }
  }
}

function withoutOurs(meta: Json): Json {
  const entries = Object.entries(meta).filter(
    ([key]) => !key.startsWith("io.modelcontextprotocol/"),
  );
  return Object.fromEntries(entries);
}

/** What a server asks in a call, and what the client answers. */
async function questions(gateway: Gateway): Promise<void> {
  const isModern = gateway.revision === "2026-07-28";
  for (const [method, asking, answering] of QUESTIONS) {
    const asked = method === "roots/list" ? [{}] : gateway.samples.of(asking);
    const answers = gateway.samples.of(answering);
    for (let at = 0; at < Math.max(asked.length, answers.length); at++) {
      // A question as a task is answered later, and tried elsewhere.
      const { task: _, ...params } = (asked[at % asked.length] ?? {}) as Json;
      const answer = answers[at % answers.length] ?? {};
      gateway.clientAnswers = answer;
      let got: unknown;
      gateway.during = async (server, { inputResponses }) => {
        if (!isModern) {
          got = (await server.request(method, params))["result"];
        } else if (inputResponses === undefined) {
          return { resultType: "input_required", inputRequests: { q: { method, params } } };
        } else {
          got = (inputResponses as Json)["q"];
        }
        return { ...COMPLETE, content: [] };
      };
      const before = gateway.heard.length;
      await gateway.client.callTool(TOOL);
      const [heard] = gateway.heard.slice(before);
      assert.equal(heard?.[0], method);
      gateway.compare(params, heard?.[1], asking);
      gateway.compare(answer, got, answering);
    }
  }
}

/** What a server tells a client that has a call open or watches a resource. */
async function notifications(gateway: Gateway): Promise<void> {
  const { client, samples } = gateway;
  const isModern = gateway.revision === "2026-07-28";
  const told = async (method: string, name: string, sent: Json): Promise<void> => {
    await client.until((each) => each.told(method).length > 0);
    gateway.compare(sent, client.told(method).at(-1)?.["params"], name);
    client.messages.length = 0;
  };
  if (!isModern) await client.request("logging/setLevel", { level: "debug" });
  for (const [name, method] of [
    ["ProgressNotificationParams", "notifications/progress"],
    ["LoggingMessageNotificationParams", "notifications/message"],
  ] as const) {
    for (const sample of samples.of(name)) {
      let sent: Json = sample;
      gateway.during = (server, { _meta }) => {
        const { progressToken } = _meta as Json;
        if ("progressToken" in sample) sent = { ...sample, progressToken };
        server.notify(method, sent);
        return { ...COMPLETE, content: [] };
      };
      client.messages.length = 0;
      const _meta = { progressToken: "mine", "io.modelcontextprotocol/logLevel": "debug" };
      await client.callTool(TOOL, {}, { _meta });
      await told(method, name, sent);
    }
  }
  gateway.during = undefined;
  for (const sent of samples.of("ResourceUpdatedNotificationParams") as Json[]) {
    const { uri } = sent as { uri: string };
    const notifications = { resourceSubscriptions: [uri] };
    if (isModern) client.send("subscriptions/listen", { notifications });
    else await client.request("resources/subscribe", { uri });
    const isAsked = ({ method, params }: Json): boolean =>
      method === "resources/subscribe" ||
      (params as Json | undefined)?.["notifications"]?.resourceSubscriptions !== undefined;
    await gateway.server.until(({ heard }) => heard.some(isAsked));
    gateway.server.notify("notifications/resources/updated", sent);
    await told("notifications/resources/updated", "ResourceUpdatedNotificationParams", sent);
  }
}

const COMPLETE = { resultType: "complete" };

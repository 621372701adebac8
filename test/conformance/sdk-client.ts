import { STDIO_SERVER } from "./fixture-server.ts";
import { packages } from "./suite.ts";

type Params = Readonly<Record<string, unknown>>;
type Answer = (request: { readonly params: Params }) => Promise<unknown>;

export interface CallOptions {
  readonly onprogress?: (progress: { readonly progress: number }) => void;
  readonly signal?: AbortSignal;
}

export interface ToolAnswer {
  readonly content: readonly { readonly type: string; readonly text?: string }[];
  readonly isError?: boolean;
}

/** As far as both generations of the SDK's client are alike, and the tests use them. */
interface Client {
  connect(transport: object): Promise<void>;
  close(): Promise<void>;
  listTools(): Promise<{ tools: { name: string }[] }>;
  listResources(): Promise<{ resources: { uri: string }[] }>;
  listResourceTemplates(): Promise<{ resourceTemplates: { uriTemplate: string }[] }>;
  listPrompts(): Promise<{ prompts: { name: string }[] }>;
  readResource(params: Params): Promise<{ contents: { text?: string }[] }>;
  getPrompt(params: Params): Promise<{ messages: { content: { text?: string } }[] }>;
  complete(params: Params): Promise<{ completion: { values: string[] } }>;
  subscribeResource(params: Params): Promise<unknown>;
}

export interface Notification {
  readonly method: string;
  readonly params?: Params;
}

export interface TaskMessage {
  readonly type: string;
  readonly task?: { readonly status: string };
  readonly result?: ToolAnswer;
}

interface ClientV1 extends Client {
  callTool(params: Params, schema: undefined, options?: CallOptions): Promise<ToolAnswer>;
  setRequestHandler(schema: unknown, answer: Answer): void;
  readonly experimental: {
    readonly tasks: {
      callToolStream(params: Params): AsyncIterable<TaskMessage>;
      listTasks(): Promise<{ tasks: { status: string }[] }>;
    };
  };
}

export interface Subscription {
  readonly honoredFilter: Params;
  close(): Promise<void>;
}

interface ClientV2 extends Client {
  callTool(params: Params, options?: CallOptions): Promise<ToolAnswer>;
  setRequestHandler(method: string, answer: Answer): void;
  getProtocolEra(): "legacy" | "modern";
  getNegotiatedProtocolVersion(): string;
  listen(filter: Params): Promise<Subscription>;
}

type Class = new (...args: unknown[]) => object;

export type Transport = "http" | "sse" | "stdio";
export type Mode = "legacy" | "auto" | { readonly pin: string };

/** A connected client of the SDK, whichever generation it is of. */
export interface SdkClient<C extends Client = Client> extends AsyncDisposable {
  readonly client: C;
  readonly notifications: Notification[];
  /**
   * Progress that came, but that the client had no ear for any more: both generations handle a
   * notification only after the answer where they read the two together.
   */
  readonly lateProgress: number[];
  /** What else the client found fault with. */
  readonly errors: Error[];
  call(name: string, args?: Params, options?: CallOptions): Promise<ToolAnswer>;
  /** Resolves when such a notification has come, or comes. */
  heard(method: string): Promise<Notification>;
}

const INFO = { name: "sdk-client", version: "1.0.0" };
const CAPABILITIES = { sampling: {}, elicitation: {}, roots: { listChanged: true } };

/** What the person and the model behind the clients of these tests always say. */
const ANSWERS: Readonly<Record<string, Answer>> = {
  "sampling/createMessage": async ({ params }) => {
    const [message] = params.messages as { content: { text: string } }[];
    const text = `You said: ${message?.content.text}`;
    return { role: "assistant", model: "test", content: { type: "text", text } };
  },
  "elicitation/create": async () => ({
    action: "accept",
    content: {
      name: "Ada",
      username: "ada",
      email: "ada@example.com",
      color: "red",
      confirm: true,
    },
  }),
  "roots/list": async () => ({ roots: [{ uri: "file:///project" }] }),
};

/** A program that is an MCP server on its standard streams. */
interface StdioProgram {
  readonly command: string;
  readonly args: readonly string[];
}

export async function connectV1(
  transport: Transport,
  url: string,
  program: StdioProgram = STDIO_SERVER,
): Promise<SdkClient<ClientV1>> {
  const folder = "@modelcontextprotocol/sdk/dist/esm";
  const load = (file: string) => packages.import<Record<string, Class>>(folder, file);
  const types = await load("types.js");
  const { Client } = await load("client/index.js");
  const client = make(Client, INFO, { capabilities: CAPABILITIES }) as ClientV1;
  client.setRequestHandler(types.CreateMessageRequestSchema, answerTo("sampling/createMessage"));
  client.setRequestHandler(types.ElicitRequestSchema, answerTo("elicitation/create"));
  client.setRequestHandler(types.ListRootsRequestSchema, answerTo("roots/list"));
  const transports: Record<Transport, () => Promise<object>> = {
    http: async () =>
      make(
        (await load("client/streamableHttp.js")).StreamableHTTPClientTransport,
        new URL(`${url}/mcp`),
      ),
    sse: async () => make((await load("client/sse.js")).SSEClientTransport, new URL(`${url}/sse`)),
    stdio: async () => make((await load("client/stdio.js")).StdioClientTransport, program),
  };
  return connect(client, await transports[transport](), (name, args, options) =>
    client.callTool({ name, arguments: args }, undefined, options),
  );
}

export async function connectV2(
  transport: Exclude<Transport, "sse">,
  url: string,
  mode: Mode,
  program: StdioProgram = STDIO_SERVER,
): Promise<SdkClient<ClientV2>> {
  const folder = "@modelcontextprotocol/client/dist";
  const load = (file: string) => packages.import<Record<string, Class>>(folder, file);
  const { Client, StreamableHTTPClientTransport } = await load("index.mjs");
  const options = { capabilities: CAPABILITIES, versionNegotiation: { mode } };
  const client = make(Client, INFO, options) as ClientV2;
  for (const method of Object.keys(ANSWERS)) client.setRequestHandler(method, answerTo(method));
  const connection =
    transport === "http"
      ? make(StreamableHTTPClientTransport, new URL(`${url}/mcp`))
      : make((await load("stdio.mjs")).StdioClientTransport, program);
  return connect(client, connection, (name, args, options) =>
    client.callTool({ name, arguments: args }, options),
  );
}

function answerTo(method: string): Answer {
  return (request) => ANSWERS[method]!(request);
}

function make(made: Class | undefined, ...args: unknown[]): object {
  if (made === undefined) throw new Error("The SDK does not have this class");
  return new made(...args);
}

async function connect<C extends Client>(
  client: C,
  transport: object,
  callTool: (name: string, args: Params, options?: CallOptions) => Promise<ToolAnswer>,
): Promise<SdkClient<C>> {
  const notifications: Notification[] = [];
  const lateProgress: number[] = [];
  const errors: Error[] = [];
  const waiters = new Set<(notification: Notification) => void>();
  const onerror = (error: Error): void => {
    const late = /progress notification for an unknown token.*"progress":(\d+)/.exec(error.message);
    if (late === null) errors.push(error);
    else lateProgress.push(Number(late[1]));
  };
  const fallbackNotificationHandler = async (notification: Notification): Promise<void> => {
    notifications.push(notification);
    for (const waiter of waiters) waiter(notification);
  };
  Object.assign(client, { onerror, fallbackNotificationHandler });
  await client.connect(transport);
  return {
    client,
    notifications,
    lateProgress,
    errors,
    call: (name, args = {}, options) => callTool(name, args, options),
    heard: (method) => {
      const { promise, resolve } = Promise.withResolvers<Notification>();
      const listen = (notification: Notification): void => {
        if (notification.method !== method) return;
        waiters.delete(listen);
        resolve(notification);
      };
      waiters.add(listen);
      const known = notifications.find((notification) => notification.method === method);
      if (known !== undefined) listen(known);
      return promise;
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

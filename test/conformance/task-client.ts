import { packages } from "./suite.ts";
import { connectV2, type SdkClient, type ToolAnswer } from "./sdk-client.ts";

interface Outcome {
  readonly kind: string;
}

interface Library {
  createTaskSessionFromClient(client: object, options: object): Tasks;
  resultFromTaskOutcome(outcome: Outcome): ToolAnswer;
}

interface Tasks {
  callTool(name: string, args: object): Promise<{ settle(): Promise<{ outcome: Outcome }> }>;
  close(): Promise<void>;
}

interface Request {
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

const VERSION = "2026-07-28";

/** The official client of the tasks extension, which runs what it calls to its end. */
export class TaskClient implements AsyncDisposable {
  readonly #library: Library;
  readonly #session: SdkClient;
  readonly #tasks: Tasks;

  private constructor(library: Library, session: SdkClient, tasks: Tasks) {
    this.#library = library;
    this.#session = session;
    this.#tasks = tasks;
  }

  static async connect(url: string): Promise<TaskClient> {
    const file = "@modelcontextprotocol/ext-tasks/dist/client/index.js";
    const library = await packages.import<Library>(file);
    const session = await connectV2("http", url, { pin: VERSION });
    let id = 1000;
    const tasks = library.createTaskSessionFromClient(session.client, {
      endpointId: "fixture",
      rawDispatch: (request: Request) => dispatch(url, id++, request),
      v2RequestFraming: {
        protocolVersion: VERSION,
        clientInfo: { name: "task-client", version: "1" },
        clientCapabilities: { elicitation: {} },
      },
      onInputRequest: async () => ({ action: "accept", content: { name: "Ada", confirm: true } }),
    });
    return new TaskClient(library, session, tasks);
  }

  async run(name: string, args: object = {}): Promise<ToolAnswer> {
    const execution = await this.#tasks.callTool(name, args);
    const { outcome } = await execution.settle();
    return this.#library.resultFromTaskOutcome(outcome);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#tasks.close();
    await this.#session[Symbol.asyncDispose]();
  }
}

async function dispatch(url: string, id: number, request: Request): Promise<object> {
  const { name, taskId, uri } = request.params ?? {};
  const named = name ?? taskId ?? uri;
  const response = await fetch(`${url}/mcp`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": VERSION,
      "mcp-method": request.method,
      ...(typeof named === "string" ? { "mcp-name": named } : {}),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id, ...request }),
  });
  const text = await response.text();
  const isEvents = response.headers.get("content-type") === "text/event-stream";
  const last = isEvents ? text.slice(text.lastIndexOf("data: ") + 6) : text;
  const { result, error } = JSON.parse(last) as { result?: object; error?: object };
  return error === undefined ? { kind: "result", result } : { kind: "error", error };
}

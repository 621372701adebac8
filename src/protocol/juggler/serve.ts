import { type Route, route, routes } from "../../rpc/route.ts";
import { TrunklineError } from "../../base/errors.ts";
import { OWNER } from "../../base/principal.ts";
import { VERSION } from "../../base/version.ts";
import type { Call } from "../../rpc/peer.ts";
import { type Code, JUGGLER, TRUNKLINE, ACP } from "../../rpc/codes.ts";
import { TaskQueue } from "../../base/limit/task-queue.ts";
import type { PeerOptions, Dialect } from "../../rpc/peer-options.ts";
import { RpcError } from "../../rpc/rpc-error.ts";
import {
  FAULT_META,
  type Caller,
  CannotAsk,
  resultText,
  type ToolContext,
  ToolFault,
  type ToolResult,
  type ToolDefinition,
} from "../../tool/tool.ts";
import type { Offer } from "../../tool/offer/offer.ts";
import type { Profile } from "../../tool/profile/profile.ts";
import {
  type ExecuteActionParams,
  checkExecuteActionParams,
  checkInitializeParams,
  type InitializeParams,
} from "./schema.gen.ts";
import { resolve } from "node:path";
import { request } from "../../rpc/method.ts";

export interface JugglerOptions {
  /** Opened with the first message that needs it. */
  readonly offer: () => Promise<Offer>;
  readonly info?: ServerInfo;
  /** The folder for actions that name none. */
  readonly folder?: string | undefined;
}

/** Connections so far, for client ids that are unique in this process. */
let opened = 0;

/** Error names that have codes of their own (RemoteJuggler, "RemoteJuggler Errors"). */
const CODES: Readonly<Record<string, Code>> = {
  "identity-not-found": JUGGLER.identityNotFound,
  "validation-failed": JUGGLER.validationFailed,
  keychain: JUGGLER.keychain,
  config: JUGGLER.config,
};

/** The options of a peer that speaks this dialect on one connection. */
export function jugglerServer(options: JugglerOptions): PeerOptions<undefined> {
  return { dialect: jugglerDialect, routes: routes(...jugglerRoutes<undefined>(options)) };
}

/** The routes of this dialect for one connection, to be added to those of another dialect. */
export function jugglerRoutes<S>(options: JugglerOptions): Route<S>[] {
  const { info = { name: "Trunkline", version: VERSION, description: DESCRIPTION } } = options;
  let name = "unknown";
  const client = `juggler-${process.pid}-${++opened}`;
  const callerNamed = (given: string): Caller => {
    return { door: "juggler", name: given, principal: OWNER, client };
  };
  return [
    route(initialize, async ({ clientInfo }) => {
      const words = [clientInfo?.name ?? "", clientInfo?.version ?? ""];
      name = words.filter((word) => word !== "").join(" ") || "unknown";
      const offer = await options.offer();
      await offer.known();
      const caller = callerNamed(name);
      const profile = profileFor(offer, caller, options.folder);
      const tools = offer.tools.listFor({ caller, profile });
      return { serverInfo: info, tools: tools.map(({ definition }) => definition) };
    }),
    route(
      executeAction,
      async (params, call: Call<S>) => {
        const folder = folderOf(params, options.folder);
        const offer = await options.offer();
        const caller = callerNamed(name);
        const profile = profileFor(offer, caller, options.folder);
        return await execute(params, contextOf(call, { caller, folder, profile }), offer);
      },
      { queue: new TaskQueue(), key: queueOf },
    ),
  ];
}

/** The context of an action. The dialect has no messages for progress, logs or questions. */
function contextOf<S>(
  call: Call<S>,
  given: Pick<ToolContext, "caller" | "folder" | "profile">,
): ToolContext {
  return {
    ...given,
    meta: {},
    signal: call.signal,
    progress: () => call.progressed(),
    log: () => {},
    canAsk: () => false,
    ask: async (question) => {
      throw new CannotAsk(question);
    },
  };
}

function profileFor(
  offer: Offer,
  { name, principal }: Caller,
  folder: string | undefined,
): Profile | undefined {
  return offer.profileFor({ door: "acp", client: name, folder, principal });
}

/** RemoteJuggler handles one request at a time: a status after a switch sees the switch. */
function queueOf(params: unknown): string | undefined {
  return (params as ExecuteActionParams).tool.startsWith("juggler_") ? "juggler" : undefined;
}

const DESCRIPTION = "Git identity management, and every other tool of Trunkline";

/** A relative `projectPath` is resolved against our own folder. */
function folderOf({ context }: ExecuteActionParams, own: string | undefined): string | undefined {
  const { projectPath = "" } = context ?? {};
  if (projectPath === "") return own;
  return own === undefined ? projectPath : resolve(own, projectPath);
}

async function execute(
  params: ExecuteActionParams,
  toolContext: ToolContext,
  offer: Offer,
): Promise<ExecuteActionResult> {
  const { tool, arguments: args = {} } = params;
  // Its server may not have listed its tools yet.
  if (offer.tools.get(tool, toolContext.profile, OWNER) === undefined) await offer.known();
  let result: ToolResult;
  try {
    result = await offer.tools.call(tool, args, toolContext);
  } catch (error) {
    if (error instanceof CannotAsk) return { success: false, output: error.message };
    if (error instanceof ToolFault) throw new RpcError(error.code, error.message, error.data);
    if (!(error instanceof TrunklineError)) throw error;
    // Not our own code: -32001, a timeout elsewhere, means an unknown identity in this dialect.
    if (error.code === "timeout") throw RpcError.of(TRUNKLINE.unavailable, error.message);
    if (error.code === "config") throw RpcError.of(JUGGLER.config, error.message);
    throw error;
  }
  // The only form of a result that the dialect has.
  const output = resultText(result);
  if (result.isError !== true) return { success: true, output };
  const code = CODES[String(result._meta?.[FAULT_META])];
  if (code === undefined) return { success: false, output };
  const details = result.structuredContent ?? {};
  throw new RpcError(code.code, code.message, { ...details, output });
}

/** RemoteJuggler's "Agent Communication Protocol", with which JetBrains IDEs run actions. */
export const jugglerDialect: Dialect = {
  name: "juggler",
  batches: false,
  nullIdIsNotification: false,
  cancel: { method: "$/cancel_request", answer: ACP.cancelled },
  methodNotFound: () => "Method not found",
};

export interface ServerInfo {
  readonly name: string;
  readonly version: string;
  readonly description: string;
}

export interface InitializeResult {
  readonly serverInfo: ServerInfo;
  readonly tools: readonly ToolDefinition[];
}

export interface ExecuteActionResult {
  readonly success: boolean;
  readonly output: string;
}

/** RemoteJuggler, "Server Registration". */
export const initialize = request<InitializeParams, InitializeResult>(
  "acp/initialize",
  checkInitializeParams,
);

/** RemoteJuggler, "Execute Action". */
export const executeAction = request<ExecuteActionParams, ExecuteActionResult>(
  "acp/executeAction",
  checkExecuteActionParams,
);

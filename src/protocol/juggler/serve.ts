import { resolve } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { OWNER } from "../../base/principal.ts";
import { VERSION } from "../../base/version.ts";
import type { Call } from "../../rpc/call.ts";
import { type Code, JUGGLER, STANDARD } from "../../rpc/codes.ts";
import { Lanes } from "../../rpc/lanes.ts";
import type { PeerOptions } from "../../rpc/peer-options.ts";
import { type Route, route, routes } from "../../rpc/route.ts";
import { RpcError } from "../../rpc/rpc-error.ts";
import { FAULT_META, type Caller, CannotAsk, ToolFault, type ToolResult } from "../../tool/tool.ts";
import type { Offer } from "../../tool/offer/offer.ts";
import { jugglerDialect } from "./dialect.ts";
import { executeAction, type ExecuteActionResult, initialize, type ServerInfo } from "./methods.ts";
import { outputText } from "./output-text.ts";
import type { ExecuteActionParams } from "./schema.gen.ts";
import { JugglerToolContext } from "./tool-context.ts";

export interface JugglerOptions {
  /** Asked for with the first message that needs it. */
  readonly offer: () => Promise<Offer>;
  readonly info?: ServerInfo;
  /** The folder that counts where an action names none. */
  readonly folder?: string | undefined;
}

/** One connection of this dialect, of whoever started the program. */
let opened = 0;

/** Failures that the dialect has codes for (RemoteJuggler, "RemoteJuggler Errors"). */
const CODES: Readonly<Record<string, Code>> = {
  "identity-not-found": JUGGLER.identityNotFound,
  "validation-failed": JUGGLER.validationFailed,
  keychain: JUGGLER.keychain,
  config: JUGGLER.config,
};

/** What one connection needs to be answered in this dialect. */
export function jugglerServer(options: JugglerOptions): PeerOptions<undefined> {
  return { dialect: jugglerDialect, routes: routes(...jugglerRoutes<undefined>(options)) };
}

/** The same as routes that fit beside those of another dialect, for one connection. */
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
      const tools = offer.tools.listFor({ caller: callerNamed(name) });
      return { serverInfo: info, tools: tools.map(({ definition }) => definition) };
    }),
    route(
      executeAction,
      async (params, call: Call<S>) => {
        const folder = folderOf(params, options.folder);
        const context = new JugglerToolContext(callerNamed(name), call, folder);
        return await execute(params, context, await options.offer());
      },
      { lanes: new Lanes(), key: laneOf },
    ),
  ];
}

/** Who switches and then asks where he is wants the one before the other, as in the original. */
function laneOf(params: unknown): string | undefined {
  const { tool } = params as ExecuteActionParams;
  return tool.startsWith("juggler_") ? "juggler" : undefined;
}

const DESCRIPTION = "Git identity management, and every other tool of Trunkline";

/** What the IDE says of where it is counts from where we are. */
function folderOf({ context }: ExecuteActionParams, own: string | undefined): string | undefined {
  const { projectPath = "" } = context ?? {};
  if (projectPath === "") return own;
  return own === undefined ? projectPath : resolve(own, projectPath);
}

async function execute(
  params: ExecuteActionParams,
  toolContext: JugglerToolContext,
  offer: Offer,
): Promise<ExecuteActionResult> {
  const { tool, arguments: args = {} } = params;
  // A tool may be known only once its server has been asked.
  if (offer.tools.get(tool) === undefined) await offer.known();
  let result: ToolResult;
  try {
    result = await offer.tools.call(tool, args, toolContext);
  } catch (error) {
    if (error instanceof CannotAsk) return { success: false, output: error.message };
    if (error instanceof ToolFault) throw new RpcError(error.code, error.message, error.data);
    // A timeout would have the number that stands here for an unknown identity.
    if (error instanceof TrunklineError && error.code !== "not-found") {
      throw RpcError.of(STANDARD.internal, error.message);
    }
    throw error;
  }
  const output = outputText(result);
  if (result.isError !== true) return { success: true, output };
  const code = CODES[String(result._meta?.[FAULT_META])];
  if (code === undefined) return { success: false, output };
  const details = result.structuredContent ?? {};
  throw new RpcError(code.code, code.message, { ...details, output });
}

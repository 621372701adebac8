import { abortSignalOf } from "../base/abort.ts";
import { STANDARD } from "../rpc/codes.ts";
import { RpcError } from "../rpc/rpc-error.ts";
import { answerOf } from "../protocol/bus/answer.ts";
import { type BusRequest, type AskOptions, BusClient } from "../protocol/bus/connect.ts";
import type { PluginResponse } from "../protocol/bus/plugin.gen.ts";
import { fromToolResponse } from "../protocol/bus/shape/tool-result.ts";
import { fromBusPrompt, fromPromptGetResponse } from "../protocol/bus/shape/prompt-shape.ts";
import { fromBusTool, isIdempotent, toToolRequest } from "../protocol/bus/shape/tool-shape.ts";
import type { Offer } from "../tool/offer/offer.ts";
import {
  type Arguments,
  projectFolder,
  type Prompt,
  TOLD,
  type Tool,
  type ToolContext,
  type ToolDefinition,
  ToolFault,
  type ToolResult,
} from "../tool/tool.ts";
import { PublishedEntries } from "../tool/offer/published-entries.ts";
import { parseAddress } from "../wire/quic/address.ts";
import type { Connection } from "../wire/quic/connection.ts";

export interface RemoteBusOptions {
  /** As it was given, for messages. */
  readonly address: string;
  readonly dial: (signal: AbortSignal) => Promise<Connection>;
  readonly connected: (connection: Connection) => void;
  readonly lost: (reason: Error) => void;
  /** Milliseconds to wait for the answer to a call, and for a list. */
  readonly patience?: { readonly call: number; readonly list: number };
}

/** An orchestrator somewhere else, whose tools and prompts are offered here as they are. */
export type RemoteBus = ReturnType<typeof newRemoteBus>;

export function newRemoteBus({ address, patience, ...options }: RemoteBusOptions) {
  // Throws for an invalid address now, instead of with every call.
  parseAddress(address);
  const whom = `The orchestrator at ${address}`;
  const given = patience === undefined ? {} : { patience: patience.call };
  const client = new BusClient({ name: whom, ...given, ...options });
  let toolEntries: PublishedEntries<Tool> | undefined;
  let promptEntries: PublishedEntries<Prompt> | undefined;
  /** A tool that was not listed. It may be new, so the call is passed on. */
  const anyTool = (name: string): Tool => toolOf({ name, inputSchema: { type: "object" } });
  const refresh = async (): Promise<void> => {
    const timeout = patience?.list;
    const asking = { again: true, ...(timeout === undefined ? {} : { timeout }) };
    const [tools, prompts] = await Promise.all([
      ask({ case: "listTools", value: {} }, asking),
      ask({ case: "listPrompts", value: {} }, asking),
    ]);
    const seen = new Set<string>();
    const isNew = ({ name }: { readonly name: string }): boolean =>
      !seen.has(name) && seen.add(name) !== undefined;
    toolEntries?.replace(
      answerOf(whom, tools, "listTools")
        .tools.filter(isNew)
        .map((tool) => ({
          name: tool.name,
          key: JSON.stringify(tool),
          make: () => toolOf(fromBusTool(tool)),
        })),
    );
    seen.clear();
    // Older orchestrators do not know the request.
    const { response } = prompts;
    promptEntries?.replace(
      (response.case === "listPrompts" ? response.value.prompts : [])
        .filter(isNew)
        .map((prompt) => ({
          name: prompt.name,
          key: JSON.stringify(prompt),
          make: () => promptOf(prompt.name, fromBusPrompt(prompt)),
        })),
    );
  };
  const toolOf = (definition: ToolDefinition): Tool => {
    const again = isIdempotent(definition);
    return {
      definition,
      checksItself: true,
      project: TOLD,
      call: (args, context) => call(definition.name, args, context, again),
    };
  };
  const call = async (
    name: string,
    args: Arguments,
    context: ToolContext,
    again: boolean,
  ): Promise<ToolResult> => {
    const signal = abortSignalOf(context.signal);
    const request = callOf(name, args, context);
    try {
      const answer = await client.ask(request, { signal, again });
      return fromToolResponse(answerOf(whom, answer, "toolCall"));
    } catch (error) {
      if (signal.aborted) throw error;
      // A missing answer is an error of the protocol, not a result of the tool.
      throw new ToolFault(STANDARD.internal.code, (error as Error).message);
    }
  };
  const promptOf = (name: string, definition: Prompt["definition"]): Prompt => ({
    definition,
    get: async (args, { signal }) => {
      const value = { promptName: name, arguments: { ...args } };
      const answer = await ask(
        { case: "promptGet", value },
        { signal: abortSignalOf(signal), again: true },
      );
      return fromPromptGetResponse(answerOf(whom, answer, "promptGet"));
    },
  });
  /** Orchestra transport.stdio, Error Codes: that there was no answer is -32603, whatever it was. */
  const ask = async (request: BusRequest, options: AskOptions): Promise<PluginResponse> => {
    try {
      return await client.ask(request, options);
    } catch (error) {
      if (options.signal?.aborted === true) throw error;
      throw new RpcError(STANDARD.internal.code, (error as Error).message);
    }
  };
  return {
    anyTool,
    /** Connects now, so that a failure is known before anything is asked. */
    connect: (): Promise<void> => client.connect(),
    /** Offers what is there, asked for anew with each list. */
    offerIn(offer: Offer): void {
      toolEntries = new PublishedEntries((_, tool) => offer.tools.add(tool));
      promptEntries = new PublishedEntries((name, prompt) => offer.prompts.add(name, prompt));
      offer.waitFor({ known: refresh });
    },
    [Symbol.asyncDispose]: (): Promise<void> => client[Symbol.asyncDispose](),
  };
}

function callOf(
  name: string,
  args: Arguments,
  context: Pick<ToolContext, "session" | "folder" | "project">,
): BusRequest {
  const { session } = context;
  const value = toToolRequest({ name, args, session, project: projectFolder(context) });
  return { case: "toolCall", value };
}

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
export class RemoteBus implements AsyncDisposable {
  readonly #client: BusClient;
  readonly #name: string;
  readonly #patience: RemoteBusOptions["patience"];
  #tools: PublishedEntries<Tool> | undefined;
  #prompts: PublishedEntries<Prompt> | undefined;

  constructor({ address, patience, ...options }: RemoteBusOptions) {
    // Throws for an invalid address now, instead of with every call.
    parseAddress(address);
    this.#name = `The orchestrator at ${address}`;
    this.#patience = patience;
    const given = patience === undefined ? {} : { patience: patience.call };
    this.#client = new BusClient({ name: this.#name, ...given, ...options });
  }

  /** Connects now, so that a failure is known before anything is asked. */
  connect(): Promise<void> {
    return this.#client.connect();
  }

  /** A tool that was not listed. It may be new, so the call is passed on. */
  readonly anyTool = (name: string): Tool => this.#tool({ name, inputSchema: { type: "object" } });

  /** Offers what is there, asked for anew with each list. */
  offerIn(offer: Offer): void {
    this.#tools = new PublishedEntries((_, tool) => offer.tools.add(tool));
    this.#prompts = new PublishedEntries((name, prompt) => offer.prompts.add(name, prompt));
    offer.waitFor({ known: () => this.#refresh() });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client[Symbol.asyncDispose]();
  }

  async #refresh(): Promise<void> {
    const timeout = this.#patience?.list;
    const asking = { again: true, ...(timeout === undefined ? {} : { timeout }) };
    const [tools, prompts] = await Promise.all([
      this.#ask({ case: "listTools", value: {} }, asking),
      this.#ask({ case: "listPrompts", value: {} }, asking),
    ]);
    const seen = new Set<string>();
    const isNew = ({ name }: { readonly name: string }): boolean =>
      !seen.has(name) && seen.add(name) !== undefined;
    this.#tools?.replace(
      answerOf(this.#name, tools, "listTools")
        .tools.filter(isNew)
        .map((tool) => ({
          name: tool.name,
          key: JSON.stringify(tool),
          make: () => this.#tool(fromBusTool(tool)),
        })),
    );
    seen.clear();
    // Older orchestrators do not know the request.
    const { response } = prompts;
    this.#prompts?.replace(
      (response.case === "listPrompts" ? response.value.prompts : [])
        .filter(isNew)
        .map((prompt) => ({
          name: prompt.name,
          key: JSON.stringify(prompt),
          make: () => this.#prompt(prompt.name, fromBusPrompt(prompt)),
        })),
    );
  }

  #tool(definition: ToolDefinition): Tool {
    const again = isIdempotent(definition);
    return {
      definition,
      checksItself: true,
      project: TOLD,
      call: (args, context) => this.#call(definition.name, args, context, again),
    };
  }

  async #call(
    name: string,
    args: Arguments,
    context: ToolContext,
    again: boolean,
  ): Promise<ToolResult> {
    const signal = abortSignalOf(context.signal);
    const request = callOf(name, args, context);
    try {
      const answer = await this.#client.ask(request, { signal, again });
      return fromToolResponse(answerOf(this.#name, answer, "toolCall"));
    } catch (error) {
      if (signal.aborted) throw error;
      // A missing answer is an error of the protocol, not a result of the tool.
      throw new ToolFault(STANDARD.internal.code, (error as Error).message);
    }
  }

  #prompt(name: string, definition: Prompt["definition"]): Prompt {
    return {
      definition,
      get: async (args, { signal }) => {
        const value = { promptName: name, arguments: { ...args } };
        const answer = await this.#ask(
          { case: "promptGet", value },
          { signal: abortSignalOf(signal), again: true },
        );
        return fromPromptGetResponse(answerOf(this.#name, answer, "promptGet"));
      },
    };
  }

  /** Orchestra transport.stdio, Error Codes: that there was no answer is -32603, whatever it was. */
  async #ask(request: BusRequest, options: AskOptions): Promise<PluginResponse> {
    try {
      return await this.#client.ask(request, options);
    } catch (error) {
      if (options.signal?.aborted === true) throw error;
      throw new RpcError(STANDARD.internal.code, (error as Error).message);
    }
  }
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

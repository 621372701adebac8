import { STANDARD } from "../../../rpc/codes.ts";
import type { Route } from "../../../rpc/route.ts";
import { RpcError } from "../../../rpc/rpc-error.ts";
import { mayHave } from "../../../tool/policy.ts";
import type { Prompt, Completion } from "../../../tool/tool.ts";
import type { JsonObject } from "../json-object.ts";
import type { Connection } from "./connection.ts";
import type { McpDoor, McpRequest } from "./door.ts";
import { METHODS } from "../methods.ts";
import { pageOf, UNCACHED, missingSources } from "./list-result.ts";
import type { CompleteParams } from "../schema.gen.ts";
import type { McpToolContext } from "./tool-context.ts";

/** Resources, prompts and the completion of their arguments. */
export function serveLists(door: McpDoor): Route<Connection>[] {
  const { offer, routes } = door;
  const caching = { caching: UNCACHED };
  return [
    routes.serve(
      METHODS.listResources,
      async ({ params, client, call }) => {
        const { principal } = call.state;
        const all = await offer.resources.list(principal, door.profileOf(client, call.state));
        const { page, next } = pageOf(all, params.cursor);
        return { resources: page, ...next };
      },
      caching,
    ),
    routes.serve(
      METHODS.listTemplates,
      async ({ params, client, call }) => {
        const { principal } = call.state;
        const all = await offer.resources.templates(principal, door.profileOf(client, call.state));
        const { page, next } = pageOf(all, params.cursor);
        return { resourceTemplates: page, ...next };
      },
      caching,
    ),
    routes.serve(
      METHODS.readResource,
      (request) =>
        inRounds(door, request, "resources/read", async (context) => {
          const { uri } = request.params;
          const result = await offer.resources.read(uri, context);
          if (result !== undefined) return result;
          const { code } = request.client.codec.resourceNotFound;
          throw new RpcError(code, `Resource not found: ${uri}`, { uri });
        }),
      caching,
    ),
    routes.serve(
      METHODS.listPrompts,
      async ({ params, client, call }) => {
        await offer.known();
        const profile = door.profileOf(client, call.state);
        const all = mayHave(call.state.principal) ? offer.prompts.list() : [];
        const shown = all.filter((prompt) => profile?.hasPrompt(prompt) !== false);
        const { page, next } = pageOf(shown, params.cursor);
        const prompts = page.map(({ definition }) => {
          if (profile === undefined) return definition;
          return { ...definition, name: profile.promptNames.shown(definition.name) };
        });
        return { prompts, ...next, ...missingSources(offer, profile) };
      },
      caching,
    ),
    routes.serve(METHODS.getPrompt, (request) =>
      inRounds(door, request, "prompts/get", async (context) => {
        const { name, arguments: args = {} } = request.params;
        const prompt = promptFor(door, name, request);
        if (prompt === undefined) {
          throw RpcError.of(STANDARD.invalidParams, `Unknown prompt: ${name}`);
        }
        // MCP 2025-11-25, server/prompts § Error Handling: -32602 without a required argument.
        const missing = prompt.definition.arguments?.find(
          (argument) => argument.required === true && args[argument.name] === undefined,
        );
        if (missing !== undefined) {
          throw RpcError.of(
            STANDARD.invalidParams,
            `'params.arguments.${missing.name}' is missing`,
          );
        }
        return prompt.get(args, context);
      }),
    ),
    routes.serve(METHODS.complete, async (request) => {
      const completion = (await complete(door, request)) ?? {
        values: [],
        total: 0,
        hasMore: false,
      };
      // MCP 2025-11-25, server/utilities/completion § Completion Results: at most 100 values.
      return { completion: { ...completion, values: completion.values.slice(0, 100) } };
    }),
  ];
}

/** Runs work that may ask the client, in round trips where the revision has them. */
function inRounds<P extends { readonly _meta?: unknown }>(
  door: McpDoor,
  request: McpRequest<P>,
  method: string,
  work: (context: McpToolContext) => Promise<JsonObject>,
): JsonObject | Promise<JsonObject> {
  const { client, params, call } = request;
  const context = door.contextOf(request);
  if (!client.codec.has.inputRequired) return work(context);
  return door.serveInRounds({
    method,
    params,
    principal: call.state.principal.id,
    context,
    work,
  });
}

function promptFor(
  door: McpDoor,
  name: string,
  { client, call }: Pick<McpRequest<unknown>, "client" | "call">,
): Prompt | undefined {
  if (!mayHave(call.state.principal)) return undefined;
  const profile = door.profileOf(client, call.state);
  if (profile === undefined) return door.offer.prompts.get(name);
  const prompt = door.offer.prompts.get(profile.promptNames.real(name) ?? "");
  return prompt !== undefined && profile.hasPrompt(prompt) ? prompt : undefined;
}

async function complete(
  door: McpDoor,
  request: McpRequest<CompleteParams>,
): Promise<Completion | undefined> {
  const { ref, argument, context } = request.params;
  const asked = {
    ...argument,
    ...(context?.arguments === undefined ? {} : { context: context.arguments }),
  };
  if (ref.type === "ref/prompt") {
    return promptFor(door, ref.name ?? "", request)?.complete?.(asked);
  }
  const { client, call } = request;
  const profile = door.profileOf(client, call.state);
  return door.offer.resources.complete(ref.uri ?? "", asked, call.state.principal, profile);
}

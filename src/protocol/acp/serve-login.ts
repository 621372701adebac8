import { mayUseAgent, scopeRefusal } from "../../base/principal.ts";
import type { Call } from "../../rpc/peer.ts";
import type { RpcError } from "../../rpc/rpc-error.ts";
import type { Method } from "../../rpc/method.ts";
import type { Route } from "../../rpc/route.ts";
import type { Agent, AgentRequest, ProviderChoice } from "../../session/agent.ts";
import { SessionError } from "../../session/session-error.ts";
import type { SessionSetup } from "../../session/session-setup.ts";
import type { Sessions } from "../../session/sessions.ts";
import { visibleQuestion } from "../../session/visible-request.ts";
import type { AgentOffer } from "./codec.ts";
import type { AcpConnection } from "./connection.ts";
import { clientMethod, isObject, type JsonObject, METHODS, objectOf, ours } from "./methods.ts";
import type { InitializeResult, NewSessionParams, ProviderParams } from "./schema.gen.ts";
import { wrongParams } from "./session-errors.ts";

/** An agent that was started before. */
export interface KnownAgent {
  readonly name: string;
  /** Its last answer to `initialize`. */
  readonly hello: InitializeResult;
}

/** The part of the door that logins use. */
interface LoginDoor {
  readonly options: {
    readonly agent?: string | undefined;
    readonly known?: ((name: string | undefined) => KnownAgent | undefined) | undefined;
    readonly loginCommand?: readonly string[] | undefined;
  };
  sessions(): Promise<Sessions>;
  serve<P, R>(
    method: Method<P, R>,
    handle: (params: P, call: Call<AcpConnection>) => unknown,
    options?: { readonly isPatient?: boolean },
  ): Route<AcpConnection>;
}

export function offerFor(door: LoginDoor, client: AcpConnection): AgentOffer {
  const agent = door.options.known?.(client.agent ?? door.options.agent);
  const known = agent && mayUseAgent(client.principal, agent.name) ? agent : undefined;
  const { agentCapabilities = {}, authMethods = [] } = known?.hello ?? {};
  const { systemPrompt } = objectOf(agentCapabilities.sessionCapabilities);
  return {
    authMethods: methodsFor(door, client, known?.name ?? "", authMethods),
    hasProviders: isObject(agentCapabilities.providers),
    takesClientServers: objectOf(agentCapabilities.mcpCapabilities).acp === true,
    systemPrompt,
    authStatus: objectOf(agentCapabilities._meta).authStatus,
  };
}

/**
 * The ways to log in to an agent that a client can show. Their ids name the agent, and a login in a
 * terminal is started by us, with the agent's command and its environment.
 */
function methodsFor(
  door: LoginDoor,
  { introduction, codec }: AcpConnection,
  agent: string,
  methods: readonly JsonObject[],
): JsonObject[] {
  const { clientCapabilities, capabilities } = introduction;
  const announced = objectOf(codec.version === 2 ? capabilities : clientCapabilities);
  const auth = objectOf(announced.auth);
  const byCommand = objectOf(announced._meta)["terminal-auth"] === true;
  const hasTerminal = auth.terminal === true || isObject(auth.terminal) || byCommand;
  const { loginCommand } = door.options;
  return methods.flatMap((method) => {
    const { type, _meta } = method;
    const id = `${agent}:${String(method.id)}`;
    const meta = objectOf(_meta);
    if (isObject(meta.gateway) && objectOf(auth._meta).gateway !== true) return [];
    // A command of the agent is for our machine, and an editor would run it on its own.
    const { "terminal-auth": _run, ...others } = meta;
    const { env: _env, ...plain } = method;
    const metaOf = (more: JsonObject): JsonObject | undefined =>
      Object.keys(more).length === 0 ? undefined : more;
    if (type !== "terminal") return [codec.authMethod({ ...method, id, _meta: metaOf(others) })];
    if (!hasTerminal || loginCommand === undefined) return [];
    const args = ["--login", id];
    const [command, ...rest] = loginCommand;
    const how = byCommand ? { "terminal-auth": { command, args: [...rest, ...args] } } : {};
    return [codec.authMethod({ ...plain, id, args, _meta: metaOf({ ...others, ...how }) })];
  });
}

/** An error that asks for a login names the ways that the client can show. */
export function withMethods(error: unknown, door: LoginDoor, client: AcpConnection): unknown {
  if (!(error instanceof SessionError) || error.problem !== "auth-required") return error;
  const { agent, authMethods } = error.data;
  if (!Array.isArray(authMethods)) return error;
  const methods = methodsFor(door, client, String(agent), authMethods as JsonObject[]);
  return new SessionError(error.problem, error.message, { ...error.data, authMethods: methods });
}

/** A client's choices for the providers of agents, for the sessions that it opens. */
export function providersOf(
  { _meta }: NewSessionParams,
  client: AcpConnection,
): SessionSetup["providers"] {
  // Sent by the process that serves the client, where another opens the session.
  const { providers: given } = ours(_meta);
  if (given !== undefined) refuseLogin(client, "set the providers of an agent");
  return (agent) => {
    const providers = objectOf(given)[agent] ?? client.providers.get(agent);
    if (providers === undefined) return undefined;
    if (Array.isArray(providers) && providers.every(isProviderChoice)) return providers;
    throw wrongParams("'params._meta.trunkline.providers' must have a list for each agent");
  };
}

function isProviderChoice(value: unknown): value is ProviderChoice {
  const { method, params } = objectOf(value);
  return (method === "providers/set" || method === "providers/disable") && isObject(params);
}

/** Throws if a client may not log in to agents, which all sessions of this user share. */
function refuseLogin({ principal }: AcpConnection, what: string): void {
  const refusal = scopeRefusal(principal, "programs", `To ${what}`);
  if (refusal !== undefined) throw new SessionError("permission-denied", refusal);
}

function withoutLogin({ name }: Agent): RpcError {
  return wrongParams(`The agent '${name}' has no login and no providers`);
}

type LoginCall = Call<AcpConnection>;

/** Routes of logging in to agents, and of their providers. */
export function serveLogin(door: LoginDoor): Route<AcpConnection>[] {
  const find = async (name: string | undefined, client: AcpConnection): Promise<Agent> =>
    (await door.sessions()).agentFor(name ?? client.agent ?? door.options.agent, client.principal);
  const ask = async (
    agent: Agent,
    { state, id, signal }: LoginCall,
    request: Pick<AgentRequest, "method" | "params" | "providers">,
  ): Promise<unknown> => {
    const { principal, capabilities } = state;
    return await agent.request?.({
      ...request,
      owner: principal.id,
      signal,
      elicit: async (question) => {
        const canShow = question.mode === "url" ? capabilities.pages : capabilities.forms;
        if (!canShow) return { action: "cancel" };
        // ACP elicitation: one outside of a session names the request that it belongs to.
        const requestId = JSON.parse(String(id)) as unknown;
        const asked = { ...visibleQuestion(question), requestId };
        return await state.request(clientMethod("elicitation/create"), asked, signal);
      },
      notify: (method, params) => state.notify(method, params),
    });
  };
  const logIn = async (
    { methodId, _meta }: { readonly methodId: string; readonly _meta?: unknown },
    call: LoginCall,
  ): Promise<unknown> => {
    const at = methodId.indexOf(":");
    if (at < 0) {
      throw wrongParams(`'params.methodId' is '${methodId}', which names no agent: AGENT:METHOD`);
    }
    refuseLogin(call.state, "log in to an agent");
    const agent = await find(methodId.slice(0, at), call.state);
    if (agent.request === undefined) throw withoutLogin(agent);
    const params = { methodId: methodId.slice(at + 1), ...(_meta ? { _meta } : {}) };
    return (await ask(agent, call, { method: "authenticate", params })) ?? {};
  };
  const logOut = async (params: JsonObject, call: LoginCall): Promise<unknown> => {
    refuseLogin(call.state, "log out of an agent");
    const { agent } = ours(params._meta);
    const found = await find(typeof agent === "string" ? agent : undefined, call.state);
    return (await ask(found, call, { method: "logout", params: {} })) ?? {};
  };
  const setProvider =
    (method: ProviderChoice["method"]) =>
    async (params: ProviderParams, call: LoginCall): Promise<unknown> => {
      const { state } = call;
      refuseLogin(state, "set the providers of an agent");
      const agent = await find(undefined, state);
      const others = (state.providers.get(agent.name) ?? []).filter(
        (choice) => choice.params.providerId !== params.providerId,
      );
      if (agent.request === undefined) throw withoutLogin(agent);
      const providers = [...others, { method, params: { ...params } }];
      // The agent refuses what it does not support.
      await ask(agent, call, { method: "providers/list", params: {}, providers });
      state.providers.set(agent.name, providers);
      return {};
    };
  // A person who logs in may take long.
  const patient = { isPatient: true };
  return [
    door.serve(METHODS.authenticate, logIn, patient),
    door.serve(METHODS.login, logIn, patient),
    door.serve(METHODS.logout, logOut),
    door.serve(METHODS.logoutAuth, logOut),
    door.serve(METHODS.authStatus, async (_, call) => {
      refuseLogin(call.state, "ask for the login of an agent");
      const agent = await find(undefined, call.state);
      const status = await ask(agent, call, { method: "auth/status", params: {} });
      return status ?? { state: "not_required" };
    }),
    door.serve(METHODS.listProviders, async (_, call) => {
      refuseLogin(call.state, "list the providers of an agent");
      const agent = await find(undefined, call.state);
      const providers = call.state.providers.get(agent.name);
      const listed = await ask(agent, call, { method: "providers/list", params: {}, providers });
      return listed ?? { providers: [] };
    }),
    door.serve(METHODS.setProvider, setProvider("providers/set")),
    door.serve(METHODS.disableProvider, setProvider("providers/disable")),
  ];
}

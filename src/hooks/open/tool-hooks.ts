import { abortSignalOf } from "../../base/abort.ts";
import { homedir } from "node:os";

import { loginPath } from "../../agent/command-environment.ts";
import { Lazy } from "../../base/lazy.ts";
import { absolutePath } from "../../base/process/environment.ts";
import type { AppContext } from "../../config/app-context.ts";
import type { CallHooks, HookedArguments, HooksOfCall } from "../../tool/call-hooks.ts";
import { argumentProblem } from "../../tool/schema/plain-schema.ts";
import {
  type Arguments,
  errorResult,
  projectFolder,
  type Tool,
  type ToolContext,
  type ToolResult,
} from "../../tool/tool.ts";
import { serverReferences } from "../../upstream/open/server-references.ts";
import { resolveTexts } from "../../upstream/references.ts";
import type { HookEvent, HookSettings } from "../hook.ts";
import { hooksFor, type HookVerdict } from "../hooks.ts";
import { recordRun } from "./open-hooks.ts";

/** The server name that hooks see for our own tools. */
const OURS = "trunkline";

const NO_REASON = "it gave no reason";

export type ToolHooks = CallHooks & AsyncDisposable;

/** The hooks of a gateway: what its owner runs before and after every call of a tool. */
export function toolHooksFor(
  app: AppContext,
  settings: HookSettings,
  audit: { record(entry: object): void } | undefined,
  env: NodeJS.ProcessEnv = process.env,
): ToolHooks {
  const path = new Lazy(async () => absolutePath(await loginPath(env)));
  const references = serverReferences(app, env);
  const hooks = hooksFor({
    sessionId: "",
    // Not the caller's folder, since hooks belong to the owner.
    cwd: homedir(),
    settings: { gateway: settings },
    env: async () => ({ ...env, PATH: await path.get() }),
    resolve: (headers, to) => resolveTexts("toolHooks.headers", headers, references, to),
    record: (run, { by, input }) => {
      const { session_id: session, cwd: workspace } = input as Record<string, string>;
      if (audit !== undefined)
        recordRun(audit, run, { session, workspace, by: by === "" ? undefined : by });
    },
  });
  for (const why of hooks.problems) app.report("hook.problem", { why });

  const hooksOf = (tool: Tool, context: ToolContext): HooksOfCall | undefined => {
    const { definition, source, bringer = OURS } = tool;
    const called = source?.name ?? definition.name;
    const names = [`mcp__${source?.server ?? bringer}__${called}`, definition.name];
    const hasAny = hooks.has("PreToolUse", names) || hooks.has("PostToolUse", names);
    // A hook that cannot be read may be a guard of this tool.
    const [problem] = hooks.problems;
    if (!hasAny && problem === undefined) return undefined;
    const { caller, session, hooksRan = new Set() } = context;
    const signal = abortSignalOf(context.signal);
    const run = async (event: HookEvent, more: object): Promise<HookVerdict> => {
      const input = {
        session_id: session ?? caller.client,
        cwd: projectFolder(context) ?? homedir(),
        permission_mode: "default",
        tool_name: names[0],
        ...more,
      };
      const by = caller.principal.id;
      const verdict = await hooks.run({ event, names, input, signal, by, ran: hooksRan });
      for (const says of verdict.messages) app.report("hook.says", { tool: names[0], says });
      return verdict;
    };
    const told: string[] = [];
    const id = crypto.randomUUID();
    return {
      before: async (args) => {
        if (problem !== undefined) return { refusal: `No call is made: ${problem}` };
        const verdict = await run("PreToolUse", { tool_input: args, tool_use_id: id });
        told.push(...verdict.context.map(({ text }) => text));
        return argumentsBy(verdict);
      },
      after: async (args, result) => {
        // A call that was begun before a restart comes here at once.
        if (problem !== undefined) return errorResult(`Its result is withheld: ${problem}`);
        const { content, structuredContent, isError = false, _meta } = result;
        const response = { content, structuredContent, isError, _meta };
        const input = { tool_input: args, tool_response: response, tool_use_id: id };
        const verdict = await run("PostToolUse", input);
        told.push(...verdict.context.map(({ text }) => text));
        return withWords(await resultBy(verdict, result, definition), told);
      },
    };
  };
  return { for: hooksOf, [Symbol.asyncDispose]: () => hooks[Symbol.asyncDispose]() };
}

function argumentsBy({ decision, stop, reason = NO_REASON, input }: HookVerdict): HookedArguments {
  if (stop !== undefined) return { refusal: `A hook of the gateway stops it: ${stop}` };
  if (decision === "deny") return { refusal: `A hook of the gateway does not allow it: ${reason}` };
  return { args: input, asks: decision === "ask" ? reason : undefined };
}

/** The result after the hooks. It is withheld if they refuse it, or if it no longer fits its schema. */
async function resultBy(
  { decision, stop, reason = NO_REASON, output }: HookVerdict,
  result: ToolResult,
  { outputSchema }: Tool["definition"],
): Promise<ToolResult> {
  if (decision !== undefined || stop !== undefined) {
    const why = stop ?? reason;
    return errorResult(`The call was made, but a hook of the gateway withholds its result: ${why}`);
  }
  if (output === undefined) return result;
  const { structuredContent: _, isError: __, ...rest } = result;
  const changed: ToolResult = { ...rest, ...output };
  if (outputSchema === undefined || changed.isError === true) return changed;
  const problem = await structureProblem(outputSchema, changed.structuredContent);
  if (problem === undefined) return changed;
  return errorResult(
    "The call was made, but a hook of the gateway has changed its result so that it does not fit the " +
      `tool's output schema: ${problem}`,
  );
}

async function structureProblem(
  inputSchema: Tool["definition"]["inputSchema"],
  structure: unknown,
): Promise<string | undefined> {
  if (typeof structure !== "object" || structure === null) return "it has no structured content";
  const definition = { name: "", inputSchema };
  return argumentProblem({ definition }, structure as Arguments);
}

/** A result with what hooks have to say to the model. */
function withWords(result: ToolResult, told: readonly string[]): ToolResult {
  if (told.length === 0) return result;
  const text = `(A hook of the gateway says:)\n${told.join("\n\n")}`;
  return { ...result, content: [...result.content, { type: "text", text }] };
}

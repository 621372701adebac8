import { atMost } from "../../../base/abort.ts";
import { defined } from "../../../base/defined.ts";
import { TrunklineError } from "../../../base/errors.ts";
import { mayControl, mayUseAll, OWNER, type Principal } from "../../../base/principal.ts";
import { maskText } from "../../../base/text/mask.ts";
import { unifiedDiff } from "../../../base/text/unified-diff.ts";
import type { Described, Seen } from "../../../store/schema.gen.ts";
import { INSTRUCTIONS_NAME } from "../../../tool/offer/server-instructions.ts";
import { type Decision, Policy, type PolicyRule } from "../../../tool/policy.ts";
import type { Tool } from "../../../tool/tool.ts";
import { toolPolicy } from "../../../config/tool-policy.ts";
import { loadConfig } from "../../../config/load.ts";
import { editConfig } from "../../../config/edit/edit-config.ts";
import { valueAt } from "../../../config/layer.ts";
import type { Profile } from "../../../tool/profile/profile.ts";
import { heldBecause } from "../../../tool/tool-registry.ts";
import type { ApprovalRow, ToolDefinition, ToolRow } from "../api.ts";
import { type LiveSource, PolledRows } from "../live/polled-rows.ts";
import {
  type ApiCall,
  type ApiRoute,
  bodyAs,
  numberIn,
  route,
  textIn,
} from "../../../base/capability/api-route.ts";
import { checkPolicyBody } from "../schema.gen.ts";
import type { DashboardSources } from "../sources.ts";
import type { CallStatistics } from "./call-statistics.ts";

const RULES = ["policy", "tools", "rules"];
/** Milliseconds that a list of tools waits for servers that have to be started. */
const START_MS = 2_000;
/** Minutes of calls that live events tell of. */
const LIVE = 60;

/** The toolbox: tools with their policy, tools that are held, and how they were called. */
export function toolRoutes(sources: DashboardSources, calls: CallStatistics) {
  const live: readonly LiveSource[] = [
    new PolledRows({
      event: "approval",
      every: 1_000,
      read: async () => approvals(),
      idOf: ({ id }) => id,
    }),
    new PolledRows({
      event: "calls",
      every: 2_000,
      read: () => calls.read(LIVE),
      idOf: ({ tool }) => tool,
    }),
  ];
  const routes: readonly ApiRoute[] = [
    route("GET /api/tools", "nothing", async ({ principal }) => {
      // As over MCP, servers that were not started yet are asked for their tools; the page shows the rest.
      await atMost(START_MS, Promise.resolve(sources.tools.offer.known(principal)));
      const seen = seenBy(principal);
      return { tools: seen.map(({ tool, held }) => row(tool, held !== undefined)) };
    }),
    route("GET /api/tools/:id/definition", "nothing", async ({ principal, id }) =>
      definition(principal, id),
    ),
    route("GET /api/approvals", "admin", async () => ({ approvals: approvals() })),
    route("GET /api/calls", "admin", async ({ query }) => {
      const minutes = numberIn(query, "minutes", { least: 1, most: 24 * 60, usual: LIVE });
      return { calls: await calls.read(minutes) };
    }),
    route("POST /api/tools/policy", "admin", ({ body }) => decide(body)),
    route("POST /api/approvals/approve", "admin", ({ body }) => approve(textIn(body, "id"))),
  ];

  /** Tools and instructions of other servers that a person has to look at. */
  function approvals(): ApprovalRow[] {
    const { offer, approvals: kept } = sources.tools;
    const tools = offer.tools.held().map(({ tool, source, why, like }) => {
      return { ...source, why, like, definition: tool.definition };
    });
    const instructions = offer.instructions.held().map((server) => {
      const name = INSTRUCTIONS_NAME;
      const why = kept?.why(server, name) ?? "new";
      return { server, name, why, like: undefined, definition: { name } };
    });
    return [...tools, ...instructions].map(({ server, name, why, like, definition }) => {
      const now = kept?.last(server, name);
      const before = why === "changed" ? kept?.diff(server, name)?.before : undefined;
      const print = now?.fingerprint.slice(0, 16) ?? definition.name;
      return defined<ApprovalRow>({
        ...{ id: `${server}/${name}@${print}`, server, name, why, like },
        at: Date.parse(now?.time ?? "") || 0,
        diff: unifiedDiff(name, textOf(before), textOf(now) ?? JSON.stringify(definition, null, 2)),
      });
    });
  }

  /** The bearer of a token sees the same tools here as over MCP. */
  function profileFor(principal: Principal): Profile | undefined {
    if (principal.id === OWNER.id) return undefined;
    return sources.tools.offer.profileFor({ door: "http", client: PERSON.name, principal });
  }

  /** The tools that a principal sees, with why one cannot be called. */
  function seenBy(principal: Principal): { readonly tool: Tool; readonly held?: string }[] {
    const { tools } = sources.tools.offer;
    const profile = profileFor(principal);
    const listed = tools.list(principal).filter((tool) => profile?.hasTool(tool) !== false);
    const held = mayUseAll(principal) ? tools.held() : [];
    return [
      ...listed.map((tool) => ({ tool })),
      ...held.map((each) => ({ tool: each.tool, held: heldBecause(each) })),
    ];
  }

  function definition(principal: Principal, name: string): ToolDefinition {
    const seen = seenBy(principal).find(({ tool }) => tool.definition.name === name);
    if (seen === undefined) throw unknownTool(name);
    const { inputSchema, outputSchema } = seen.tool.definition;
    const observes = mayControl(principal) ? undefined : "This token may look, and call nothing.";
    const refusal = observes ?? seen.held;
    return defined<ToolDefinition>({ name, inputSchema, outputSchema, refusal });
  }

  function row({ definition, source, bringer, purpose }: Tool, isHeld: boolean): ToolRow {
    const { name, title, description, annotations } = definition;
    const { policy } = sources.tools.offer.tools;
    const question = {
      tool: name,
      server: source?.server,
      caller: PERSON,
      args: {},
      project: { folders: [] },
    };
    const rule = policy.says(question);
    const { readOnlyHint } = (annotations ?? {}) as { readOnlyHint?: unknown };
    const server = source?.server ?? bringer;
    return defined<ToolRow>({
      ...{ name, server, purpose, isHeld: isHeld || undefined },
      title: typeof title === "string" ? title : undefined,
      description: typeof description === "string" ? maskText(description) : undefined,
      policy: policy.decide(question) as Decision,
      rule: rule && "policy.tools.rules",
      isReadOnly: readOnlyHint === true || undefined,
    });
  }

  /** Puts a rule for one tool before all others: into the user's file, and into force here. */
  async function decide(body: ApiCall["body"]): Promise<ToolRow> {
    const { tool: name, decision } = bodyAs(body, checkPolicyBody);
    const { tools, input } = sources;
    const box = tools.offer.tools;
    const known = [...box.list(OWNER), ...box.held().map(({ tool }) => tool)];
    const tool = known.find(({ definition }) => definition.name === name);
    if (tool === undefined) throw unknownTool(name);
    await editConfig(input, "user", (now) => {
      const rules = (valueAt(now, RULES) ?? []) as readonly PolicyRule[];
      // From the end, so that removing one does not move the others.
      const former = [...rules.keys()].filter((at) => isOnlyFor(rules[at], name)).toReversed();
      return [
        ...former.map((at) => ({ path: [...RULES, at], value: undefined })),
        { path: RULES, value: { tool: name, decision }, isFirst: true },
      ];
    });
    const { config } = await loadConfig(input);
    box.policy = new Policy(toolPolicy(config));
    return row(tool, false);
  }

  async function approve(id: string): Promise<{ ok: true }> {
    const found = approvals().find((row) => row.id === id);
    if (found === undefined) {
      const says = "This tool is not held any more, or has changed since it was shown. Look again.";
      throw new TrunklineError("conflict", says);
    }
    await sources.tools.approvals?.approve(found.server, found.name);
    return { ok: true };
  }

  return { live, routes, approvals, profileFor };
}

/** The caller for whom the policy is shown. */
const PERSON = { name: "dashboard", door: "dashboard", client: "dashboard", principal: OWNER };

function unknownTool(name: string): TrunklineError {
  return new TrunklineError("not-found", `There is no tool '${name.slice(0, 200)}'.`);
}

/** Whether a rule is about one tool and nothing else. */
function isOnlyFor(rule: PolicyRule | undefined, name: string): boolean {
  return rule?.tool === name && Object.keys(rule).length === 2;
}

function textOf(seen: Seen | undefined): string | undefined {
  if (seen === undefined) return undefined;
  const described: Partial<Described> = seen.described ?? {};
  return `${JSON.stringify(described, null, 2)}\n`;
}

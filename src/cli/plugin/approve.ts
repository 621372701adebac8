import { TrunklineError } from "../../base/errors.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { type AskedManifest, declaredPermissions } from "../../plugin/installed-plugin.ts";
import { type PluginPermissions, portsOf } from "../../plugin/plugin/permission-flags.ts";
import type { InForce } from "../../gateway/session/local-in-force.ts";
import type { Invocation, Values } from "../shell/command.ts";
import { confirm } from "../shell/ask.ts";

type Approving = Pick<
  Invocation<Values & { readonly approve?: boolean; readonly id?: string }>,
  "values" | "err"
>;

/** What a person has approved, as it is written to the configuration. */
export interface Approved {
  /** Undefined where it declares none: then it runs with all rights of its user. */
  readonly permissions?: PluginPermissions;
  /** The tools of others that it may call, where `permissions` do not have them. */
  readonly approvedTools?: readonly string[];
}

/**
 * Has a person approve what a plugin asks for: what it may do on this machine, if it declares that, and
 * in any case the tools of others that it may call.
 */
export async function approve(
  { values, err }: Approving,
  manifest: AskedManifest,
  limits: () => Promise<InForce>,
): Promise<Approved> {
  const { id } = manifest;
  const permissions = declaredPermissions(manifest);
  const approvedTools = manifest.needs_tools ?? [];
  if (permissions === undefined) {
    const why = values.id === undefined ? "declares no" : "was not asked, because of --id, for its";
    const calls = values.id === undefined ? "" : ", but may call no tools of others";
    err(`note: '${visibleLine(id)}' ${why} permissions: it runs with all of yours${calls}.\n`);
  } else {
    const { state, says, next = "" } = await limits();
    if (state !== "ok") err(`note: sandbox of plugins: ${says} ${next}\n`);
  }
  const wants = wantsOf(permissions ?? { tools: approvedTools });
  if (wants.length > 0 && values.approve !== true) {
    const asks = `'${visibleLine(id)}' asks for:\n${wants.map((want) => `  ${visibleLine(want)}`).join("\n")}`;
    const isAgreed = process.stdin.isTTY && (await confirm(`${asks}\nAllow it?`));
    if (!isAgreed) {
      const next = process.stdin.isTTY ? "" : " Look at it, and add --approve if you agree.";
      throw new TrunklineError("untrusted", `${asks}\nIt was not approved.${next}`);
    }
  }
  return permissions === undefined ? { approvedTools } : { permissions };
}

function wantsOf(permissions: PluginPermissions): string[] {
  const { tools = [], read = [], write = [], run = false, hosts = [] } = permissions;
  // Throws where one cannot be limited to.
  portsOf(hosts);
  return [
    ...tools.map((tool) => `call ${tool === "*" ? "every tool" : `the tool '${tool}'`}`),
    ...read.map((path) => `read ${path}`),
    ...write.map((path) => `read and write ${path}`),
    ...hosts.map((host) => `reach ${host === "*" ? "every host but this machine" : host}`),
    ...(run ? ["start programs, of which only the hosts are limited"] : []),
  ];
}

import type { OfferOptions } from "../base/capability/capability.ts";
import type { IdentityCommands } from "./identity-commands.ts";
import { JUGGLER_TOOLS, type JugglerToolName } from "./tools/definitions.ts";
import type { ToolCommands } from "./tools/switch-tools.ts";
import type { Offer } from "../tool/offer/offer.ts";
import type { ProjectNeed, ProjectUse, Arguments, ToolContext, ToolResult } from "../tool/tool.ts";

/** What the tools use of the running program. */
export interface IdentitiesApp {
  /** The identities as the configuration of a folder has them now. */
  identities(folder: string, env: NodeJS.ProcessEnv): Promise<IdentityCommands>;
}

/** Milliseconds for a whole call; each connection that it makes has a shorter limit of its own. */
const TIMEOUT = 60_000;

/** Without a name, the identity is that of the repository. */
const unlessNamed = ({ identity }: Arguments): ProjectNeed => {
  return identity === undefined ? "needed" : "unused";
};

const argument = "repoPath";
const instead = "name the identity in 'identity'";

/** The tools that work on a repository; the others are about identities alone. */
export const PROJECT_USES: Readonly<Partial<Record<JugglerToolName, ProjectUse>>> = {
  juggler_detect_identity: { argument },
  juggler_switch: { argument },
  juggler_status: { argument },
  juggler_gpg_status: { argument, need: unlessNamed, instead },
  juggler_token_verify: { need: unlessNamed, instead },
};

/**
 * RemoteJuggler's tools. A start loads their definitions only; the code is loaded with the first
 * call.
 */
export function offerIdentities(
  app: IdentitiesApp,
  offer: Offer,
  options: OfferOptions = {},
): undefined {
  for (const definition of JUGGLER_TOOLS) {
    const { name } = definition;
    const project = PROJECT_USES[name];
    offer.tools.add({
      definition,
      purpose: "Git identities",
      timeout: TIMEOUT,
      ...(project === undefined ? {} : { project }),
      call: (args, context) => call(name, args, context, app, options),
    });
  }
}

async function call(
  name: JugglerToolName,
  args: Arguments,
  context: ToolContext,
  app: IdentitiesApp,
  options: OfferOptions,
): Promise<ToolResult> {
  const { callJugglerTool } = await import("./tools/call-tool.ts");
  const { project } = context;
  const { folder: own = process.cwd(), env = process.env } = options;
  const folder = project?.folder ?? context.folder ?? own;
  await using opened = new AsyncDisposableStack();
  const open = async (): Promise<ToolCommands> => {
    const commands = opened.use(await app.identities(folder, env));
    await commands.identities.recover();
    return Object.assign(commands, { reload: open });
  };
  return await callJugglerTool(name, args, project?.folder, open);
}

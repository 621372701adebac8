import { JUGGLER_TOOLS, type JugglerToolName } from "../tools/definitions.ts";
import type { ToolCommands } from "../tools/switch-tools.ts";
import type { Offer } from "../../tool/offer/offer.ts";
import type { ProjectNeed, ProjectUse } from "../../tool/project.ts";
import type { Arguments, ToolContext, ToolResult } from "../../tool/tool.ts";
import type { House } from "../../config/house.ts";

export interface IdentitiesOfferOptions {
  /** Whose configuration counts for a call that is about no project. */
  readonly folder?: string | undefined;
  readonly env?: NodeJS.ProcessEnv;
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
  house: House,
  offer: Offer,
  options: IdentitiesOfferOptions = {},
): void {
  for (const definition of JUGGLER_TOOLS) {
    const { name } = definition;
    const project = PROJECT_USES[name];
    offer.tools.add({
      definition,
      limits: { timeout: TIMEOUT },
      ...(project === undefined ? {} : { project }),
      call: (args, context) => call(name, args, context, house, options),
    });
  }
}

async function call(
  name: JugglerToolName,
  args: Arguments,
  context: ToolContext,
  house: House,
  options: IdentitiesOfferOptions,
): Promise<ToolResult> {
  const [{ callJugglerTool }, { currentIdentities }] = await Promise.all([
    import("../tools/call-tool.ts"),
    import("./open-identities.ts"),
  ]);
  const { project } = context;
  const { folder: own = process.cwd(), env = process.env } = options;
  const folder = project?.folder ?? context.folder ?? own;
  await using opened = new AsyncDisposableStack();
  const open = async (): Promise<ToolCommands> => {
    const commands = opened.use(await currentIdentities(house, folder, env));
    await commands.identities.recover();
    return Object.assign(commands, { reload: open });
  };
  return await callJugglerTool(name, args, project?.folder, open);
}

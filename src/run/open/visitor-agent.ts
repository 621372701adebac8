import { mkdir } from "node:fs/promises";

import type { Config } from "../../config/config.ts";
import type { Agent } from "../../session/agent.ts";
import type { Visitor } from "../../session/workplace.ts";
import { folderOf, homeOfVisitor } from "../../worktree/worktrees.ts";
import { type InnerAgent, reachableServers } from "../run-agent.ts";
import { limitsFor } from "../run-limits.ts";
import type { AgentPlace } from "./confined-agent.ts";

/** The agent of a session that has moved here, in a sandbox of its own like those of remote runs. */
export function visitorAgent(
  { data, remote }: Config,
  name: string,
  { visitor, tree }: Visitor,
  openInner: (place: AgentPlace) => Promise<InnerAgent>,
): Agent {
  const home = homeOfVisitor(data, visitor);
  const place = {
    ...{ name: visitor, folder: folderOf(data, visitor), tree, home, url: "" },
    // Its files are those of our own user: our git looks at them, too.
    ...{ objects: [], limits: limitsFor(remote.limits, ""), variables: {}, owner: undefined },
  };
  return {
    name,
    open: async (options) => {
      await mkdir(home, { recursive: true, mode: 0o700 });
      await using opening = new AsyncDisposableStack();
      const inner = await openInner(place);
      opening.defer(async () => inner[Symbol.asyncDispose]?.());
      const mcpServers = reachableServers(options);
      const session = await inner.open({ ...options, additionalDirectories: [], mcpServers });
      const end = session[Symbol.asyncDispose].bind(session);
      opening.defer(end);
      const ends = opening.move();
      return Object.assign(session, { [Symbol.asyncDispose]: () => ends.disposeAsync() });
    },
  };
}

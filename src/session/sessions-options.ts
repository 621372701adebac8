import type { Agent } from "./agent.ts";
import type { ForeignOptions } from "./foreign/foreign-sessions.ts";
import type { SharedOptions } from "./session.ts";
import type { Workplaces } from "./workplace.ts";

export interface SessionsOptions extends SharedOptions {
  /**
   * Finds an agent by name, or the default agent. `run` is the one of the session's setup.
   */
  readonly agent: (name: string | undefined, run: unknown) => Agent | Promise<Agent>;
  /** Which agents have sessions of their own, and who may use those. */
  readonly foreign?: Pick<ForeignOptions, "names" | "allows">;
  /** Creates the work trees of sessions that have one. */
  readonly workplaces?: Workplaces;
  /**
   * Removes what other parts store of a session that is deleted. Returns the branch on which its work is
   * kept, if there is one.
   */
  readonly forget?: (id: string, run: unknown) => Promise<string | undefined>;
}

import { join } from "node:path";

import { glob } from "../base/text/glob.ts";
import { visibleLine } from "../base/text/visible.ts";
import type { AgentCommitRule } from "../config/schema/schema.gen.ts";
import { type Author, coAuthorLine } from "../git/git.ts";
import { isRuleFor, type DetectionPlace } from "./detect/detect.ts";
import { authorOf, expandHome, type Identity } from "./identity.ts";

// As the configuration has it: `capability.ts` declares it.
export type { AgentCommitRule };

/** Who commits: an identity with its keys, and whom its commits name. */
export interface CommitPersona {
  readonly identity: Identity;
  readonly author: Author;
  readonly committer: Author;
}

/** The rule for an agent in a repository: the first that fits both. */
export function ruleFor(
  rules: readonly AgentCommitRule[],
  agent: string,
  place: DetectionPlace,
  env: NodeJS.ProcessEnv,
): AgentCommitRule | undefined {
  return rules.find((rule) => glob(rule.agent ?? "*")(agent) && isRuleFor(rule, place, env));
}

/** Who commits as an identity, under a rule. */
export function personaOf(
  identity: Identity,
  rule: Partial<AgentCommitRule> = {},
  env: NodeJS.ProcessEnv = {},
): CommitPersona {
  const own = authorOf(identity);
  const { author = own, committer = own, signingKey } = rule;
  if (signingKey === undefined) return { identity, author, committer };
  const isFile = /^(?:~?\/|ssh-|key::)/.test(signingKey);
  const { signing = { format: isFile ? "ssh" : "openpgp" } } = identity;
  const key = isFile ? expandHome(signingKey, env) : signingKey;
  return { identity: { ...identity, signing: { ...signing, key } }, author, committer };
}

/** Where the hooks are that only processes of agents have. */
export function agentHooks(data: string): string {
  return join(data, "identity", "hooks");
}

/** The variable with the session that a command belongs to. */
export const SESSION_VARIABLE = "TRUNKLINE_SESSION";

/** The lines at the end of each message, as git writes them; `{session}` is not filled in yet. */
export function trailersOf(rule: AgentCommitRule | undefined, agent: string): readonly string[] {
  const { trailers = [], coAuthor } = rule ?? {};
  return [
    ...trailers.map((line) => line.replaceAll("{agent}", visibleLine(agent))),
    ...(coAuthor === undefined ? [] : [coAuthorLine(coAuthor)]),
  ];
}

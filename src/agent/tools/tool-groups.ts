import { type AgentTool, inputOf } from "./agent-tool.ts";

export const MORE_TOOLS = "more_tools";
export const REVIEWS = "reviews";
export const WEB = "web";
export const SUBAGENTS = "subagents";
export const MEMORY = "memory";

/** Characters of definitions of MCP servers' tools that are offered without being asked for. */
const FREE_ROOM = 16_000;

/** The groups of built-in tools, with the words of a prompt that need them. */
const OWN_GROUPS = [
  {
    name: WEB,
    about: "get a page of the web",
    tools: /^web_fetch$/,
    words:
      /https?:|\bwww\.|\b(?:web|websites?|urls?|online|internet|docs|documentation|changelog|release notes|download|fetch|look ?up)\b/i,
  },
  {
    name: SUBAGENTS,
    about: "have a subagent explore or do a part of large work, with a context of its own",
    tools: /^task$/,
    words:
      /\b(?:sub-?agents?|delegate|parallel|explore|investigate|research|audit|everywhere|(?:whole|entire) (?:project|repo\w*|code ?base))\b/i,
  },
  {
    name: MEMORY,
    about: "note what the person asks you to remember, for later sessions",
    tools: /^remember$/,
    words:
      /\b(?:remember|memor(?:y|i[sz]e)|don't forget|keep in mind|from now on|in (?:the )?future|next time)\b/i,
  },
  {
    name: REVIEWS,
    about: "comments that people wrote on lines of this code: list, claim, answer, propose",
    tools: /^(?:review_|check_lazygit_messages$)/,
    words: /\b(?:review\w*|comments?|commented|suggestions?|feedback|lazygit)\b/i,
  },
  {
    name: "identities",
    about: "who commits and pushes: git identities, SSH keys, signing, tokens of forges",
    tools: /^juggler_/,
    words:
      /\b(?:juggler\w*|identit(?:y|ies)|credentials?|ssh|gpg|signing|(?:git|forge) (?:author|account|token)s?)\b/i,
  },
];

/** The group of a tool of the toolbox: its server, or the part of Trunkline that it belongs to. */
export function groupOf(name: string, server: string | undefined): string | undefined {
  return server ?? OWN_GROUPS.find(({ tools }) => tools.test(name))?.name;
}

/**
 * The groups of tools of one session. A model pays for every tool with each request, so a group is
 * offered when the work calls for it, and stays from then on.
 */
export class ToolGroups {
  readonly #open = new Set<string>();
  /** Groups that `more_tools` has named. It names them for good, so that it stays the same. */
  readonly #named = new Map<string, string>();

  isOffered({ group }: AgentTool): boolean {
    return group === undefined || this.#open.has(group);
  }

  open(group: string): void {
    this.#open.add(group);
  }

  /**
   * Opens the groups that a prompt needs, and those of servers as far as there is room: whoever brings
   * a server wants its tools. Adds the tool that opens the others.
   */
  prepare(tools: Map<string, AgentTool>, prompt: string): void {
    const groups = Map.groupBy(tools.values(), ({ group }) => group);
    groups.delete(undefined);
    let room = FREE_ROOM;
    for (const [group, members] of groups as Map<string, AgentTool[]>) {
      const own = OWN_GROUPS.find(({ name }) => name === group);
      const size = sizeOf(members);
      const isNamed = own === undefined ? names(prompt, group, members) : own.words.test(prompt);
      const isFree = own === undefined && size <= room;
      if (isNamed || isFree) this.open(group);
      if (own === undefined && this.#open.has(group)) room -= size;
    }
    for (const [name, members] of groups as Map<string, AgentTool[]>) {
      if (this.#open.has(name) || this.#named.has(name)) continue;
      this.#named.set(name, about(name, members));
    }
    if (this.#named.size > 0) {
      const members = groups as ReadonlyMap<string, readonly AgentTool[]>;
      tools.set(MORE_TOOLS, moreTools(this.#named, members, this));
    }
  }
}

/** What a model's provider is sent of tools, in characters. */
export function sizeOf(tools: readonly AgentTool[]): number {
  return tools.reduce((sum, { name, description, inputSchema }) => {
    return sum + JSON.stringify({ name, description, inputSchema }).length;
  }, 0);
}

function names(prompt: string, server: string, members: readonly AgentTool[]): boolean {
  const said = new Set(prompt.toLowerCase().split(/[^\w-]+/));
  return [server, ...members.map(({ name }) => name)].some((name) => said.has(name.toLowerCase()));
}

function moreTools(
  named: ReadonlyMap<string, string>,
  members: ReadonlyMap<string, readonly AgentTool[]>,
  groups: ToolGroups,
): AgentTool {
  const list = [...named].map(([name, what]) => `${name} (${what})`);
  return {
    name: MORE_TOOLS,
    description: `Adds groups of tools, which you have from your next answer on: ${list.join("; ")}.`,
    inputSchema: inputOf(
      { groups: { type: "array", minItems: 1, items: { enum: [...named.keys()] } } },
      ["groups"],
    ),
    kind: "think",
    need: "nothing",
    title: (args) => `Get tools: ${String(args.groups)}`,
    async call(args) {
      const wanted = [...new Set((args as { groups: readonly string[] }).groups)];
      for (const group of wanted) groups.open(group);
      const added = wanted.flatMap((group) => members.get(group) ?? []).map(({ name }) => name);
      return { text: `You have these tools now: ${added.join(", ")}.` };
    },
  };
}

const MOST_NAMES = 8;

function about(group: string, members: readonly AgentTool[]): string {
  const own = OWN_GROUPS.find(({ name }) => name === group);
  if (own !== undefined) return own.about;
  const some = members.slice(0, MOST_NAMES).map(({ name }) => name);
  const rest = members.length > MOST_NAMES ? ` and ${members.length - MOST_NAMES} more` : "";
  return `server: ${some.join(", ")}${rest}`;
}

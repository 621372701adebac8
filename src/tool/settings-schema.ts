import * as s from "../base/capability/settings.ts";

const DECISIONS = ["allow", "ask", "deny"];

const toolRule = s.shape(
  "ToolRule",
  "A rule for the calls that it matches.",
  {
    tool: s.text("Name of the tool; `*` stands for any text."),
    server: s.text("Name of the tool's MCP server in `mcpServers`; `*` stands for any text."),
    caller: s.text(
      "Caller: the name that a program gives itself, or its door; `*` stands for any text.",
    ),
    project: s.path(
      "Folder of the project that the call is about, or one above it; links are followed.",
    ),
    arguments: s.byName(
      s.ANY_TEXT,
      "Patterns for arguments, by name; `*` stands for any text. A value that is not text is " +
        "compared as JSON, a missing one as empty text.",
    ),
    decision: s.choice(DECISIONS, "Whether the call is allowed."),
  },
  { required: ["tool", "decision"] },
);

/** Which things of a kind a client sees. */
function shown(all: string, what: string): s.Settings {
  return {
    allow: s.list(s.NAME, `${all} that are offered; \`*\` stands for any text. Default: all.`),
    deny: s.list(s.NAME, `${what} that are not offered, also where \`allow\` fits them.`),
  };
}

const rename = s.byName(
  { type: "string", pattern: "^[A-Za-z0-9_.-]{1,128}$" },
  "New names, by the present ones. What else has the new name already is not offered then.",
);

const change = s.byName(
  s.shape("ToolChange", "A tool as clients with this profile get it.", {
    title: s.text("Its title."),
    description: s.text("Its description."),
    arguments: s.byName(
      s.shape("ArgumentChange", "An argument as clients with this profile get it.", {
        description: s.text("Its description."),
        default: { description: "What is sent where the caller gives none." },
        fixed: { description: "What is always sent. Callers neither see it nor give it." },
        hidden: s.flag("Whether callers neither see it nor give it."),
      }),
      "Changes of its arguments, by name. What is hidden or fixed is not in the schema, and a call " +
        "that gives it is refused.",
    ),
    result: s.group({
      keep: s.list(
        s.NAME,
        "What of a JSON result is passed on: paths such as `items.title`, through lists, too; `*` " +
          "stands for any name. Default: all.",
      ),
      drop: s.list(s.NAME, "What of it is not, also where `keep` has it."),
      items: s.integer("How many items of each list are passed on; the rest can be read.", {
        minimum: 1,
      }),
      most: s.integer(
        "Bytes that are passed on at once. What is larger is summed up, and kept as a resource " +
          "that its caller can read for an hour.",
        { minimum: 500 },
      ),
    }),
  }),
  "Tools as these clients get them, by name or as `SERVER/NAME`.",
);

/** Who may see and call which tool. */
export const policy = {
  name: "policy",
  settings: {
    policy: s.group({
      tools: s.shape("ToolPolicy", "Who may call which tool.", {
        default: s.choice(DECISIONS, "Decision for calls that no rule matches.", {
          default: "allow",
        }),
        rules: s.list(toolRule, "The first rule that matches a call decides.", { default: [] }),
        approve: s.choice(
          ["first-use", "always"],
          "When you have to approve a tool of another server: when it has changed since it was " +
            "first seen (`first-use`), or also when it is new (`always`).",
          { default: "first-use" },
        ),
      }),
    }),
    profiles: s.byName(
      s.shape(
        "ProfileSettings",
        "What a client sees of the tools, prompts and resources, and what it may call.",
        {
          for: s.group({
            clients: s.list(
              s.NAME,
              "Names that programs give themselves, such as `claude-code`; `*` stands for any text. " +
                "A program can choose any name.",
            ),
            tokens: s.list(s.NAME, "Names of access tokens; `*` stands for any text."),
            doors: s.list(
              { enum: ["mcp", "http", "acp", "agent"] },
              "Ways in: `mcp` is `trunkline mcp`, `http` is MCP over HTTP, `acp` RemoteJuggler's " +
                "actions of `trunkline acp`, `agent` the built-in agent.",
            ),
            projects: s.list(
              s.FILE,
              "Folders that `trunkline mcp` was started in or a session works in, or folders above " +
                "those; over HTTP there is none. A relative path counts from this file's folder.",
            ),
          }),
          servers: s.group(
            shown(
              "MCP servers and plugins, by name, and `trunkline` for its own tools,",
              "Servers",
            ),
          ),
          tools: s.group({
            ...shown("Tools, by name or as `SERVER/NAME`,", "Tools"),
            rename,
            change,
          }),
          prompts: s.group({
            ...shown("Prompts, by name or as `SERVER/NAME`,", "Prompts"),
            rename,
          }),
          resources: s.group(shown("Resources, by URI,", "Resources")),
          policy: s.group({
            default: s.choice(DECISIONS, "Decision for calls that no rule matches: `allow`."),
            rules: s.list(
              toolRule,
              "Rules like those of `policy.tools`, beside them: of the two decisions, the stricter " +
                "counts.",
            ),
          }),
          rates: s.list(
            s.shape(
              "ProfileRate",
              "Calls in a time window, of all tools that fit together.",
              {
                tool: s.text("Name of the tool; `*` stands for any text. Default: all."),
                calls: s.integer("Calls of one client.", { minimum: 1, maximum: 1_000_000 }),
                seconds: s.number("Length of the window.", { minimum: 1, maximum: 86_400 }),
              },
              { required: ["calls", "seconds"] },
            ),
            "How often each client may call; every entry that fits a tool counts.",
          ),
          search: s.flag(
            "Whether the client gets two tools instead of all: `search_tools`, which finds tools, " +
              "and `call_tool`, which calls them.",
          ),
        },
      ),
      "What clients see and may call, by name. A client gets the profile of its token or of " +
        "`trunkline mcp --profile`, else the first whose `for` fits it, else everything.",
      { default: {} },
    ),
  },
} satisfies s.SettingsSchema;

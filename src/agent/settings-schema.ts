import * as s from "../base/capability/settings.ts";

/** Coding agents, and the models of the built-in one. */
export const agents = {
  name: "agents",
  settings: {
    agent: {
      description: "Short for `agent.name`, where nothing else of `agent` is set.",
      anyOf: [
        s.NAME,
        s.shape(
          "AgentSettings",
          "The agent of sessions that name none, and where its commands run.",
          {
            name: s.text(
              "Agent of sessions that name none: one of `agents`, or `trunkline`, the built-in one. " +
                '`"agent": "NAME"` is short for it.',
              { default: "trunkline" },
            ),
            sandbox: s.choice(
              ["auto", "on", "off"],
              "Whether commands of the built-in agent run in a sandbox: where this machine can, " +
                "always (or else not at all), or never.",
              // A project is what the sandbox is there for.
              { default: "auto", "x-project": false },
            ),
            egress: s.group({
              allowHosts: s.list(
                { type: "string", pattern: "^[A-Za-z0-9*._-]+$" },
                "Hosts that commands in the sandbox may reach without a question; `*.example.com` " +
                  "stands for all below it.",
                { default: [] },
              ),
            }),
            files: s.group(
              {
                write: s.list(
                  s.FILE,
                  "Folders that commands in the sandbox may change beside the session's.",
                  { default: [] },
                ),
                hide: s.list(
                  s.FILE,
                  "Files and folders that they do not see, such as one in a project.",
                  { default: [] },
                ),
                show: s.list(
                  s.FILE,
                  "Files and folders that they see beside the session's, the system's programs and the " +
                    "toolchains in your home folder.",
                  { default: [] },
                ),
              },
              { "x-project": false },
            ),
            variables: s.list(
              s.NAME,
              "Variables of your environment that they get beside the usual ones.",
              { default: [], "x-project": false },
            ),
          },
        ),
      ],
    },
    agents: s.byName(
      s.shape(
        "AgentCommand",
        "A coding agent that is started and speaks ACP on its standard streams.",
        {
          ...s.PROGRAM,
          identity: s.text(
            "Git identity it acts as; default: the one that matches the session's folder.",
          ),
        },
        { required: ["command"] },
      ),
      "Coding agents that speak ACP, by name.",
      { default: {} },
    ),
    models: s.shape("ModelSettings", "The language models of the built-in agent.", {
      default: s.text(
        "Model that sessions begin with, as `provider/model`; `offline` for none. Without it, " +
          "the first one that is available.",
        {
          pattern: "^(?:offline|[^/]+/.+)$",
          "x-form": "provider/model, such as anthropic/claude-sonnet-4-5, or offline",
        },
      ),
      local: s.flag("Whether to look for Ollama, LM Studio and llama.cpp on this machine.", {
        default: true,
      }),
      maxSteps: s.integer("Model requests in one turn.", {
        minimum: 1,
        maximum: 10_000,
        default: 100,
      }),
      toolTimeout: s.integer(
        "Milliseconds that a tool of the agent may take, unless it has its own limit.",
        { minimum: 1000, maximum: 2_147_483_647, default: 120_000 },
      ),
      cost: s.byName(
        s.shape(
          "ModelCost",
          "The price of a model, in US dollars for a million tokens.",
          {
            input: s.number("What the model reads.", { minimum: 0 }),
            output: s.number("What the model writes.", { minimum: 0 }),
            cachedInput: s.number(
              "What the provider reads from its cache; the price of `input` when left out.",
              { minimum: 0 },
            ),
            cacheWrite: s.number(
              "What the provider writes to its cache; 1.25 times the price of `input` when left out.",
              { minimum: 0 },
            ),
          },
          { required: ["input", "output"] },
        ),
        "Prices of models, by `provider/model`; `*` stands for any text, and the first match " +
          "applies. With them, sessions show their cost, and budgets can limit it.",
        { default: {} },
      ),
      providers: s.byName(
        s.shape("ModelProvider", "A provider of language models.", {
          type: s.choice(
            ["openai-compatible", "anthropic", "openai", "google"],
            "Its API; `openai-compatible` when left out.",
          ),
          baseUrl: s.url("Its address, such as `http://127.0.0.1:8000/v1`."),
          keyVariable: s.text("Name of the variable that holds its key; never the key itself.", {
            pattern: "^[A-Za-z_][A-Za-z0-9_]*$",
          }),
          headers: s.byName(s.ANY_TEXT, "Headers to send with every request."),
          models: s.list(s.NAME, "Models to offer even if it does not list them, the best first."),
          contextWindow: s.integer(
            "Size of its models' context in tokens, if it does not report it.",
            { minimum: 1024, maximum: 100_000_000 },
          ),
        }),
        "Model providers, by name, in addition to Anthropic, OpenAI and Google, which are used " +
          "when their keys are in the environment.",
        // Whoever sets an address and the name of a key gets the key.
        { default: {}, "x-project": false },
      ),
    }),
  },
} satisfies s.SettingsSchema;

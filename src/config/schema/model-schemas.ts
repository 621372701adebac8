/** Language models as they are written in a configuration file. */
export const MODEL_SCHEMAS = {
  ModelSettings: {
    description: "The language models of the built-in agent.",
    type: "object",
    additionalProperties: false,
    properties: {
      default: {
        type: "string",
        pattern: "^(?:offline|[^/]+/.+)$",
        "x-form": "provider/model, such as anthropic/claude-sonnet-4-5, or offline",
        description:
          "Model that sessions begin with, as `provider/model`; `offline` for none. Without it, " +
          "the first one that is available.",
      },
      local: {
        type: "boolean",
        default: true,
        description: "Whether to look for Ollama, LM Studio and llama.cpp on this machine.",
      },
      maxSteps: {
        type: "integer",
        minimum: 1,
        maximum: 10_000,
        default: 100,
        description: "Model requests in one turn.",
      },
      toolTimeout: {
        type: "integer",
        minimum: 1_000,
        maximum: 2_147_483_647,
        default: 120_000,
        description: "Milliseconds that a tool of the agent may take, unless it has its own limit.",
      },
      cost: {
        type: "object",
        additionalProperties: { $ref: "#ModelCost" },
        default: {},
        description:
          "Prices of models, by `provider/model`; `*` stands for any text, and the first match applies. " +
          "With them, sessions show their cost, and budgets can limit it.",
      },
      providers: {
        type: "object",
        additionalProperties: { $ref: "#ModelProvider" },
        default: {},
        description:
          "Model providers, by name, in addition to Anthropic, OpenAI and Google, which are used when " +
          "their keys are in the environment.",
        // Whoever sets an address and the name of a key gets the key.
        "x-project": false,
      },
    },
  },

  ModelCost: {
    description: "The price of a model, in US dollars for a million tokens.",
    type: "object",
    additionalProperties: false,
    required: ["input", "output"],
    properties: {
      input: { type: "number", minimum: 0, description: "What the model reads." },
      output: { type: "number", minimum: 0, description: "What the model writes." },
      cachedInput: {
        type: "number",
        minimum: 0,
        description: "What the provider reads from its cache; the price of `input` when left out.",
      },
    },
  },

  ModelProvider: {
    description: "A provider of language models.",
    type: "object",
    additionalProperties: false,
    properties: {
      type: {
        enum: ["openai-compatible", "anthropic", "openai", "google"],
        description: "Its API; `openai-compatible` when left out.",
      },
      baseUrl: {
        type: "string",
        format: "uri",
        pattern: "^https?://",
        description: "Its address, such as `http://127.0.0.1:8000/v1`.",
      },
      keyVariable: {
        type: "string",
        pattern: "^[A-Za-z_][A-Za-z0-9_]*$",
        description: "Name of the variable that holds its key; never the key itself.",
      },
      headers: {
        type: "object",
        additionalProperties: { type: "string" },
        description: "Headers to send with every request.",
      },
      models: {
        type: "array",
        items: { type: "string", minLength: 1 },
        description: "Models to offer even if it does not list them, the best first.",
      },
      contextWindow: {
        type: "integer",
        minimum: 1_024,
        maximum: 100_000_000,
        description: "Size of its models' context in tokens, if it does not report it.",
      },
    },
  },
} as const;

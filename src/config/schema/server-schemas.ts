/** Whether clients share an MCP server. */
const INSTANCE = {
  enum: ["shared", "client"],
  description:
    "`shared`, the default: all clients of a gateway use one instance of the server; `client`: each has " +
    "its own. A shared server that asks questions while several clients use it changes to `client` by " +
    "itself.",
} as const;

/** What every MCP server has, whichever way it is reached. */
const SERVER = {
  instance: INSTANCE,
  disabled: {
    type: "boolean",
    description: "Whether the server is left out; `enabled: false` means the same.",
  },
  timeout: {
    type: "number",
    minimum: 1,
    description:
      "Seconds that a call may take without progress. Some programs have milliseconds here, so 1,000 " +
      "and more count as those.",
  },
  autoApprove: {
    type: "array",
    items: { type: "string", minLength: 1 },
    description:
      "Tools of the server that may be called without a question, unless a rule of `policy.tools` " +
      "says otherwise; `*` stands for any text. `alwaysAllow` means the same.",
  },
} as const;

/** Where requests are sent, and what is sent with each. */
const REACHED = {
  url: {
    anyOf: [
      { type: "string", format: "uri", pattern: "^https?://" },
      // With references, it is checked when they are resolved: only this server fails then.
      { type: "string", pattern: "^(?:https?://.*)?\\$\\{" },
    ],
    description: "Its address.",
  },
  headers: {
    type: "object",
    additionalProperties: { type: "string" },
    description: "Headers to send with every request.",
  },
} as const;

/** MCP servers as they are written in a configuration file, and how to log in to them. */
export const SERVER_SCHEMAS = {
  McpServer: {
    description: "An MCP server: a program to start, a URL, or an API with an OpenAPI document.",
    anyOf: [{ $ref: "#McpCommand" }, { $ref: "#McpAddress" }, { $ref: "#OpenApiServer" }],
  },

  McpCommand: {
    description: "An MCP server that is started and used on its standard streams.",
    type: "object",
    additionalProperties: false,
    required: ["command"],
    properties: {
      type: {
        enum: ["stdio", "local"],
        description: "With `command`; optional, for compatibility with other programs.",
      },
      command: {
        type: "string",
        minLength: 1,
        description:
          "Program to start. A path that begins with `./`, `../` or `~/` counts from this file's " +
          "folder or the home folder.",
      },
      args: { type: "array", items: { type: "string" }, description: "Its arguments." },
      env: {
        type: "object",
        additionalProperties: { type: "string" },
        description:
          "Environment variables it gets in addition to the usual ones. Here, in `args`, `url` and " +
          "`headers`, `${NAME}`, `${env:NAME}` and `${NAME:-default}` stand for a variable, and " +
          "`${keychain:NAME}` for a secret that `trunkline models key set NAME` has stored; in " +
          "`headers` and `auth`, `${identity:NAME}` for the token of an identity.",
      },
      cwd: {
        type: "string",
        minLength: 1,
        description: "Folder it is started in; a relative path counts from this file's folder.",
      },
      ...SERVER,
    },
  },

  McpAddress: {
    description: "An MCP server that is reached over HTTP.",
    type: "object",
    additionalProperties: false,
    required: ["url"],
    properties: {
      type: {
        enum: ["http", "sse", "streamable-http"],
        description: "With `url`; optional, for compatibility with other programs.",
      },
      ...REACHED,
      oauth: { $ref: "#OAuthSettings" },
      ...SERVER,
    },
  },

  OpenApiServer: {
    description: "An API whose operations are offered as tools.",
    type: "object",
    additionalProperties: false,
    required: ["openapi"],
    properties: {
      type: { enum: ["openapi"], description: "With `openapi`; optional." },
      openapi: {
        type: "string",
        minLength: 1,
        description:
          "OpenAPI 3 document, as JSON or YAML: a URL, or a file. A relative path counts from this " +
          "file's folder.",
      },
      ...REACHED,
      auth: {
        type: "object",
        additionalProperties: { type: "string" },
        description:
          "With `openapi`: credentials by the names of the document's security schemes, as " +
          "`${keychain:NAME}`. `NAME:PASSWORD` for basic authentication.",
      },
      include: {
        type: "array",
        items: { type: "string", minLength: 1 },
        description:
          "With `openapi`: the operations to offer, such as `issues_*` or `GET /issues/*`; all by " +
          "default.",
      },
      exclude: {
        type: "array",
        items: { type: "string", minLength: 1 },
        description: "With `openapi`: the operations to leave out.",
      },
      ...SERVER,
    },
  },

  OAuthSettings: {
    description:
      "For servers that want a login (`trunkline server login NAME`). Servers say all of it " +
      "themselves, unless their authorization server does not register clients.",
    type: "object",
    additionalProperties: false,
    properties: {
      issuer: {
        type: "string",
        format: "uri",
        pattern: "^https?://",
        description:
          "Issuer of the tokens, if the server does not name it, if it is in a private network, or " +
          "if `clientId` is set.",
      },
      clientId: {
        type: "string",
        minLength: 1,
        description: "Client that you have registered with the issuer.",
      },
      clientSecret: {
        type: "string",
        minLength: 1,
        description: "Secret of that client, as `${keychain:NAME}`.",
      },
      clientMetadataUrl: {
        type: "string",
        format: "uri",
        pattern: "^https://",
        description:
          "Client metadata document that you have published, used instead of `clientId`.",
      },
      scopes: {
        type: "array",
        items: { type: "string", pattern: "^[\\x21\\x23-\\x5B\\x5D-\\x7E]+$" },
        description: "Scopes to ask for, instead of those that the server names.",
      },
      resource: {
        type: "boolean",
        description:
          "Whether requests for tokens name the server (RFC 8707); true by default. Some issuers, such " +
          "as Microsoft Entra, reject that.",
      },
      callbackPort: {
        type: "integer",
        minimum: 1,
        maximum: 65535,
        description:
          "Port of the address that the browser comes back to, `http://127.0.0.1:PORT/callback`, if the " +
          "client is registered with one. By default any free port.",
      },
    },
  },
} as const;

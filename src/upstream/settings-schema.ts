import * as s from "../base/capability/settings.ts";

/** What every MCP server has, whichever way it is reached. */
const SERVER: s.Settings = {
  instance: s.choice(
    ["shared", "client"],
    "`shared`, the default: all clients of a gateway use one instance of the server; " +
      "`client`: each has its own. A shared server that asks questions while several clients " +
      "use it changes to `client` by itself.",
  ),
  disabled: s.flag("Whether the server is left out; `enabled: false` means the same."),
  timeout: s.number(
    "Seconds that a call may take without progress. Some programs have milliseconds here, " +
      "so 1,000 and more count as those.",
    { minimum: 1 },
  ),
  autoApprove: s.list(
    s.NAME,
    "Tools of the server that may be called without a question, unless a rule of " +
      "`policy.tools` says otherwise; `*` stands for any text. `alwaysAllow` means the same.",
  ),
  include: s.list(
    s.NAME,
    "The tools to offer, by the server's own names; all by default. `*` stands for any text. With " +
      "`openapi`: operations, such as `issues_*` or `GET /issues/*`. `includeTools`, `enabled_tools` " +
      "and `available_tools` mean the same.",
  ),
  exclude: s.list(
    s.NAME,
    "The tools, or operations, to leave out. `excludeTools`, `disabledTools` and `disabled_tools` " +
      "mean the same.",
  ),
};

/** Where requests are sent, and what is sent with each. */
const REACHED: s.Settings = {
  url: {
    description: "Its address.",
    anyOf: [
      { type: "string", format: "uri", pattern: "^https?://" },
      // With references, it is checked when they are resolved: only this server fails then.
      { type: "string", pattern: String.raw`^(?:https?://.*)?\$\{` },
    ],
  },
  headers: s.byName(s.ANY_TEXT, "Headers to send with every request."),
};

const oAuthSettings = s.shape(
  "OAuthSettings",
  "For servers that want a login (`trunkline server login NAME`). Servers say all of it " +
    "themselves, unless their authorization server does not register clients.",
  {
    issuer: s.url(
      "Issuer of the tokens, if the server does not name it, if it is in a private network, " +
        "or if `clientId` is set.",
    ),
    clientId: s.text("Client that you have registered with the issuer."),
    clientSecret: s.text("Secret of that client, as `${keychain:NAME}`."),
    clientMetadataUrl: s.url(
      "Client metadata document that you have published, used instead of `clientId`.",
      { pattern: "^https://" },
    ),
    scopes: s.list(
      { type: "string", pattern: String.raw`^[\x21\x23-\x5B\x5D-\x7E]+$` },
      "Scopes to ask for, instead of those that the server names.",
    ),
    resource: s.flag(
      "Whether requests for tokens name the server (RFC 8707); true by default. Some " +
        "issuers, such as Microsoft Entra, reject that.",
    ),
    identityProvider: s.group(
      {
        issuer: s.url("Its issuer."),
        clientId: s.text("Client that you have registered there for this gateway."),
        clientSecret: s.text("Secret of that client, as `${keychain:NAME}`."),
      },
      {
        required: ["issuer", "clientId"],
        description:
          'With `login: "passed on"`: the identity provider of your organization, where each person logs ' +
          "in once for all servers that name it (enterprise-managed authorization). `issuer` and " +
          "`clientId` beside it are of the server's authorization server then, and both are needed.",
      },
    ),
    callbackPort: s.integer(
      "Port of the address that the browser comes back to, `http://127.0.0.1:PORT/callback`, " +
        "if the client is registered with one. By default any free port.",
      { minimum: 1, maximum: 65_535 },
    ),
  },
);

const mcpCommand = s.shape(
  "McpCommand",
  "An MCP server that is started and used on its standard streams.",
  {
    type: s.choice(
      ["stdio", "local"],
      "With `command`; optional, for compatibility with other programs.",
    ),
    command: s.text(
      "Program to start. A path that begins with `./`, `../` or `~/` counts from this file's " +
        "folder or the home folder.",
      { "x-path": "program" },
    ),
    args: s.ARGS,
    env: s.byName(
      s.ANY_TEXT,
      "Environment variables it gets in addition to the usual ones. Here, in `args`, `url` " +
        "and `headers`, `${NAME}`, `${env:NAME}` and `${NAME:-default}` stand for a variable, " +
        "and `${keychain:NAME}` for a secret that `trunkline model key set NAME` has stored; " +
        "in `headers` and `auth`, `${identity:NAME}` for the token of an identity. With " +
        "`${workspaceFolder}`, the project of whoever calls, each client and project has an instance.",
    ),
    cwd: s.path("Folder it is started in.", { "x-path": "document" }),
    envFile: s.path(
      "File with further variables, a `NAME=value` in each line; those of `env` count first.",
      { "x-path": "document" },
    ),
    ...SERVER,
  },
  { required: ["command"] },
);

const mcpAddress = s.shape(
  "McpAddress",
  "An MCP server that is reached over HTTP.",
  {
    type: s.choice(
      ["http", "sse", "streamable-http"],
      "With `url`; optional, for compatibility with other programs.",
    ),
    ...REACHED,
    headersHelper: s.text(
      "Command of the shell that prints further headers as a JSON object; run for each connection.",
    ),
    login: s.choice(
      ["shared", "each", "passed on"],
      "Whose login it is used with. `shared`, the default: one, for everybody who may use the " +
        "server; `each`: each person logs in as themselves; `passed on`: the token that a person has " +
        "for this gateway is exchanged for one for the server (RFC 8693), at `oauth.issuer`, or what " +
        "`oauth.identityProvider` says of the person is.",
    ),
    oauth: oAuthSettings,
    ...SERVER,
  },
  { required: ["url"] },
);

const openApiServer = s.shape(
  "OpenApiServer",
  "An API whose operations are offered as tools.",
  {
    type: s.choice(["openapi"], "With `openapi`; optional."),
    openapi: s.path("OpenAPI 3 document, as JSON or YAML: a URL, or a file.", {
      "x-path": "document",
    }),
    ...REACHED,
    auth: s.byName(
      s.ANY_TEXT,
      "With `openapi`: credentials by the names of the document's security schemes, as " +
        "`${keychain:NAME}`. `NAME:PASSWORD` for basic authentication.",
    ),
    ...SERVER,
  },
  { required: ["openapi"] },
);

const mcpServer: s.Setting = {
  "x-name": "McpServer",
  description: "An MCP server: a program to start, a URL, or an API with an OpenAPI document.",
  anyOf: [mcpCommand, mcpAddress, openApiServer],
};

/** Other MCP servers. */
export const servers = {
  name: "servers",
  settings: {
    mcpServers: s.byName(mcpServer, "Other MCP servers whose tools are offered, by name.", {
      default: {},
    }),
  },
} satisfies s.SettingsSchema;

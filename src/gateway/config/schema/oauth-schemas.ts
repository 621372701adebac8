/** How to log in to an MCP server, in a configuration file. */
export const OAUTH_SCHEMAS = {
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
          "Issuer of the tokens, if the server does not name it, or if it is in a private network.",
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

import { SCOPES } from "../../base/principal.ts";

/** Who may reach the gateway, as it is written in a configuration file. */
export const SERVE_SCHEMAS = {
  ServeSettings: {
    description: "Who may reach `trunkline serve`, and how.",
    type: "object",
    additionalProperties: false,
    properties: {
      publicUrl: {
        type: "string",
        format: "uri",
        pattern: "^https?://",
        description:
          "URL by which others reach the gateway, without `/mcp`. Pages from there count as ours, and the " +
          "first link for a browser leads there.",
      },
      allowedHosts: {
        type: "array",
        items: { type: "string", pattern: "^[A-Za-z0-9_.-]+$" },
        default: [],
        description:
          "Host names allowed in `Host`, in addition to that of `publicUrl` and this machine's.",
      },
      allowedOrigins: {
        type: "array",
        items: { type: "string", format: "uri", pattern: "^https?://" },
        default: [],
        description: "Origins of web pages that may use the gateway.",
      },
      tls: {
        type: "object",
        additionalProperties: false,
        required: ["certFile", "keyFile"],
        properties: {
          certFile: {
            type: "string",
            minLength: 1,
            description:
              "Certificate and its chain, in PEM. A relative path counts from this file's folder.",
          },
          keyFile: {
            type: "string",
            minLength: 1,
            description: "Its private key, in PEM; a relative path counts from this file's folder.",
          },
        },
      },
      oauth: {
        type: "object",
        additionalProperties: false,
        required: ["authorizationServers"],
        properties: {
          authorizationServers: {
            type: "array",
            minItems: 1,
            maxItems: 8,
            items: { type: "string", format: "uri", pattern: "^https?://" },
            description:
              "Issuers whose access tokens (signed JWTs) are accepted; `https`, or on this machine.",
          },
          scopes: {
            type: "array",
            maxItems: 64,
            items: { type: "string", pattern: "^[!#-[\\]-~]+$" },
            description: "Scopes that a token must have, all of them.",
          },
          grants: {
            type: "array",
            items: { type: "string", enum: [...SCOPES] },
            description:
              "Scopes that their bearers get here: `tools`, `sessions`, `programs` (to name commands " +
              "that are started), `review`, `dashboard`, `admin`. Without it, all but `programs` " +
              "and `admin`.",
          },
          audience: {
            type: "string",
            minLength: 1,
            description: "Audience that a token may have, in addition to `publicUrl` with `/mcp`.",
          },
        },
      },
    },
  },
} as const;

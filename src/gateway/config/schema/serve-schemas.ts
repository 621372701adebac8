import { SCOPES } from "../../../base/principal.ts";

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
          "Address that others reach the gateway by, without `/mcp`. Pages of it are ours, and the " +
          "first link for a browser leads there.",
      },
      allowedHosts: {
        type: "array",
        items: { type: "string", pattern: "^[A-Za-z0-9_.-]+$" },
        default: [],
        description:
          "Names that requests may have in `Host`, besides that of `publicUrl` and this machine's.",
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
              "Certificate and its chain, in PEM. Not absolute, it counts from this file's folder.",
          },
          keyFile: {
            type: "string",
            minLength: 1,
            description: "Its private key, in PEM; found in the same way.",
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
              "What their bearers may do here: `tools`, `sessions`, `programs` (to name commands " +
              "that are started), `review`, `dashboard`, `admin`. Without it, all but `programs` " +
              "and `admin`.",
          },
          audience: {
            type: "string",
            minLength: 1,
            description: "Audience that a token may have, besides `publicUrl` with `/mcp`.",
          },
        },
      },
    },
  },
} as const;

import { SCOPES } from "../../base/principal.ts";
import * as s from "../../base/capability/settings.ts";

/** The HTTP server, and who may reach it. */
export const serve = {
  name: "serve",
  settings: {
    serve: s.shape("ServeSettings", "Where `trunkline serve` listens, who may reach it, and how.", {
      host: s.text("Address that `trunkline serve` listens on.", { default: "127.0.0.1" }),
      port: s.integer("Port that `trunkline serve` listens on; 0 picks a free one.", {
        minimum: 0,
        maximum: 65_535,
        default: 4180,
      }),
      publicUrl: s.url(
        "URL by which others reach the gateway, without `/mcp`. Pages from there count as " +
          "ours, and the first link for a browser leads there.",
      ),
      allowedHosts: s.list(
        { type: "string", pattern: "^[A-Za-z0-9_.-]+$" },
        "Host names allowed in `Host`, in addition to that of `publicUrl` and this machine's.",
        { default: [] },
      ),
      allowedOrigins: s.list(
        { type: "string", format: "uri", pattern: "^https?://" },
        "Origins of web pages that may use the gateway.",
        { default: [] },
      ),
      tls: s.group(
        {
          certFile: s.path("Certificate and its chain, in PEM."),
          keyFile: s.path("Its private key, in PEM."),
        },
        { required: ["certFile", "keyFile"] },
      ),
      oauth: s.group(
        {
          authorizationServers: s.list(
            { type: "string", format: "uri", pattern: "^https?://" },
            "Issuers whose access tokens (signed JWTs) are accepted; `https`, or on this machine.",
            { minItems: 1, maxItems: 8 },
          ),
          scopes: s.list(
            { type: "string", pattern: String.raw`^[!#-[\]-~]+$` },
            "Scopes that a token must have, all of them.",
            { maxItems: 64 },
          ),
          grants: s.list(
            {
              type: "string",
              enum: SCOPES,
            },
            "Scopes that their bearers get here: `tools`, `sessions`, `programs` (to name commands " +
              "that are started), `review`, `dashboard`, `admin`. Without it, all but `programs` and " +
              "`admin`.",
          ),
          audience: s.text(
            "Audience that a token may have, in addition to `publicUrl` with `/mcp`.",
          ),
        },
        { required: ["authorizationServers"] },
      ),
    }),
  },
} satisfies s.SettingsSchema;

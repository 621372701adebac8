import * as s from "../base/capability/settings.ts";

import { NODE_NAME } from "./subjects.ts";

/** Sessions across machines. */
export const fleet = {
  name: "fleet",
  settings: {
    fleet: s.shape(
      "FleetSettings",
      "Sessions across machines: which NATS server, and as whom.",
      {
        url: s.text(
          "NATS servers where gateways and workers meet, separated by commas, such as " +
            "`nats://bus.example:4222`; `--bus` of `serve` and `worker`.",
          { minLength: 1, pattern: "^(nats|tls)://" },
        ),
        pool: s.text("Pool of workers; gateways and workers of different pools share nothing.", {
          pattern: "^[A-Za-z0-9_-]{1,32}$",
          default: "default",
        }),
        name: s.text("Name of this gateway or worker; default the name of the machine.", {
          pattern: NODE_NAME,
        }),
        slots: s.integer("How many sessions a worker has open at once.", {
          minimum: 1,
          maximum: 10_000,
          default: 8,
        }),
        labels: s.byName(
          { type: "string", maxLength: 64 },
          "Labels of a worker, which sessions can ask for, such as `gpu`.",
          { default: {} },
        ),
        waiting: s.integer(
          "How many new sessions may wait for a free slot; when so many wait, more are refused.",
          { minimum: 0, maximum: 100_000, default: 1000 },
        ),
        replicas: s.integer(
          "How many servers of a NATS cluster keep each message: 3 survive the loss of one. Set " +
            "it at the gateways, which create the streams and change those that exist; without it, " +
            "new streams have one.",
          { minimum: 1, maximum: 5 },
        ),
        credentials: s.path(
          "File with the credentials for NATS (`.creds`, or one line `USER:PASSWORD`).",
        ),
        tls: s.group({
          caFile: s.path("Certificate of the authority that signed the server's, in PEM."),
          certFile: s.path("Own certificate, in PEM, where the server asks for one."),
          keyFile: s.path("Its private key, in PEM."),
        }),
      },
      { "x-project": false },
    ),
  },
} satisfies s.SettingsSchema;

import { byName, group, integer, path, shape, text } from "../base/capability/settings.ts";
import type { Capability } from "../base/capability/capability.ts";

/** The form of the name of a gateway or worker. */
export const NODE_NAME = "^[A-Za-z0-9_-]{1,64}$";

/** Sessions across machines. */
export const fleet = {
  name: "fleet",
  settings: {
    fleet: shape(
      "FleetSettings",
      "Sessions across machines: which NATS server, and as whom.",
      {
        url: text(
          "NATS servers where gateways and workers meet, separated by commas, such as " +
            "`nats://bus.example:4222`; `--bus` of `serve` and `worker`.",
          { minLength: 1, pattern: "^(nats|tls)://" },
        ),
        pool: text("Pool of workers; gateways and workers of different pools share nothing.", {
          pattern: "^[A-Za-z0-9_-]{1,32}$",
          default: "default",
        }),
        name: text("Name of this gateway or worker; default the name of the machine.", {
          pattern: NODE_NAME,
        }),
        slots: integer("How many sessions a worker has open at once.", {
          minimum: 1,
          maximum: 10_000,
          default: 8,
        }),
        labels: byName(
          { type: "string", maxLength: 64 },
          "Labels of a worker, which sessions can ask for, such as `gpu`.",
          { default: {} },
        ),
        waiting: integer(
          "How many new sessions may wait for a free slot; when so many wait, more are refused.",
          { minimum: 0, maximum: 100_000, default: 1000 },
        ),
        replicas: integer(
          "How many servers of a NATS cluster keep each message: 3 survive the loss of one. Set " +
            "it at the gateways, which create the streams and change those that exist; without it, " +
            "new streams have one.",
          { minimum: 1, maximum: 5 },
        ),
        credentials: path(
          "File with the credentials for NATS (`.creds`, or one line `USER:PASSWORD`).",
        ),
        tls: group({
          caFile: path("Certificate of the authority that signed the server's, in PEM."),
          certFile: path("Own certificate, in PEM, where the server asks for one."),
          keyFile: path("Its private key, in PEM."),
        }),
      },
      { "x-project": false },
    ),
  },
} satisfies Capability;

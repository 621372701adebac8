import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { PLUGIN_UNIT } from "../../protocol/bus/certificates/certificates.ts";
import type { Connection, Credentials } from "../../wire/quic/connection.ts";
import { BusCertificates } from "../bus-certificates.ts";
import type { BusTransport } from "../orchestrator.ts";
import type { SafeCall, Stranger, Subject } from "./probe.ts";
import type { Role } from "./rule.ts";

export interface OpenSubjectOptions {
  readonly address: string;
  readonly certsDir: string;
  readonly transport: BusTransport;
  /** As its certificate says where left out: `orchestrator` is one, all others are plugins. */
  readonly role?: Role | undefined;
  readonly call?: SafeCall | undefined;
  readonly stream?: SafeCall | undefined;
}

/** A program that can be checked until it is disposed of. */
export type OpenedSubject = Subject & AsyncDisposable;

/** The name of an orchestrator's certificate. */
const ORCHESTRATOR = "orchestrator";
const CLIENT = "transport.conformance-client";
const PLUGIN = "conformance.plugin";
const OTHER_PROTOCOL = "conformance-other";

/** Gets in touch with a program that runs. Throws where it cannot be reached. */
export async function openSubject(options: OpenSubjectOptions): Promise<OpenedSubject> {
  const { address, certsDir, transport } = options;
  const certificates = new BusCertificates(certsDir, () => {}, { makesAuthority: false });
  const first = await transport.connect(address, { credentials: await certificates.of(CLIENT) });
  const name = first.peer?.name ?? "";
  await first.close();
  const role = options.role ?? (name === ORCHESTRATOR ? "orchestrator" : "plugin");
  const shown = role === "orchestrator" ? CLIENT : `orchestrator-to-${name || "plugin"}`;
  const dial = async (): Promise<Connection> =>
    transport.connect(address, { credentials: await certificates.of(shown) });
  const elsewhere = await mkdtempDisposable(join(tmpdir(), "trunkline-conformance-"));
  const foreign = async (): Promise<Credentials> => {
    const { ca } = await certificates.of(shown);
    const { cert, key } = await new BusCertificates(elsewhere.path, () => {}).of(shown);
    return { ca, cert, key };
  };
  const asPlugin = async (): Promise<Connection> => {
    const credentials = await certificates.of(`${PLUGIN}-client`, { unit: PLUGIN_UNIT });
    return transport.connect(address, { credentials });
  };
  return {
    ...{ role, name: `The ${role} at ${address}`, dial },
    ...{ call: options.call, stream: options.stream },
    ...(role === "orchestrator" ? { asPlugin: { id: PLUGIN, dial: asPlugin } } : {}),
    dialAs: async (stranger: Stranger) =>
      stranger === "another protocol"
        ? transport.connect(address, {
            credentials: await certificates.of(shown),
            alpn: OTHER_PROTOCOL,
          })
        : transport.connect(address, { credentials: await foreign() }),
    [Symbol.asyncDispose]: () => elsewhere.remove(),
  };
}

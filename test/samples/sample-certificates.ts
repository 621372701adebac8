import assert from "node:assert/strict";
import { mkdir, mkdtempDisposable, readFile, utimes, writeFile, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, createServer, type TLSSocket } from "node:tls";

import {
  type CertificatesOptions,
  Certificates,
  type IssuedCredentials,
} from "../../src/protocol/bus/certificates/certificates.ts";

const LONG_AGO = new Date("2020-01-01");

/** A folder for certificates, of a test's own. It is not there yet. */
export class SampleCertificates implements AsyncDisposable {
  readonly warnings: string[] = [];
  readonly path: string;
  readonly #folder: AsyncDisposable & { path: string };
  readonly #options: CertificatesOptions;

  private constructor(folder: AsyncDisposable & { path: string }, options: CertificatesOptions) {
    this.#folder = folder;
    this.path = join(folder.path, "certs");
    this.#options = options;
  }

  static async create(options: CertificatesOptions = {}): Promise<SampleCertificates> {
    return new SampleCertificates(
      await mkdtempDisposable(join(tmpdir(), "trunkline-certs-")),
      options,
    );
  }

  open(options: CertificatesOptions = {}) {
    const warn = (message: string): number => this.warnings.push(message);
    return new Certificates(this.path, { warn, ...this.#options, ...options });
  }

  file(name: string): string {
    return join(this.path, name);
  }

  text(name: string): Promise<string> {
    return readFile(this.file(name), "utf8");
  }

  /** A file that nobody is still writing. */
  async put(name: string, text: string): Promise<void> {
    await mkdir(this.path, { recursive: true, mode: 0o700 });
    await writeFile(this.file(name), text, { mode: 0o600 });
    await utimes(this.file(name), LONG_AGO, LONG_AGO);
  }

  async age(...names: string[]): Promise<void> {
    for (const name of names) await utimes(this.file(name), LONG_AGO, LONG_AGO);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#folder[Symbol.asyncDispose]();
  }
}

type Side = Pick<IssuedCredentials, "cert" | "key" | "ca">;

/** Connects over TLS, both sides shown. Resolves to the name that the server has read. */
export async function greet(server: Side, client: Side): Promise<string> {
  const options = ({ cert, key, ca }: Side) => ({ cert, key, ca });
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const listening = createServer(
    { ...options(server), requestCert: true, rejectUnauthorized: true, minVersion: "TLSv1.3" },
    (socket: TLSSocket) => {
      resolve(String(socket.getPeerCertificate().subject.CN));
      socket.destroy();
    },
  );
  listening.on("tlsClientError", reject);
  await new Promise<void>((listen) => listening.listen(0, "127.0.0.1", listen));
  const { port } = listening.address() as { port: number };
  const socket = connect({ ...options(client), host: "127.0.0.1", port });
  socket.on("error", reject);
  try {
    return await promise;
  } finally {
    socket.destroy();
    listening.close();
  }
}

/** That a certificate is refused in such words, and no file is changed. */
export async function assertRefused(
  sample: SampleCertificates,
  name: string,
  says: RegExp,
): Promise<void> {
  const files = await readdir(sample.path);
  const texts = await Promise.all(files.map((file) => sample.text(file)));
  await assert.rejects(sample.open().credentialsFor(name), (error: Error & { code?: string }) => {
    assert.equal(error.code, "config");
    assert.match(error.message, says);
    return true;
  });
  const now = await Promise.all(files.map((file) => sample.text(file)));
  assert.deepEqual(now, texts, "nothing is overwritten");
}

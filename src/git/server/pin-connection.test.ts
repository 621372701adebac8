import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempDisposableSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { NO_CREDENTIALS } from "../../../test/samples/sample-credentials.ts";
import { SshServer, WITHOUT_SSHD } from "../../../test/support/git-rig/ssh-server.ts";
import { TestCa } from "../../../test/support/quic-certificates.ts";
import { pinConnection, type HostResolver } from "./pin-connection.ts";
import { ServerGit } from "./server-git.ts";

const env = { PATH: process.env.PATH };
const pin = (url: string, ...addresses: string[]) =>
  pinConnection({ url, credentials: NO_CREDENTIALS, resolve: async () => addresses, env });

describe("pinConnection()", () => {
  it("names all addresses of a host for HTTPS, with the port of the address", async () => {
    const { settings } = await pin("https://example.com/a", "192.0.43.8", "2001:500:88::8");
    assert.deepEqual(settings, ["http.curloptResolve=example.com:443:192.0.43.8,[2001:500:88::8]"]);
    const other = await pin("https://example.com:8443/a", "192.0.43.8");
    assert.deepEqual(other.settings, ["http.curloptResolve=example.com:8443:192.0.43.8"]);
  });

  it("has ssh look for the key of the host that was meant", async () => {
    const command = async (url: string) => (await pin(url, "192.0.43.8")).env.GIT_SSH_COMMAND ?? "";
    assert.match(await command("git@example.com:a"), /HostName=192\.0\.43\.8.*'example\.com'$/);
    assert.match(await command("ssh://git@example.com:99/a"), /'\[example\.com\]:99'$/);
  });

  it("throws where no address may be reached, or where what is said is none", async () => {
    for (const url of ["https://example.com/a", "git@example.com:a"]) {
      await assert.rejects(pin(url), { code: "untrusted" });
      await assert.rejects(pin(url, "1.2.3.4 -o ProxyCommand=id"), { code: "untrusted" });
      await assert.rejects(
        pinConnection({ url, credentials: NO_CREDENTIALS, resolve: undefined, env }),
        /no allowed address/,
      );
    }
  });

  it("refuses an address that is not in its normal form", async () => {
    const urls = [
      ...["https://example.com/acme/../evil", "https://Example.com/a", "https://example.com:443/a"],
      ...["git@example.com:acme/../evil", "ssh://git@example.com:22/a", "https://example.com./a"],
    ];
    for (const url of urls)
      await assert.rejects(pin(url, "192.0.43.8"), { code: "untrusted" }, url);
  });

  it("needs nothing for a folder", async () => {
    assert.deepEqual(await pin("/srv/repo.git"), { settings: [], env: {} });
  });
});

/** A web server on one address of loopback, which keeps what it was asked for. */
async function web(ca: TestCa, address: string, port = 0) {
  const { cert, key } = await ca.issue("rebound.invalid");
  const asked: string[] = [];
  const server = createServer({ cert, key }, ({ url = "" }, answer) => {
    asked.push(url);
    answer.writeHead(404).end();
  });
  server.listen(port, address);
  await once(server, "listening");
  return {
    asked,
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

describe("ServerGit on a pinned connection", () => {
  it("connects where the first answer led, whatever the name leads to by then", async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "pin-"));
    const ca = await TestCa.make("P-256");
    writeFileSync(join(folder.path, "ca.pem"), ca.pem);
    await using allowed = await web(ca, "127.0.0.2");
    // Where the machine's own resolver leads: the service that is to be reached by a trick.
    await using inside = await web(ca, "127.0.0.1", allowed.port);
    const answers = [["127.0.0.2"], ["127.0.0.2"]];
    const resolve: HostResolver = async () => answers.shift() ?? [];
    const git = new ServerGit({
      gitDir: folder.path,
      askpass: "/bin/false",
      resolve,
      env: { ...env, GIT_SSL_CAINFO: join(folder.path, "ca.pem") },
    });
    const list = (url: string) =>
      git.run(["ls-remote", "--", url], { remote: { url, credentials: NO_CREDENTIALS } });
    for (const host of ["localhost", "rebound.invalid"]) {
      await assert.rejects(list(`https://${host}:${allowed.port}/${host}`), /not found/);
    }
    const path = (host: string) => `/${host}/info/refs?service=git-upload-pack`;
    assert.deepEqual(allowed.asked, [path("localhost"), path("rebound.invalid")]);
    assert.deepEqual(inside.asked, []);
    // It is judged again each time.
    await assert.rejects(list(`https://localhost:${allowed.port}/x`), /no allowed address/);
  });

  it("trusts the authorities in the folder that the environment names", async (test) => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "pin-"));
    const ca = await TestCa.make("P-256");
    writeFileSync(join(folder.path, "ca.pem"), ca.pem);
    // A git with OpenSSL finds an authority by the hash of its name, one with GnuTLS reads all files.
    const { status, stderr, error } = spawnSync("openssl", ["rehash", folder.path]);
    if (status !== 0) {
      const why = error?.message ?? String(stderr).trim();
      return test.skip(`\`openssl rehash\` fails (${why}): install OpenSSL, the package openssl`);
    }
    await using server = await web(ca, "127.0.0.2");
    const git = new ServerGit({
      gitDir: folder.path,
      askpass: "/bin/false",
      resolve: async () => ["127.0.0.2"],
      env: { ...env, GIT_SSL_CAPATH: folder.path },
    });
    const url = `https://rebound.invalid:${server.port}/a`;
    const listing = git.run(["ls-remote", "--", url], {
      remote: { url, credentials: NO_CREDENTIALS },
    });
    await assert.rejects(listing, /not found/);
    assert.equal(server.asked.length, 1);
  });

  it("refuses a git that would look the host up by itself", async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "pin-"));
    const { path } = folder;
    writeFileSync(join(path, "git"), "#!/bin/sh\necho git version 2.36.6\n", { mode: 0o755 });
    const resolve: HostResolver = async () => ["192.0.43.8"];
    const old = { PATH: `${path}:${process.env.PATH}` };
    const git = new ServerGit({ gitDir: path, askpass: "/bin/false", resolve, env: old });
    const remote = { url: "https://example.com/a", credentials: NO_CREDENTIALS };
    const listing = git.run(["ls-remote", "--", remote.url], { remote });
    await assert.rejects(listing, /Cannot use git 2\.36: .* Install git 2\.37/);
  });

  it("lets a call that names no remote reach nothing", async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "pin-"));
    const resolve: HostResolver = async () => ["127.0.0.1"];
    const git = new ServerGit({ gitDir: folder.path, askpass: "/bin/false", resolve });
    for (const url of ["https://127.0.0.1:1/a", "ssh://127.0.0.1:1/a"]) {
      await assert.rejects(git.run(["ls-remote", "--", url]), /transport '\w+' not allowed/);
    }
  });

  it("does the same by ssh, and knows the host by its name", { skip: WITHOUT_SSHD }, async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "pin-"));
    const forced = join(folder.path, "forced");
    writeFileSync(forced, `#!/bin/sh\necho "$1" >> '${folder.path}/seen'\nexit 1\n`);
    chmodSync(forced, 0o755);
    await using server = await SshServer.start(join(folder.path, "sshd"), forced, ["ada"]);
    const key = readFileSync(join(folder.path, "sshd/host.pub"), "utf8");
    const known = join(folder.path, "known");
    const resolve: HostResolver = async () => ["127.0.0.1"];
    const git = new ServerGit({ gitDir: folder.path, askpass: "/bin/false", resolve, env });
    const options = `-F none -i ${server.keyOf("ada")} -o IdentitiesOnly=yes -o UserKnownHostsFile=${known}`;
    const sshCommand = `ssh ${options} -o GlobalKnownHostsFile=none -o StrictHostKeyChecking=yes -o BatchMode=yes`;
    const url = `ssh://${userInfo().username}@rebound.invalid:${server.port}/a`;
    const call = { remote: { url, credentials: { scope: "", sshCommand } } };
    writeFileSync(known, `[rebound.invalid]:${server.port} ${key}`);
    await assert.rejects(git.run(["ls-remote", "--", url], call), /Could not read from remote/);
    assert.equal(readFileSync(join(folder.path, "seen"), "utf8"), "ada\n");
    writeFileSync(known, `[other.invalid]:${server.port} ${key}`);
    await assert.rejects(git.run(["ls-remote", "--", url], call), /Host key verification failed/);
  });
});

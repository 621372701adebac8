import assert from "node:assert/strict";
import { test } from "node:test";
import { formatAddress, isLoopback, parseAddress, resolveHost } from "./address.ts";

test("parseAddress() reads a host and a port, with and without a scheme", () => {
  const cases: [string, string][] = [
    ["localhost:50100", "localhost:50100"],
    ["quic://127.0.0.1:1", "quic://127.0.0.1:1"],
    ["tls://bus.example:443", "tls://bus.example:443"],
    ["[::1]:9100", "[::1]:9100"],
    ["tls://[fe80::1]:0", "tls://[fe80::1]:0"],
  ];
  for (const [text, expected] of cases) assert.equal(formatAddress(parseAddress(text)), expected);
});

test("parseAddress() says what an address looks like if it cannot read one", () => {
  const wrong = ["", "localhost", ":50100", "http://localhost:1", "::1:9100", "a:99999", "a:1/x"];
  for (const text of wrong) {
    assert.throws(() => parseAddress(text), { code: "usage", message: /quic:\/\/HOST:PORT/ });
  }
});

test("resolveHost() tries IPv4 first, and names a host that does not exist", async () => {
  assert.deepEqual(await resolveHost("::1"), ["::1"]);
  assert.deepEqual(await resolveHost("localhost"), ["127.0.0.1", "::1"]);
  await assert.rejects(resolveHost("no-such-host.invalid"), {
    trouble: "refused",
    message: /'no-such-host\.invalid'/,
  });
});

test("isLoopback() knows the names and addresses of this machine", () => {
  for (const host of ["localhost", "127.0.0.1", "127.1.2.3", "::1"]) assert.ok(isLoopback(host));
  for (const host of ["0.0.0.0", "::", "10.0.0.1", "localhost.example", "1270.0.0.1"]) {
    assert.ok(!isLoopback(host), host);
  }
});

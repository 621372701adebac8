import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleCommandLine } from "../../../test/samples/sample-command-line.ts";
import { LoginCodes } from "../../store/access/login-codes.ts";
import { announceGateway } from "../../store/access/running-gateways.ts";

describe("trunkline open --qr", () => {
  it("draws a link that pairs a phone, once", async () => {
    await using line = await SampleCommandLine.create();
    const { path: data } = line.home;
    const browser = "https://tools.example.com";
    using _gateway = await announceGateway(data, { url: "http://127.0.0.1:4180", browser });
    const { code, out, err } = await line.run("open", "--qr", "--data", data);
    assert.equal(code, 0, err);
    const lines = out.trimEnd().split("\n");
    const link = lines.pop() ?? "";
    assert.match(link, /^https:\/\/tools\.example\.com\/login#[\w-]{22}$/);
    const drawn = lines.filter((each) => /^[ \u2580\u2584\u2588]+$/.test(each));
    assert.ok(drawn.length > 15 && drawn.length === lines.length, out);
    const codes = new LoginCodes(data);
    const [, secret = ""] = link.split("#");
    assert.deepEqual(await codes.take(secret), { isPairing: true });
    assert.equal(await codes.take(secret), undefined);
  });

  it("says what to do if a phone cannot reach the gateway", async () => {
    await using line = await SampleCommandLine.create();
    const { path: data } = line.home;
    const url = "http://127.0.0.1:4180";
    using _gateway = await announceGateway(data, { url, browser: url, listens: url });
    const { code, err } = await line.run("open", "--qr", "--data", data);
    assert.equal(code, 2);
    assert.match(err, /listens on http:\/\/127\.0\.0\.1:4180 only\. Set `serve\.publicUrl`/);
  });
});

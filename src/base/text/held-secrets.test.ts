import assert from "node:assert/strict";
import { describe, it } from "node:test";

import {
  HELD,
  holdSecret,
  MASK,
  holdSecrets,
  mask,
  maskAll,
  maskText,
  maskWhole,
  maskWords,
} from "./mask.ts";

const VALUE = 'Zk3 v"q/o+9&Lw';

describe("a secret that we hold", () => {
  it("is masked by its value, wherever it stands and however it is encoded", () => {
    holdSecret(VALUE);
    const base64 = ["", "a", "ab"].map((user) =>
      Buffer.from(`${user}${VALUE}:`).toString("base64"),
    );
    const forms = [
      VALUE,
      JSON.stringify(VALUE),
      encodeURIComponent(VALUE),
      Buffer.from(VALUE).toString("hex"),
      Buffer.from(`user:${VALUE}`).toString("base64url"),
      ...base64,
    ];
    for (const form of forms) {
      for (const hide of [maskText, maskWhole, maskWords, mask, maskAll]) {
        const shown = String(hide(`before ${form} after`));
        assert.match(shown, /^before .*•••.* after$/, `${hide.name} ${form}`);
      }
    }
    const plain = { list: [`x${VALUE}`] };
    const expected = `{"list":["x${MASK}"]}`;
    assert.equal(JSON.stringify(mask(plain)), expected);
  });

  it("is masked as other languages encode it", () => {
    const value = "qW3/zz+yy=&<pp x9kk";
    holdSecret(value);
    const small = (text: string): string => text.replaceAll(/%../g, (code) => code.toLowerCase());
    const forms = [
      small(encodeURIComponent(value)),
      encodeURI(value),
      new URLSearchParams({ a: value }).toString(),
      String.raw`qW3\/zz+yy=&<pp x9kk`,
      String.raw`qW3/zz+yy=\u0026\u003cpp x9kk`,
      Buffer.from(value).toString("hex").toUpperCase(),
    ];
    for (const form of forms) assert.match(maskWhole(form), /^(?:a=)?•••$/, form);
  });

  it("is found in any text that it is a part of, line by line", () => {
    holdSecret("first-line-0\nsecond-line-0");
    assert.equal(maskWhole("> second-line-0 <"), "> ••• <");
    assert.equal(HELD.mask("nothing"), "nothing");
  });

  it("is not taken for one where it is short, or says only where one is", () => {
    holdSecret("short-7");
    holdSecrets({
      GOOGLE_CREDENTIALS: "/etc/google/key.json",
      TOKEN_FILE: "token-file-name",
      TRUNKLINE_TOKEN_STORE: "keychain",
      token: "${keychain:NAME}",
      LEVEL: "level-of-something",
    });
    const text = "short-7 /etc/google/key.json token-file-name ${keychain:NAME} level-of-something";
    assert.equal(maskWhole(text), text);
  });

  it("is found among settings by its name, as a header and in a list of pairs", () => {
    holdSecrets({
      servers: { a: { headers: { Authorization: "Bearer header-value" } } },
      env: [{ name: "API_KEY", value: "pair-value-1" }],
    });
    assert.equal(maskWhole("header-value, pair-value-1"), "•••, •••");
  });

  it("leaves no half of itself where a text is cut", () => {
    const long = `half-${"0123456789".repeat(60)}`;
    holdSecret(long);
    for (const before of [3_400, 3_700, 3_900, 4_090, 4_095]) {
      const shown = maskText(`${"x".repeat(before)}${long}${"y".repeat(2_000)}`);
      assert.doesNotMatch(shown, /half-|0123/, String(before));
    }
  });

  it("is forgotten when a thousand newer ones are held, and costs no more time", () => {
    holdSecret("the-oldest-of-all");
    for (let at = 0; at < 1_000; at++) holdSecret(`newer-secret-${at}`);
    assert.equal(maskWhole("newer-secret-999 the-oldest-of-all"), "••• the-oldest-of-all");
    const costOf = (): number => {
      const started = process.threadCpuUsage();
      maskWhole("newer-secret-".repeat(2_000));
      const { user, system } = process.threadCpuUsage(started);
      return user + system;
    };
    // The first one is slower: its code is not compiled yet.
    costOf();
    const before = costOf();
    for (let at = 1_000; at < 20_000; at++) holdSecret(`newer-secret-${at}`);
    costOf();
    const after = costOf();
    assert.ok(after < 8 * before, `${after} µs, with a thousand held ${before}`);
  });
});

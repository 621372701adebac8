import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { mask, maskText, maskWhole, maskWords } from "./mask.ts";

const MASK = "•••";
const plain = (value: unknown) => JSON.parse(JSON.stringify(mask(value))) as unknown;

describe("mask", () => {
  it("masks a field by its name, at any depth", () => {
    const names = [
      "token",
      "accessToken",
      "ACCESS_TOKEN",
      "GITHUB_TOKEN",
      "my token\n",
      "secret",
      "clientSecret",
      "password",
      "PASSWD",
      "passphrase",
      "apiKey",
      "ANTHROPIC_API_KEY",
      "x-api-key",
      "privateKey",
      "credentials",
      "cookie",
      "Set-Cookie",
      "Authorization",
      "proxy-authorization",
      "pin",
      "bearer",
      "auth",
    ];
    for (const name of names) {
      const masked = plain({
        list: [{ [name]: "x1" }],
        [name]: { deep: "x2" },
        n: { [name]: 1234 },
      });
      const expected = { list: [{ [name]: MASK }], [name]: MASK, n: { [name]: MASK } };
      assert.deepEqual(masked, expected, name);
    }
  });

  it("leaves alone names that only sound like a secret, and values that reveal nothing", () => {
    const harmless = {
      maxTokens: 4096,
      max_tokens: 4096,
      inputTokens: 12,
      tokens: 7,
      progressToken: "p-1",
      progress_token: 3,
      nextCursor: "page 2",
      nextToken: "page 2",
      tokenType: "oauth",
      tokenEnvVar: "GITHUB_TOKEN",
      credentialSource: "keychain",
      authMethods: [],
      author: "me",
      authorizationUrl: "https://example.com",
      spinner: "on",
      token: "",
      password: null,
      apiKey: true,
      tokensUsed: { tokens: { input: 5 } },
    };
    const { tokensUsed, ...rest } = harmless;
    assert.deepEqual(plain(rest), rest);
    assert.deepEqual(plain({ tokens: tokensUsed.tokens }), { tokens: { input: 5 } });
  });

  it("masks lists of tokens, but not a count of the same name", () => {
    assert.deepEqual(plain({ tokens: ["a1b2"], accessTokens: "a1b2" }), {
      tokens: MASK,
      accessTokens: MASK,
    });
  });

  it("masks the value of a pair whose name is that of a secret", () => {
    const env = [
      { name: "API_KEY", value: "k1" },
      { name: "PATH", value: "/bin" },
      { name: "Authorization", value: "x" },
    ];
    assert.deepEqual(plain({ env }), {
      env: [
        { name: "API_KEY", value: MASK },
        { name: "PATH", value: "/bin" },
        { name: "Authorization", value: MASK },
      ],
    });
  });

  it("ends circular structures, however wide", () => {
    const cycle: Record<string, unknown> = { name: "root", list: [] };
    for (let i = 0; i < 20; i++) cycle[`self${i}`] = cycle;
    (cycle.list as unknown[]).push(cycle, cycle.list);
    const masked = plain(cycle) as Record<string, unknown>;
    assert.equal(masked.name, "root");
    assert.equal(masked.self0, "(circular)");
    assert.deepEqual(masked.list, ["(circular)", "(circular)"]);
  });

  it("shows a value twice if it occurs in two places", () => {
    const shared = { a: 1 };
    assert.deepEqual(plain([shared, shared]), [shared, shared]);
  });

  it("cuts deep and large structures", () => {
    let deep: unknown = "bottom";
    for (let i = 0; i < 10_000; i++) deep = [deep];
    assert.match(JSON.stringify(mask(deep)), /^\[{12}"…"\]{12}$/);
    let wide: unknown = "leaf";
    for (let i = 0; i < 11; i++) wide = Array(10).fill(wide);
    assert.ok(JSON.stringify(mask(wide)).length < 1_000_000);
    const list = mask(Array(20_000).fill(1)) as unknown[];
    assert.equal(list.at(-1), "… (20000)");
    const fields = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`k${i}`, i]));
    assert.ok(Object.keys(mask(fields) as object).length <= 10_001);
  });

  it("replaces values that JSON cannot represent", () => {
    const values = {
      big: 10n,
      bytes: Buffer.alloc(5000),
      date: new Date(0),
      url: new URL("https://me:pw@example.com/"),
      nothing: undefined,
      error: new Error("at ghp_0123456789abcdefghij"),
    };
    const masked = plain(values) as Record<string, unknown>;
    assert.match(String(masked.error), /^Error: at •••\n {4}at /);
    assert.deepEqual(
      { ...masked, error: "" },
      {
        big: "10",
        bytes: "(5000 bytes)",
        date: "1970-01-01T00:00:00.000Z",
        url: "https://me:•••@example.com/",
        error: "",
      },
    );
  });

  it("does not modify the original, nor any prototype", () => {
    const original = JSON.parse('{"__proto__":{"token":"x"},"constructor":{"a":1},"token":"y"}');
    const before = JSON.stringify(original);
    const masked = mask(original) as Record<string, unknown>;
    assert.equal(JSON.stringify(original), before);
    assert.equal(
      JSON.stringify(masked),
      before.replace('"x"', `"${MASK}"`).replace('"y"', `"${MASK}"`),
    );
    assert.equal(({} as Record<string, unknown>).token, undefined);
  });
});

describe("maskText", () => {
  it("masks text that has the shape of a secret", () => {
    const key = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blbn\n-----END OPENSSH PRIVATE KEY-----";
    const table: [text: string, masked: string][] = [
      ["ghp_0123456789abcdefghij!", "•••!"],
      ["github_pat_0123456789abcdefghij", MASK],
      ["glpat-0123456789abcdef", MASK],
      ["key sk-ant-api03-0123456789abcdef.", "key •••."],
      ["xoxb-0123456789", MASK],
      ["AKIAABCDEFGHIJKLMNOP", MASK],
      ["Authorization: Bearer abc.def-123=", "Authorization: Bearer •••"],
      ["authorization: bearer abcdefgh", "authorization: bearer •••"],
      ["Basic dXNlcjpwYXNz", "Basic •••"],
      ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0AAA.c2ln", MASK],
      ["https://me:pw@example.com/x", "https://me:•••@example.com/x"],
      ["https://me:p@ss:w0rd@example.com/a@b", "https://me:•••@example.com/a@b"],
      ["https://x-access-token:abc@host", "https://x-access-token:•••@host"],
      ["https://h/?access_token=abc&b=1", "https://h/?access_token=•••&b=1"],
      ["https://h/?a=1&api_key=abc#f", "https://h/?a=1&api_key=•••#f"],
      ["https://h/?exaApiKey=abc&b=1", "https://h/?exaApiKey=•••&b=1"],
      ["https://h/?accessToken=abc&X-API_KEY=d", "https://h/?accessToken=•••&X-API_KEY=•••"],
      ["https://h/?key=PROJ-1&tokens=2", "https://h/?key=PROJ-1&tokens=2"],
      [`a\n${key}\nb ${key}`, "a\n•••\nb •••"],
      ["-----BEGIN PRIVATE KEY-----\nb3Blbn", MASK],
      ["git@github.com:me/repo.git", "git@github.com:me/repo.git"],
      ["see https://example.com:8080/path", "see https://example.com:8080/path"],
      ["task-0123456789abcdefghij", "task-0123456789abcdefghij"],
    ];
    for (const [text, masked] of table) assert.equal(maskText(text), masked);
  });

  it("finds each shape of secret in a text that has no other mark of one", () => {
    const long = "0123456789abcdefghij0123456789";
    const table: [text: string, masked: string][] = [
      ...[
        "ghp_",
        "gho_",
        "ghu_",
        "ghs_",
        "ghr_",
        "github_pat_",
        "tlk_",
        "npm_",
        "glpat-",
        "sk-",
      ].map((start): [string, string] => [start + long, MASK]),
      ...["xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxo-", "xoxs-", "ATBB", "AIza"].map(
        (start): [string, string] => [start + long, MASK],
      ),
      ["AKIA0123456789ABCDEF", MASK],
      ["ey0123456789.ey0123456789.0123", MASK],
      ["-----BEGIN RSA PRIVATE KEY-----x", MASK],
      ...["Bearer", "bearer", "BEARER", "Basic", "basic", "BASIC"].map((word): [string, string] => [
        `${word} ${long}`,
        `${word} ${MASK}`,
      ]),
      ["ftp://me:pw@host", "ftp://me:•••@host"],
      ...["token", "secret", "password", "apikey", "api_key", "my_token", "id_secret"].map(
        (name): [string, string] => [`/path?${name}=x1`, `/path?${name}=•••`],
      ),
      ...["apiKey", "clientSecret", "authToken", "x-api-key", "userPassword"].map(
        (name): [string, string] => [`/path?${name}=x1`, `/path?${name}=•••`],
      ),
    ];
    for (const [text, masked] of table) assert.equal(maskText(text), masked);
  });

  it("cuts a long text, but never in the middle of a secret", () => {
    assert.match(maskText("x".repeat(5000)), /^x{3840}… \(5000\)$/);
    const secret = "ghp_0123456789abcdefghij";
    for (let at = 4000; at < 4100; at++) {
      const masked = maskText("x ".repeat(at / 2).slice(0, at) + " " + secret + " y".repeat(500));
      assert.ok(!masked.includes("ghp"), `a secret at ${at} was cut`);
      assert.ok(masked.length < 4200);
    }
  });

  it("is fast on hostile text", () => {
    const units = ["ey-", "ey_ey-", "-----BEGIN ", "-----END ", "://a:", "a:", ":", "@", "Bearer "];
    const texts = [
      ...units,
      "?token=",
      "&api_key",
      "token=",
      "sk-",
      "\n",
      "-----BEGIN PRIVATE KEY-----",
      ...["TOKEN=", 'TOKEN="', "token=a1", "--password ", "--", "-u a:", "x-api-key: ", "sk-a-"],
      ...[
        '"token":"',
        '"token": "',
        "authorization: ",
        "cookie: a=",
        '\\"',
        "SG.aaaaaaaaaaaaaaaaaaaa.",
      ],
    ].map((unit) => unit.repeat(Math.ceil(40_960 / unit.length)));
    const started = process.threadCpuUsage();
    for (const text of texts) for (let i = 0; i < 2; i++) maskWhole(text);
    mask({ [`${"token".repeat(200_000)}\n`]: 1 });
    const { user, system } = process.threadCpuUsage(started);
    assert.ok(user + system < 3_000_000, `${user + system} µs`);
  });
});

const TOKEN = `ghp_${"a1".repeat(18)}`;

describe("maskWhole()", () => {
  it("does not cut a long text, and leaves the rest unchanged", () => {
    assert.equal(maskWhole(`a ${TOKEN} b\n\tc  \n`), "a ••• b\n\tc  \n");
    const key = "-----BEGIN PRIVATE KEY-----\nabc\ndef\n-----END PRIVATE KEY-----";
    assert.equal(maskWhole(`x\n${key}\ny`), "x\n•••\ny");
    const long = `${"word ".repeat(3_000)}${TOKEN} ${"x".repeat(9_000)}`;
    const shown = maskWhole(long);
    assert.equal(shown.length, long.length - TOKEN.length + 3);
    assert.doesNotMatch(shown, /ghp_/);
  });
});

describe("maskWords()", () => {
  it("masks secrets that are a single word, by their shape and by their field name", () => {
    const value = { text: `use ${TOKEN} now`, token: "s3cret", list: [{ password: "x" }] };
    assert.deepEqual(maskWords(value), {
      text: "use ••• now",
      token: "•••",
      list: [{ password: "•••" }],
    });
    const key = "-----BEGIN PRIVATE KEY-----\nMIIB+/==\n-----END PRIVATE KEY-----";
    assert.equal(maskWords(`<${key}>`), "<•••>");
  });

  it("shows text that could be a command", () => {
    const commands = [
      "curl 'https://example.org/?token=$(rm${IFS}-rf${IFS}~)'",
      "git clone https://a:$(evil)@example.org/x",
      "echo '-----BEGIN PRIVATE KEY-----'; rm -rf ~",
      "echo '-----BEGIN PRIVATE KEY-----'; rm -rf ~; echo '-----END PRIVATE KEY-----'",
    ];
    for (const command of commands) assert.equal(maskWords(command), command);
    assert.deepEqual(maskWords({ auth: "rm -rf ~" }), { auth: "rm -rf ~" });
    assert.deepEqual(maskWords({ token: { command: "rm" } }), { token: { command: "rm" } });
  });

  it("masks the values of environments and headers", () => {
    const header = { name: "X-Api-Key", value: "plain-but-secret" };
    assert.deepEqual(maskWords([header]), [{ ...header, value: "•••" }]);
    const other = { name: "PATH", value: "/usr/bin" };
    assert.deepEqual(maskWords(other), other);
  });

  it("leaves nothing out", () => {
    const value = { text: "word ".repeat(100_000), many: Array.from({ length: 20_000 }, () => 1) };
    assert.deepEqual(maskWords(value), value);
    let deep: unknown = "end";
    for (let level = 0; level < 200; level++) deep = [deep];
    assert.deepEqual(maskWords(deep), deep);
  });

  it("keeps fields whatever their names", () => {
    const value = JSON.parse(`{"__proto__":{"a":1},"constructor":2}`) as object;
    assert.equal(JSON.stringify(maskWords(value)), JSON.stringify(value));
  });
});

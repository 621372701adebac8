import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { maskText, maskWhole } from "./mask.ts";

describe("the list of patterns", () => {
  it("masks what follows a name, a flag or a header that says that it is a secret", () => {
    const table: [text: string, masked: string][] = [
      ["DB_PASSWORD=hunter2", "DB_PASSWORD=•••"],
      ["export GITHUB_TOKEN='abc def'; run", "export GITHUB_TOKEN='•••'; run"],
      ['MY_API_KEY="abcdef" cmd', 'MY_API_KEY="•••" cmd'],
      ["AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG", "AWS_SECRET_ACCESS_KEY=•••"],
      ["Server=h;Password=hunter2x;", "Server=h;Password=•••;"],
      ["accessToken=abc123def456", "accessToken=•••"],
      ["mysql --password=x y", "mysql --password=••• y"],
      ["mysql --password hunter2 y", "mysql --password ••• y"],
      ["cli --api-key swordfish", "cli --api-key •••"],
      ["cli --access-token 'a b' c", "cli --access-token '•••' c"],
      ["curl -u ada:pw https://h/", "curl -u ada:••• https://h/"],
      ['curl --user "ada:p:w" h', 'curl --user "ada:•••" h'],
      ["curl -H 'X-Api-Key: abcdef'", "curl -H 'X-Api-Key: •••'"],
      ["x-auth-token: abcdef", "x-auth-token: •••"],
      ["Authorization: abc123def", "Authorization: •••"],
      ["Authorization: token abcdef", "Authorization: token •••"],
      ["Cookie: sid=abcdef; b=2", "Cookie: •••"],
      [`{"apiKey": "abc123"}`, `{"apiKey": "•••"}`],
      [`{"password":"swordfish"}`, `{"password":"•••"}`],
      [String.raw`"{\"client_secret\":\"swordfish\"}"`, String.raw`"{\"client_secret\":\"•••\"}"`],
    ];
    for (const [text, masked] of table) assert.equal(maskText(text), masked);
  });

  it("leaves alone what only speaks of secrets", () => {
    const texts = [
      ...[
        "const token = await getToken(name);",
        "token=token",
        "connect(password=config.password)",
      ],
      ...["GITHUB_TOKEN=$(cat token)", 'API_KEY="$KEY" run', "TOKEN=<your token>", "API_KEY=KEY"],
      ...[
        "--token NAME",
        "--password-stdin",
        "`--token` is needed",
        "--api-key $KEY",
        "MAX_TOKENS=4096",
      ],
      ...["docker run -u 1000:1000 image", "git push -u origin HEAD:main", "x-api-key: string"],
      ...[
        "authorization: header",
        '"x-api-key": key',
        '"password": "Passwort"',
        '"token": "string"',
      ],
      ...[
        '"js-tokens": "^9.0.1"',
        '"tough-cookie": "6.0.0"',
        '"secret": "${SECRET}"',
        "sk-spinner-large-wrapper",
      ],
      ...[
        "Basic knowledge of bearer instruments",
        "cookie: cookies.join(x)",
        "nextToken=page2abc1",
      ],
    ];
    for (const text of texts) assert.equal(maskText(text), text);
  });

  it("masks nothing in our own source, but for the values that its tests make up", () => {
    const root = join(import.meta.dirname, "../../..");
    const files = globSync(
      "{src,docs,deploy,proto,schema,scripts}/**/*.{ts,tsx,css,md,json,yaml,proto}",
      { cwd: root },
    );
    const lines = files
      .filter((file) => !/\.test\.ts$|\.gen\.ts$|test\//.test(file))
      .flatMap((file) => readFileSync(join(root, file), "utf8").split("\n"));
    assert.ok(lines.length > 50_000, `${lines.length} lines`);
    const masked = lines.filter((line) => maskWhole(line) !== line);
    // Examples of secrets in documents and comments.
    assert.ok(masked.length <= 8, masked.join("\n"));
  });
});

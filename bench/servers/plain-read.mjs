// Reads what a command works on, and does nothing with it.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

const [what, path] = process.argv.slice(2);
if (what === "findings") {
  JSON.parse(readFileSync(join(path, ".git/found.sarif"), "utf8"));
  for (const name of readdirSync(path)) {
    if (name !== ".git") readFileSync(join(path, name), "utf8").split("\n");
  }
} else {
  const database = new DatabaseSync(join(path, "sessions.sqlite"), { readOnly: true });
  if (what === "sessions") {
    for (const row of database.prepare("SELECT * FROM session ORDER BY updated DESC").all()) {
      process.stdout.write(`${row.uuid} ${row.title} ${row.cwd}\n`);
    }
  } else {
    for (const { lines } of database.prepare("SELECT lines FROM session_page").iterate()) {
      for (const line of lines.split("\n")) if (line !== "") JSON.parse(line);
    }
  }
}

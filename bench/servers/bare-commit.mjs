// The smallest program that could store a comment: a process that opens a database and commits one row to it.
import { DatabaseSync } from "node:sqlite";

const database = new DatabaseSync(process.argv[2]);
database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
database.exec("CREATE TABLE IF NOT EXISTS comment (id INTEGER PRIMARY KEY, text TEXT)");
database.prepare("INSERT INTO comment (text) VALUES (?)").run("Please handle the error here.");
database.close();

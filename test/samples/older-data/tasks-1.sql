PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE task (
     id TEXT PRIMARY KEY,
     -- The process that works on it; none once it is over.
     holder TEXT,
     record TEXT NOT NULL,
     expires INTEGER
   ) STRICT, WITHOUT ROWID;
INSERT INTO task VALUES('k1','6013-8274b4ee-5685-43d8-93c1-b16eda3286f4','{"id":"k1","createdAt":"2026-01-01T00:00:00.000Z","ttl":null}',NULL);
CREATE INDEX task_held ON task (holder) WHERE holder IS NOT NULL;
CREATE INDEX task_expires ON task (expires) WHERE expires IS NOT NULL;
COMMIT;
PRAGMA user_version = 1;

PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE document_change (
     id INTEGER PRIMARY KEY,
     path TEXT NOT NULL,
     version INTEGER NOT NULL,
     at INTEGER NOT NULL,
     content BLOB,
     metadata TEXT,
     UNIQUE (path, version)
   ) STRICT;
INSERT INTO document_change VALUES(1,'notes/a',1,1794812032743,X'68656c6c6f','{"kind":"note"}');
CREATE TABLE document (
     path TEXT PRIMARY KEY,
     version INTEGER NOT NULL,
     at INTEGER NOT NULL,
     size INTEGER,
     change INTEGER NOT NULL REFERENCES document_change (id)
   ) STRICT, WITHOUT ROWID;
INSERT INTO document VALUES('notes/a',1,1794812032743,5,1);
CREATE TRIGGER document_change_is_not_altered BEFORE UPDATE ON document_change
   BEGIN SELECT RAISE(ABORT, 'the history of documents is never altered'); END;
CREATE TRIGGER document_change_is_not_forgotten BEFORE DELETE ON document_change
   BEGIN SELECT RAISE(ABORT, 'the history of documents is never forgotten'); END;
CREATE TRIGGER document_follows AFTER INSERT ON document_change
   BEGIN
     INSERT INTO document (path, version, at, size, change)
     VALUES (new.path, new.version, new.at, length(new.content), new.id)
     ON CONFLICT (path) DO UPDATE
     SET version = excluded.version, at = excluded.at, size = excluded.size,
         change = excluded.change;
   END;
COMMIT;
PRAGMA user_version = 1;

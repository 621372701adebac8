PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE repository (
     id INTEGER PRIMARY KEY,
     git_dir TEXT NOT NULL UNIQUE,
     root TEXT NOT NULL
   , first_commit TEXT, remotes TEXT NOT NULL DEFAULT '[]') STRICT;
INSERT INTO repository VALUES(1,'/home/ada/site/.git','/home/ada/site',NULL,'[]');
CREATE TABLE text (
     blob TEXT PRIMARY KEY,
     content BLOB NOT NULL
   ) STRICT, WITHOUT ROWID;
CREATE TABLE event (
     seq INTEGER PRIMARY KEY AUTOINCREMENT,
     thread TEXT NOT NULL,
     kind TEXT NOT NULL,
     at INTEGER NOT NULL,
     author TEXT NOT NULL,
     role TEXT NOT NULL,
     body TEXT NOT NULL,
     -- When it was written down, which is later than when it was said where it came from elsewhere.
     recorded INTEGER NOT NULL,
     -- Of what a person says to agents: in which repository.
     message_in INTEGER REFERENCES repository (id)
   ) STRICT;
INSERT INTO event VALUES(1,'remh51','opened',1794812032676,'ada','person','{"text":"Say why"}',1794812032692,1);
CREATE TABLE thread (
     id TEXT PRIMARY KEY,
     repository INTEGER NOT NULL REFERENCES repository (id),
     opened INTEGER NOT NULL REFERENCES event (seq),
     path TEXT NOT NULL,
     anchor TEXT NOT NULL,
     severity TEXT NOT NULL,
     comment TEXT NOT NULL,
     suggestion TEXT,
     state TEXT NOT NULL,
     author TEXT NOT NULL,
     source TEXT NOT NULL,
     at INTEGER NOT NULL,
     updated INTEGER NOT NULL,
     agent TEXT,
     holder TEXT,
     lease INTEGER,
     -- What was said on it before it was claimed, or claimed before it was returned.
     state_before TEXT,
     fingerprint TEXT, client TEXT,
     UNIQUE (repository, fingerprint)
   ) STRICT, WITHOUT ROWID;
INSERT INTO thread VALUES('remh51',1,1,'a.txt','{"path":"a.txt","side":"new","line":1,"end":1}','should','Say why',NULL,'open','ada','cli',1794812032676,1794812032676,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE delivery (
     reader TEXT NOT NULL,
     message INTEGER NOT NULL REFERENCES event (seq),
     holder TEXT NOT NULL,
     at INTEGER NOT NULL,
     sent INTEGER NOT NULL DEFAULT 0, answer TEXT,
     PRIMARY KEY (reader, message)
   ) STRICT, WITHOUT ROWID;
CREATE TABLE doubtful_delivery (
     reader TEXT NOT NULL,
     message INTEGER NOT NULL REFERENCES event (seq),
     answer TEXT NOT NULL,
     PRIMARY KEY (reader, message)
   ) STRICT, WITHOUT ROWID;
CREATE TABLE remote_thread (
     thread TEXT PRIMARY KEY REFERENCES thread (id),
     is_resolved INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
CREATE TABLE remote_comment (
     thread TEXT NOT NULL REFERENCES thread (id),
     comment TEXT NOT NULL,
     event INTEGER NOT NULL REFERENCES event (seq),
     PRIMARY KEY (thread, comment)
   ) STRICT, WITHOUT ROWID;
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('event',1);
CREATE INDEX event_of_thread ON event (thread, seq);
CREATE INDEX message ON event (message_in, seq) WHERE message_in IS NOT NULL;
CREATE INDEX thread_in_order ON thread (repository, opened);
CREATE INDEX thread_by_state ON thread (state, opened);
CREATE INDEX delivery_not_sent ON delivery (reader) WHERE sent = 0;
CREATE TRIGGER event_is_not_altered BEFORE UPDATE ON event
   BEGIN SELECT RAISE(ABORT, 'what happened is never altered'); END;
CREATE TRIGGER event_is_not_forgotten BEFORE DELETE ON event
   BEGIN SELECT RAISE(ABORT, 'what happened is never forgotten'); END;
CREATE INDEX remote_comment_of_event ON remote_comment (thread, event);
COMMIT;
PRAGMA user_version = 7;

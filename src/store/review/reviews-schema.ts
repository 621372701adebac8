/** Migrations of the database of reviews; see `Database.open`. */
export const REVIEW_MIGRATIONS = [
  `CREATE TABLE repository (
     id INTEGER PRIMARY KEY,
     git_dir TEXT NOT NULL UNIQUE,
     root TEXT NOT NULL
   ) STRICT;

   -- Texts of files that are commented on, as toKept() has them, by the id that git has for them.
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

   CREATE INDEX event_of_thread ON event (thread, seq);
   CREATE INDEX message ON event (message_in, seq) WHERE message_in IS NOT NULL;

   CREATE TRIGGER event_is_not_altered BEFORE UPDATE ON event
   BEGIN SELECT RAISE(ABORT, 'what happened is never altered'); END;

   CREATE TRIGGER event_is_not_forgotten BEFORE DELETE ON event
   BEGIN SELECT RAISE(ABORT, 'what happened is never forgotten'); END;

   -- What the events come to.
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
     fingerprint TEXT,
     UNIQUE (repository, fingerprint)
   ) STRICT, WITHOUT ROWID;

   CREATE INDEX thread_in_order ON thread (repository, opened);
   CREATE INDEX thread_by_state ON thread (state, opened);

   -- Who was given which message. It counts as given once the answer has left, which \`sent\` says;
   -- before that it is with a holder, and comes back when that one dies.
   CREATE TABLE delivery (
     reader TEXT NOT NULL,
     message INTEGER NOT NULL REFERENCES event (seq),
     holder TEXT NOT NULL,
     at INTEGER NOT NULL,
     sent INTEGER NOT NULL DEFAULT 0,
     PRIMARY KEY (reader, message)
   ) STRICT, WITHOUT ROWID;

   CREATE INDEX delivery_not_sent ON delivery (reader) WHERE sent = 0;`,

  // The client of the holder that has the claim: one process may serve several.
  "ALTER TABLE thread ADD COLUMN client TEXT;",

  `-- The answer that a message was delivered in; readers acknowledge answers.
   ALTER TABLE delivery ADD COLUMN answer TEXT;

   -- Messages whose holder died while it sent them, so that they may have arrived. They are delivered
   -- once more, and then never again.
   CREATE TABLE doubtful_delivery (
     reader TEXT NOT NULL,
     message INTEGER NOT NULL REFERENCES event (seq),
     answer TEXT NOT NULL,
     PRIMARY KEY (reader, message)
   ) STRICT, WITHOUT ROWID;`,

  // What a repository is recognised by after it was moved: its first commit, and its remotes.
  `ALTER TABLE repository ADD COLUMN first_commit TEXT;
   ALTER TABLE repository ADD COLUMN remotes TEXT NOT NULL DEFAULT '[]';`,

  `-- Threads of a forge, and what the forge had to say of them last.
   CREATE TABLE remote_thread (
     thread TEXT PRIMARY KEY REFERENCES thread (id),
     is_resolved INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;

   -- Which comment of the forge an event is: of those that came from there, and of those posted.
   CREATE TABLE remote_comment (
     thread TEXT NOT NULL REFERENCES thread (id),
     comment TEXT NOT NULL,
     event INTEGER NOT NULL REFERENCES event (seq),
     PRIMARY KEY (thread, comment)
   ) STRICT, WITHOUT ROWID;

   CREATE INDEX remote_comment_of_event ON remote_comment (thread, event);`,

  `-- What a list of threads needs of their anchors: parsing ten thousand of them takes too long.
   ALTER TABLE thread ADD COLUMN side TEXT;
   ALTER TABLE thread ADD COLUMN line INTEGER;
   ALTER TABLE thread ADD COLUMN last_line INTEGER;
   ALTER TABLE thread ADD COLUMN blob TEXT;
   ALTER TABLE thread ADD COLUMN made_on TEXT;
   UPDATE thread SET side = anchor ->> 'side', line = anchor ->> 'line', last_line = anchor ->> 'end',
     blob = anchor ->> 'blob', made_on = anchor ->> 'commit';`,

  `-- The anchor says the same.
   ALTER TABLE thread DROP COLUMN side;
   ALTER TABLE thread DROP COLUMN line;
   ALTER TABLE thread DROP COLUMN last_line;
   ALTER TABLE thread DROP COLUMN blob;
   ALTER TABLE thread DROP COLUMN made_on;`,
];

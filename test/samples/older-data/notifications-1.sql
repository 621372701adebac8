PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE notice (
     id TEXT PRIMARY KEY,
     at INTEGER NOT NULL,
     -- What happened, as JSON.
     content TEXT NOT NULL
   ) STRICT, WITHOUT ROWID;
INSERT INTO notice VALUES('n1',1700000000000,'{"reason":"test"}');
CREATE TABLE delivery (
     id TEXT PRIMARY KEY,
     notice TEXT NOT NULL REFERENCES notice (id) ON DELETE CASCADE,
     -- The entry of the configuration, and for a push the device.
     entry TEXT NOT NULL,
     device TEXT,
     -- The receiver, for people.
     receiver TEXT NOT NULL,
     state TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'failed', 'withdrawn')),
     attempts INTEGER NOT NULL DEFAULT 0,
     -- When the next attempt is due.
     due INTEGER NOT NULL,
     -- The process that is sending it.
     holder TEXT,
     -- What the last attempt came to.
     result TEXT,
     changed INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
INSERT INTO delivery VALUES('98877e78-ac2b-498b-a49e-5b3390df96f4','n1','hook',NULL,'hook','pending',0,1794812032715,NULL,NULL,1794812032715);
CREATE TABLE attempt (
     delivery TEXT NOT NULL REFERENCES delivery (id) ON DELETE CASCADE,
     at INTEGER NOT NULL,
     result TEXT NOT NULL
   ) STRICT;
CREATE TABLE request (
     id TEXT PRIMARY KEY,
     session TEXT NOT NULL,
     at INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
CREATE TABLE answer (
     -- Of the token, which is not stored.
     sha256 TEXT PRIMARY KEY,
     request TEXT NOT NULL REFERENCES request (id) ON DELETE CASCADE,
     option TEXT NOT NULL,
     expires INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
CREATE TABLE push_device (
     id TEXT PRIMARY KEY,
     endpoint TEXT NOT NULL UNIQUE,
     p256dh TEXT NOT NULL,
     auth TEXT NOT NULL,
     name TEXT NOT NULL,
     -- What lets the device in; it gets nothing once that has ended.
     proof TEXT NOT NULL,
     created INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
INSERT INTO push_device VALUES('07cc6c9b-a859-4427-9314-ed69bb2a1ee4','https://fcm.googleapis.com/1','B','a','Phone','login 1',1700000000000);
CREATE INDEX delivery_due ON delivery (due) WHERE state = 'pending';
CREATE INDEX delivery_notice ON delivery (notice);
CREATE INDEX attempt_of ON attempt (delivery);
CREATE INDEX answer_of ON answer (request);
COMMIT;
PRAGMA user_version = 1;

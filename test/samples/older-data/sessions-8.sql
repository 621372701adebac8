PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE session (
     id INTEGER PRIMARY KEY,
     uuid TEXT NOT NULL UNIQUE,
     cwd TEXT NOT NULL,
     agent TEXT NOT NULL,
     title TEXT,
     created INTEGER NOT NULL,
     updated INTEGER NOT NULL,
     parent TEXT,
     notes TEXT NOT NULL,
     deleted INTEGER,
     holder TEXT
   , epoch INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO session VALUES(1,'11111111-1111-4111-8111-111111111111','/home/ada/site','other','Mend it',1794812032626,1794812032626,NULL,'{"owner":"token ann"}',NULL,NULL,4);
CREATE TABLE session_page (
     id INTEGER PRIMARY KEY,
     session INTEGER NOT NULL REFERENCES session (id),
     first INTEGER NOT NULL,
     last INTEGER NOT NULL,
     lines TEXT NOT NULL
   ) STRICT;
INSERT INTO session_page VALUES(1,1,1,1,replace('[1,1794812032643,"agent",{"kind":"prompt","turnId":"t1","prompt":[{"type":"text","text":"Mend it"}],"by":"zed"}]\n','\n',char(10)));
INSERT INTO session_page VALUES(2,1,2,4,replace('[2,1794812032650,"agent",{"kind":"update","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"It "},"messageId":"m1"}}]\n[1,"is "]\n[12,"mended"]\n','\n',char(10)));
CREATE TABLE permission_rule (
     id INTEGER PRIMARY KEY,
     workspace TEXT NOT NULL,
     subject TEXT NOT NULL,
     decision TEXT NOT NULL CHECK (decision IN ('allow', 'reject')),
     created INTEGER NOT NULL,
     session TEXT NOT NULL,
     said_by TEXT NOT NULL,
     revoked INTEGER
   , principal TEXT NOT NULL DEFAULT '') STRICT;
INSERT INTO permission_rule VALUES(1,'/home/ada/site','{"action":"run","command":"npm test","folder":".","sandbox":"in"}','allow',1794812032644,'11111111-1111-4111-8111-111111111111','zed',NULL,'token ann');
CREATE TABLE turn_usage (
     id INTEGER PRIMARY KEY,
     turn TEXT NOT NULL UNIQUE,
     session TEXT NOT NULL,
     principal TEXT NOT NULL,
     day TEXT NOT NULL,
     tokens REAL NOT NULL,
     cost REAL NOT NULL,
     steps INTEGER NOT NULL,
     time REAL NOT NULL,
     reported_cost REAL
   ) STRICT;
CREATE INDEX session_updated ON session (updated DESC) WHERE deleted IS NULL;
CREATE UNIQUE INDEX session_page_order ON session_page (session, first);
CREATE UNIQUE INDEX permission_rule_in_force ON permission_rule (principal, workspace, subject)
   WHERE revoked IS NULL;
CREATE INDEX turn_usage_session ON turn_usage (session);
CREATE INDEX turn_usage_day ON turn_usage (principal, day);
CREATE INDEX session_held ON session (holder) WHERE holder IS NOT NULL;
CREATE TRIGGER session_page_is_not_altered BEFORE UPDATE ON session_page
   BEGIN SELECT RAISE(ABORT, 'what was said is never altered'); END;
CREATE TABLE session_replica (
     session INTEGER PRIMARY KEY REFERENCES session (id),
     epoch INTEGER NOT NULL,
     sequence INTEGER NOT NULL
   ) STRICT;
INSERT INTO session_replica VALUES(1,3,17);
CREATE TABLE session_move (
     session TEXT NOT NULL,
     way TEXT NOT NULL CHECK (way IN ('out', 'in')),
     move TEXT NOT NULL,
     epoch INTEGER NOT NULL,
     state TEXT NOT NULL CHECK (state IN ('moving', 'moved', 'incoming', 'active')),
     holder TEXT,
     facts TEXT NOT NULL,
     PRIMARY KEY (session, way)
   ) STRICT;

   CREATE TABLE known_host (name TEXT PRIMARY KEY, key TEXT NOT NULL) STRICT;
INSERT INTO session_move VALUES('22222222-1111-4111-8111-111111111111','out','33333333-1111-4111-8111-111111111111',1,'moved',NULL,'{"to":"wss://example.com/acp"}');
COMMIT;
PRAGMA user_version = 8;

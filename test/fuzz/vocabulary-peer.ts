import type { Vocabulary } from "./hostile-lines.ts";

const VALID = [
  `{"jsonrpc":"2.0","id":@,"method":"now","params":{"text":"é🙂"}}`,
  `{"jsonrpc":"2.0","id":@,"method":"later","params":{"a":[1,2.5e3,null,true]}}`,
  `{"jsonrpc":"2.0","id":@,"method":"fail","params":{"a":{"b":"c"}}}`,
  `{"jsonrpc":"2.0","method":"later"}`,
  `{"jsonrpc":"2.0","id":@,"result":{"ok":true}}`,
  `{"jsonrpc":"2.0","id":@,"error":{"code":-1,"message":"no"}}`,
];

/** What the routes of a `FuzzedPeer` understand. */
export const PEER_VOCABULARY: Vocabulary = {
  message: (random, id) => random.pick(VALID).replace("@", () => id),
  methods: ["now", "later", "fail", "$/cancel"],
  cancel: (id) => `{"jsonrpc":"2.0","method":"$/cancel","params":{"requestId":${id}}}`,
};

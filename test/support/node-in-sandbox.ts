/** Why a test cannot run Node in a sandbox, which has a /tmp of its own; false if it can. */
export const NODE_IS_HIDDEN: string | false =
  /^\/(?:var\/)?tmp\//.test(process.execPath) &&
  "Node is in /tmp, which a sandbox hides: run the tests of a clone elsewhere.";

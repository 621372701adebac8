/**
 * The member of a result's `_meta` that names the kind of a failure, where a tool knows one. Most
 * doors pass it on; one whose protocol has codes for such kinds answers with those.
 */
export const FAULT_META = "trunkline/fault";

/** The kind of a call that was refused for its arguments, by their schema. */
export const INVALID_ARGUMENTS = "invalid-arguments";

const ID = String.raw`(0|[1-9]\d{0,14}|"[\w.:#-]{1,64}")`;
const CALL = String.raw`"method":"tools/call","params":\{"name":"([\w.-]{1,128})","arguments":(\{.*\})\}`;

/** Longer messages are parsed, after their cost is estimated. */
export const LONGEST_CALL_TEXT = 8 * 1024;

/**
 * A call of a tool that has a name and arguments and nothing else, spelt exactly as libraries spell it:
 * as most write a request (id, name, arguments), and as the official ones do (name, arguments, id). If
 * the arguments are one JSON value, the message is valid JSON and has every member once.
 */
export const ID_FIRST = new RegExp(String.raw`^\{"jsonrpc":"2\.0","id":${ID},${CALL}\}$`);
export const ID_LAST = new RegExp(String.raw`^\{${CALL},"jsonrpc":"2\.0","id":${ID}\}$`);

import { objectIn } from "../base/check.ts";
import { RateLimiter } from "../base/limit/rate-limiter.ts";
import { MASK, maskAll } from "../base/text/mask.ts";
import type { Hook, HookEntry } from "./hook.ts";
import type { HookAnswer, HookOutput } from "./hook-answer.ts";

type HookInput = Readonly<Record<string, unknown>>;

/** The built-in hooks by name. Each throws if its settings are incomplete. */
export const READY_MADE: Readonly<
  Record<string, (entry: HookEntry) => Pick<Hook, "command" | "answers">>
> = {
  mask: ({ what = ["secrets", "personal"] }) => {
    const isSecret = what.includes("secrets");
    const isPersonal = what.includes("personal");
    const masked = (value: unknown): unknown => {
      // JSON in a text has names of fields, and has to stay JSON.
      const inner = eachText(value, (text) => {
        const json = objectIn(text);
        const [before, after] = [json, json && masked(json)].map((each) => JSON.stringify(each));
        return after === before ? text : String(after);
      });
      const bare = isSecret ? maskAll(inner) : inner;
      if (!isPersonal) return bare;
      return eachText(bare, (text) => (objectIn(text) === undefined ? maskPersonal(text) : text));
    };
    return {
      command: `mask ${what.join(", ")}`,
      answers: ({ tool_input, tool_response }) => {
        const before = tool_response ?? tool_input;
        const after = maskedIn(before, masked);
        if (JSON.stringify(after) === JSON.stringify(before)) return {};
        if (tool_response === undefined) return { input: after as HookAnswer["input"] };
        return { output: after as HookOutput };
      },
    };
  },
  size: ({ most = 0 }) => {
    if (most <= 0) throw new SyntaxError("give 'most', the bytes that it lets through");
    return {
      command: `size ${most}`,
      answers: ({ tool_input, tool_response }) => {
        const size = Buffer.byteLength(JSON.stringify(tool_response ?? tool_input) ?? "");
        if (size <= most) return {};
        const what = tool_response === undefined ? "Its arguments have" : "The result has";
        return {
          decision: "deny",
          reason: `${what} ${size} bytes, at most ${most} are let through`,
        };
      },
    };
  },
  rate: ({ calls = 0, seconds = 0 }) => {
    if (calls <= 0 || seconds <= 0) throw new SyntaxError("give 'calls' and 'seconds'");
    const limiter = new RateLimiter({ limit: calls, windowMs: seconds * 1000 });
    return {
      command: `rate ${calls} in ${seconds} s`,
      answers: ({ tool_response }, by = "") => {
        // A call counts before it is made.
        const wait = tool_response === undefined ? limiter.take(by) : 0;
        if (wait === 0) return {};
        const reason = `There are at most ${calls} calls in ${seconds} s: wait ${Math.ceil(wait / 1000)} s`;
        return { decision: "deny", reason };
      },
    };
  },
};

/** Bytes of images and files stay as they are: to mask in base64 would break them. */
function maskedIn(value: unknown, masked: (value: unknown) => unknown): unknown {
  if (typeof value !== "object" || value === null) return masked(value);
  if (Array.isArray(value)) return value.map((item) => maskedIn(item, masked));
  const { type, data, blob } = value as HookInput;
  const bytes = {
    ...((type === "image" || type === "audio") && typeof data === "string" ? { data } : {}),
    ...(typeof blob === "string" ? { blob } : {}),
  };
  const all = masked(value) as HookInput;
  const parts = Object.entries(value).map(([key, item]) => {
    const isContent = key === "content" || key === "resource";
    return [key, isContent ? maskedIn(item, masked) : all[key]] as const;
  });
  return { ...Object.fromEntries(parts), ...bytes };
}

function eachText(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === "string") return change(value);
  // A card's number may be a JSON number, too.
  if (typeof value === "number") return change(String(value)) === String(value) ? value : MASK;
  if (Array.isArray(value)) return value.map((item) => eachText(item, change));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, eachText(item, change)]),
  );
}

const MAIL = /[\w.+-]{1,64}@(?:[a-z0-9-]{1,63}\.){1,8}[a-z]{2,24}/gi;
/** ISO 13616. */
const IBAN = /\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b/g;
/** ISO/IEC 7812: 13 to 19 digits, mostly in groups. */
const CARD = /(?<![\d.])\d(?:[ -]?\d){12,18}(?![\d.])/g;
/** E.164 with its plus. Without one, any number could be a telephone's. */
const TELEPHONE = /(?<![\w+])\+[1-9](?:[ ().-]{0,2}\d){6,14}(?!\d)/g;
/** The United States' social security number. */
const SSN = /(?<![\w-])(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\w-])/g;

/** Masks personal data, which it recognises by its form and its check digits. */
function maskPersonal(text: string): string {
  return text
    .replace(MAIL, MASK)
    .replace(IBAN, (found) => (isIban(found.replaceAll(" ", "")) ? MASK : found))
    .replace(CARD, (found) => (hasLuhn(found.replaceAll(/[ -]/g, "")) ? MASK : found))
    .replace(TELEPHONE, MASK)
    .replace(SSN, MASK);
}

/** ISO 7064, MOD 97-10. */
function isIban(text: string): boolean {
  let rest = 0;
  for (const sign of text.slice(4) + text.slice(0, 4)) {
    const value = Number.parseInt(sign, 36);
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
  }
  return rest === 1;
}

/** ISO/IEC 7812-1, annex B. */
function hasLuhn(digits: string): boolean {
  let sum = 0;
  for (const [at, digit] of Array.from(digits).toReversed().entries()) {
    const value = Number(digit) * (at % 2 === 0 ? 1 : 2);
    sum += value > 9 ? value - 9 : value;
  }
  return sum % 10 === 0;
}

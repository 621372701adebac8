import { gitEnvironment } from "../../git/git.ts";
import { type ProgramEnd, runProgram } from "../../git/run-program.ts";
import type { Identity, SigningFormat } from "../identity.ts";

/** Whether an identity can sign now, without a person. */
export interface SigningReadiness {
  readonly identity: string;
  /** Undefined if the identity does not sign. */
  readonly format: SigningFormat | undefined;
  /** The fingerprint, or the configured key if it was not found. */
  readonly key: string | undefined;
  readonly isFound: boolean;
  readonly hardware: boolean;
  /** A person has to touch the device for each signature. */
  readonly needsTouch: boolean;
  /** It signs without a prompt and without a touch. */
  readonly canSign: boolean;
  /** In words. */
  readonly says: string;
  /** What the agent or the person should do next. */
  readonly guidance: string;
}

export interface ReadinessOptions {
  readonly env: NodeJS.ProcessEnv;
  /** Milliseconds for each program. */
  readonly timeout?: number;
  /** Makes a test signature; if false, only looks for the key. */
  readonly tries?: boolean;
}

const TIMEOUT = 5_000;
const MAX_OUTPUT = 1024 * 1024;

/** Checks whether an identity can sign. Never prompts, and ends within its timeout. */
export async function signingReadiness(
  identity: Identity,
  options: ReadinessOptions,
): Promise<SigningReadiness> {
  const { name, signing } = identity;
  if (signing === undefined) {
    return {
      identity: name,
      format: undefined,
      key: undefined,
      isFound: false,
      hardware: false,
      needsTouch: false,
      canSign: true,
      says: "This identity does not sign commits.",
      guidance: "Commits can be made now; they are not signed.",
    };
  }
  const ask = quietRunner(options);
  if (signing.format === "ssh") {
    const { sshReadiness } = await import("./ssh-readiness.ts");
    return await sshReadiness(identity, signing, ask, options.tries ?? true);
  }
  const { gpgReadiness } = await import("./gpg-readiness.ts");
  return await gpgReadiness(identity, signing, ask, options.tries ?? true);
}

/** Runs a program without prompts, for a limited time. */
export type RunQuietly = (
  command: string,
  args: readonly string[],
  input?: string | Buffer,
) => Promise<Answer>;

export interface Answer {
  readonly isOk: boolean;
  readonly isLate: boolean;
  readonly isMissing: boolean;
  readonly out: string;
  readonly err: string;
}

export function quietRunner({ env, timeout = TIMEOUT }: ReadinessOptions): RunQuietly {
  const { GPG_TTY: _, DISPLAY: __, ...own } = gitEnvironment(env);
  const quiet = { ...own, SSH_ASKPASS_REQUIRE: "never", SSH_ASKPASS: "" };
  return async (command, args, input = "") => {
    let end: ProgramEnd;
    try {
      end = await runProgram({
        command,
        args,
        env: quiet,
        input,
        timeout,
        maxOutput: MAX_OUTPUT,
      });
    } catch (error) {
      const { code, message } = error as { code?: string; message: string };
      const isLate = code === "timeout";
      return { isOk: false, isLate, isMissing: code === "unavailable", out: "", err: message };
    }
    const out = end.stdout.toString("utf8");
    return { isOk: end.code === 0, isLate: false, isMissing: false, out, err: end.stderr };
  };
}

/** A result with the common defaults. */
export function verdict(
  identity: Identity,
  format: SigningFormat,
  facts: Partial<SigningReadiness> & Pick<SigningReadiness, "says" | "guidance">,
): SigningReadiness {
  return {
    identity: identity.name,
    format,
    key: undefined,
    isFound: true,
    hardware: false,
    needsTouch: false,
    canSign: false,
    ...facts,
  };
}

/** The text for every device that needs a touch. */
export const TOUCH = {
  says: "The key is on a hardware device that needs a touch for each signature.",
  guidance:
    "Tell the person before you commit: they have to touch the device when it blinks. " +
    "Do not try again and again; each try waits for a touch.",
} as const;

/** Clears gpg-agent's cache, so that it asks again. */
export async function forgetPassphrases(env: NodeJS.ProcessEnv): Promise<void> {
  await quietRunner({ env })("gpgconf", ["--reload", "gpg-agent"]);
}

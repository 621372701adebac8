import { gitEnvironment } from "../../git/git-environment.ts";
import { type ProgramEnd, runProgram } from "../../git/run-program.ts";
import type { Identity, SigningFormat } from "../identity.ts";

/** Whether an identity can sign now, with nobody there to help. */
export interface SigningReadiness {
  readonly identity: string;
  /** Nothing where the identity does not sign. */
  readonly format: SigningFormat | undefined;
  /** The fingerprint, or as it is configured where there is none. */
  readonly key: string | undefined;
  readonly isFound: boolean;
  readonly hardware: boolean;
  /** Somebody has to touch a device for each signature. */
  readonly needsTouch: boolean;
  /** It signs by itself: nobody is asked, nothing has to be touched. */
  readonly canSign: boolean;
  /** In words. */
  readonly says: string;
  /** What an agent, or a person, is to do. */
  readonly guidance: string;
}

export interface ReadinessOptions {
  readonly env: NodeJS.ProcessEnv;
  /** Milliseconds for each program that is asked. */
  readonly timeout?: number;
  /** Signs something, to be sure; where not, only the keys are looked at. */
  readonly tries?: boolean;
}

const TIMEOUT = 5_000;
const MAX_OUTPUT = 1024 * 1024;

/** Finds out whether an identity can sign. Never asks anybody, and ends in time. */
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

/** Runs a program that must not ask anybody, and not for long. */
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

/** What all verdicts have in common. */
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

/** The same words for every device that wants to be touched. */
export const TOUCH = {
  says: "The key is on a hardware device that needs a touch for each signature.",
  guidance:
    "Tell the person before you commit: they have to touch the device when it blinks. " +
    "Do not try again and again; each try waits for a touch.",
} as const;

/** Has gpg-agent forget all that it was told, so that it asks again. */
export async function forgetPassphrases(env: NodeJS.ProcessEnv): Promise<void> {
  await quietRunner({ env })("gpgconf", ["--reload", "gpg-agent"]);
}

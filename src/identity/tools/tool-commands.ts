import type { Applied, Plan } from "../switch/apply.ts";
import type { Detection } from "../detect/detect.ts";
import type { Identity, IdentitySettings } from "../identity.ts";
import type { JugglerImport } from "../juggler/import-juggler.ts";
import type { JournalState } from "../switch/journal.ts";
import type { JugglerValues } from "../juggler/juggler-fields.ts";
import type { SigningReadiness } from "../signing/signing-readiness.ts";
import type { IdentityStatus } from "../detect/status.ts";
import type { SwitchOptions } from "../switch/switch-plan.ts";
import type { TokenCommands } from "../tokens/token-commands.ts";
import type { Tokens } from "../tokens/tokens.ts";
import type { ValidateOptions, Validation } from "../validate/validate.ts";
import type { SecurityModes } from "./security-mode.ts";

/** What the tools work on: the configured identities and their operations. */
export interface ToolCommands {
  readonly env: NodeJS.ProcessEnv;
  readonly tokens: Tokens;
  readonly tokenCommands: TokenCommands;
  readonly modes: SecurityModes;
  readonly identities: {
    readonly list: readonly Identity[];
    readonly file: string;
    find(name: string): Identity;
    detect(folder: string): Promise<Detection>;
    status(folder: string): Promise<IdentityStatus>;
    planSync(): Promise<Plan>;
    sync(): Promise<Applied>;
    history(): Promise<JournalState[]>;
    exportJuggler(): JugglerValues;
    readJuggler(text: string, file: string): JugglerImport;
    importAll(imported: JugglerImport): Promise<void>;
    save(name: string, settings: IdentitySettings, isNew: boolean): Promise<void>;
  };
  switch(
    name: string,
    folder: string,
    request: Pick<SwitchOptions, "rewriteRemotes" | "keepSigning">,
  ): Promise<Applied>;
  validate(
    names: readonly string[],
    options: Omit<ValidateOptions, "tokens" | "env">,
  ): Promise<Validation[]>;
  /** Whether an identity can sign; by default the active one in the folder. */
  signing(name: string | undefined, folder: string | undefined): Promise<SigningReadiness>;
  /** The same with the configuration read again. */
  reload(): Promise<ToolCommands>;
  /** The identity of a folder. Throws "not-found" if none is active and none matches. */
  nameHere(folder: string): Promise<string>;
}
